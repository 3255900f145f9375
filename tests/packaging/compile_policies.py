"""Run under the virtual GPU by test_packaging: packages one model under each policy and prints what came of it as JSON."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import warnings
from typing import Any

import capture
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import Dim, ExportedProgram, export
from torch.fx.experimental.symbolic_shapes import ShapeEnv

import kernelscope


def program(name: str, maximum: int | None) -> ExportedProgram:
    case = capture.EXTRA[name]
    with FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True):
        dims: dict[str, Any] = {}
        shapes = {"args": tuple(case.dynamic(lambda n, minimum=2: dims.setdefault(n, Dim(n, min=minimum, max=maximum))))}
        made = export(capture.Wrapped(case.function), tuple(case.inputs()), dynamic_shapes=shapes)
    capture.adopt_weights(made)
    return made


def outcome(folder: str, name: str, maximum: int | None, policy: str) -> dict[str, Any]:
    path = os.path.join(folder, f"{name}.{maximum}.{policy}.pt2")
    audits: list[str] = []
    result: dict[str, Any] = {"path": path, "policy": policy, "audits": audits}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result["returned"] = kernelscope.aoti_compile_and_package(
                program(name, maximum), package_path=path, inductor_configs=dict(capture.OPTIONS), int64=policy,
                on_audit=lambda found: audits.append(found.verdict.word),
            )
        except kernelscope.UnsafeIndexError as error:
            result["error"] = str(error)
    result["warnings"] = [str(w.message) for w in caught if issubclass(w.category, kernelscope.UnsafeIndexWarning)]
    result["exists"] = os.path.exists(path)
    result["left"] = sorted(n for n in os.listdir(folder) if n.startswith(".kernelscope"))
    return result


def record_of_torch() -> list[str]:
    """The hashes of what torch's own call writes, from now on."""
    hashes: list[str] = []
    original = torch._inductor.aoti_compile_and_package

    def recorded(*args: Any, **keywords: Any) -> str:
        path = original(*args, **keywords)
        with open(path, "rb") as file:
            hashes.append(hashlib.sha256(file.read()).hexdigest())
        return path

    torch._inductor.aoti_compile_and_package = recorded
    return hashes


if __name__ == "__main__":
    out = sys.argv[1]
    hashes = record_of_torch()
    found = {
        "fits": outcome(out, "swiglu", 1024, "error"),
        "error": outcome(out, "swiglu", None, "error"),
        "audit": outcome(out, "swiglu", None, "audit"),
        "patch": outcome(out, "swiglu", None, "patch"),
        "off": outcome(out, "swiglu", None, "off"),
        "three_dimensions": outcome(out, "permute4", 2**33, "error"),
    }
    found["fits"]["torch_hash"] = hashes[0]
    with open(os.path.join(out, "found.json"), "w") as file:
        json.dump(found, file)
