"""Builds the packages in a process of its own: original, patched in each way. usage: python -m tests.gpu_check.building FOLDER

One line of JSON a case on standard output: where the packages are and what the audit found."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
import torch._inductor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import export
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from kernelscope.audit import audit
from kernelscope.patching import Patched, Strategy, patch
from tests.gpu_check.models import CASES, Case

WAYS = {
    "minimal": Strategy.MINIMAL, "inductor-style": Strategy.INDUCTOR, "blanket": Strategy.BLANKET, "patched": Strategy.AUTO,
}  # fmt: skip


class Wrapped(torch.nn.Module):
    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case = case

    def forward(self, *args: torch.Tensor) -> torch.Tensor:
        return self.case.function(*args)


def package(case: Case, path: Path) -> None:
    """What a user would do, with an example that says nothing of the sizes to come."""
    with FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True):
        first = torch.empty((case.example, *case.row), dtype=case.dtype, device="cuda")
        rest = [torch.empty(sizes, dtype=case.dtype, device="cuda") for sizes in case.others]
        program = export(Wrapped(case), (first, *rest), dynamic_shapes={"args": case.dynamic()})
    options = {"triton.autotune_at_compile_time": True, "joint_graph_constant_folding": False}
    torch._inductor.aoti_compile_and_package(program, package_path=str(path), inductor_configs=options)


def built(name: str, folder: Path) -> dict[str, object]:
    """The packages of a case by the way they were made, the largest safe size, and each way's strategy as it came out."""
    original = folder / f"{name}.original.pt2"
    package(CASES[name], original)
    model = audit([original]).artifacts[0].models[0]
    largest = next(iter(model.largest_safe.values()))
    packages, ways = {"original": str(original)}, {}
    for way, strategy in WAYS.items():
        output = folder / f"{name}.{way}.pt2"
        report = patch(original, output, strategy=strategy)
        done = [kernel for kernel in report.kernels if isinstance(kernel, Patched)]
        if report.output is not None and done:
            packages[way] = str(output)
            ways[way] = sorted({kernel.strategy.value for kernel in done})
    return {"name": name, "largest_safe": largest, "packages": packages, "strategies": ways}


def main() -> None:
    torch.set_grad_enabled(False)
    folder = Path(sys.argv[1])
    for name in sys.argv[2:] or CASES:
        print(json.dumps(built(name, folder)), flush=True)


if __name__ == "__main__":
    main()
