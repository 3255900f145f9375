"""One stage in a process of its own: `python -m kernelscope.isolation.child REQUEST.json`.

Writes what came of it to the file that the request names; a crash leaves no such file, which tells the parent."""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch

from kernelscope.isolation.comparison import differences
from kernelscope.isolation.graph_prefix import GraphPrefix, prefix_of
from kernelscope.isolation.reproduction import reproduction_script
from kernelscope.isolation.results import Stage
from kernelscope.isolation.subject import Subject, SubjectError, load_subject

_SEED = 1


def main(request_path: str) -> None:
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    faulthandler.dump_traceback_later(max(0.1, request["stack_at"] - time.time()))  # tells where a stage hangs
    try:
        answer = _answer(request)
    except SubjectError as error:
        answer = {"state": "subject", "detail": str(error)}
    except Exception as error:  # noqa: BLE001  whatever the model raises is the result
        lines = [line for line in f"{type(error).__name__}: {error}".splitlines() if line.strip()]
        answer = {"state": "raised", "detail": lines[0][:500]}
    answer["torch"] = torch.__version__
    partial = f"{request['answer']}.part"
    with open(partial, "w", encoding="utf-8") as file:
        json.dump(answer, file)
    os.replace(partial, request["answer"])


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    subject = load_subject(request["subject"], request["sizes"], request["device"])
    stage = Stage(request["stage"])
    if request["prefix"] is not None:
        return _prefix(subject, stage, request["prefix"]["position"], request["prefix"]["alone"])
    found = _flat(_run(_as_stage(subject, stage, request["package"]), subject.args, subject.kwargs))
    if stage is Stage.EAGER:
        torch.save(found, request["expected"])
        return {"state": "done", "differences": []}
    expected = torch.load(request["expected"], weights_only=True)
    return {"state": "done", "differences": differences(found, expected)}


def _as_stage(subject: Subject, stage: Stage, package: str | None) -> Callable[..., object]:
    if stage is Stage.EAGER:
        return subject.model
    if stage.backend is not None:
        compiled: Callable[..., object] = torch.compile(subject.model, backend=stage.backend)
        return compiled
    if stage is Stage.PACKAGE and package is not None:
        loaded: Callable[..., object] = torch._inductor.aoti_load_package(package)
        return loaded
    program = subject.program or torch.export.export(subject.model, subject.args, subject.kwargs)  # type: ignore[arg-type, unused-ignore]
    folder = tempfile.mkdtemp()
    made = torch._inductor.aoti_compile_and_package(program, package_path=os.path.join(folder, "fresh.pt2"))
    fresh: Callable[..., object] = torch._inductor.aoti_load_package(made)
    return fresh


def _run(function: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
    """On copies, since a model may change its inputs; the same random numbers in every stage."""
    args, kwargs = torch.utils._pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.clone(), (args, kwargs))
    torch.manual_seed(_SEED)
    with torch.no_grad():
        return function(*args, **kwargs)


def _flat(outputs: object) -> list[Any]:
    return [leaf for leaf in torch.utils._pytree.tree_leaves(outputs) if leaf is not None]


def _prefix(subject: Subject, stage: Stage, position: int | None, alone: bool) -> dict[str, Any]:
    prefix = prefix_of(subject, position, alone)
    expected = _flat(_run(prefix.function, prefix.args, {}))
    found = _flat(_run(torch.compile(prefix.function, backend=stage.backend or "inductor"), prefix.args, {}))
    return {"state": "done", "differences": differences(found, expected), **_described(prefix, stage)}


def _described(prefix: GraphPrefix, stage: Stage) -> dict[str, Any]:
    return {
        "operator": prefix.operator,
        "source": prefix.source,
        "position": prefix.position,
        "total": prefix.total,
        "script": reproduction_script(prefix.code, prefix.args, stage),
    }


if __name__ == "__main__":
    main(sys.argv[1])
