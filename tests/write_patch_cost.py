"""Writes docs/patch-cost.md: what each way to patch the fixtures' kernels costs. `python -m tests.write_patch_cost`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernelscope.artifact import open_artifact
from kernelscope.audit.run import DEFAULT_DEVICE_MEMORY, audit, read_model
from kernelscope.build import CompiledKernel, KernelCompiler, KernelCost
from kernelscope.patching.candidates import Built, cost_of, request_for
from kernelscope.patching.kernels import KernelOutcome, KernelPatcher
from kernelscope.patching.report import Patched
from kernelscope.patching.targets import Target, targets_of
from kernelscope.rewrite.inductor_style import blanket
from kernelscope.rewrite.patch_file import load_patches
from kernelscope.rewrite.rewriting import Rewriting, Strategy

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "patch-cost.md"
ARCHITECTURES = (80, 90, 100)
UNBOUNDED = sorted(path.stem for path in (ROOT / "fixtures").glob("*.unbounded.pt2"))
PACKAGES = [*UNBOUNDED, "transpose.huge", "userkernel.huge"]


@dataclass(frozen=True, slots=True)
class Row:
    """A kernel's cost as shipped, for each way to patch it, and which way `auto` took; `compiles`: of all ways."""

    package: str
    kernel: str
    original: KernelCost | None
    minimal: KernelCost | None
    inductor: KernelCost | None
    blanket: KernelCost | None
    chosen: KernelCost | None
    chosen_strategy: Strategy
    compiled: int
    failed: int


def rows(name: str, compiler: KernelCompiler, architectures: Sequence[int] = ARCHITECTURES) -> Iterator[Row]:
    """The rows of a fixture's kernels that are patched; each way is compiled for every architecture too."""
    path = str(ROOT / "fixtures" / f"{name}.pt2")
    artifact = open_artifact(path)
    facts = [read_model(model, None) for model in artifact.models]
    targets = targets_of(artifact, facts, audit(path), frozenset())
    patches = load_patches()
    patcher = KernelPatcher(compiler, patches, Strategy.AUTO, DEFAULT_DEVICE_MEMORY, False, lambda *_: None)
    for outcome in patcher.run(targets):
        if isinstance(outcome.result, Patched):
            yield _row(name, outcome, compiler, architectures)


def _row(name: str, outcome: KernelOutcome, compiler: KernelCompiler, architectures: Sequence[int]) -> Row:
    result = outcome.result
    assert isinstance(result, Patched)
    config = outcome.config
    assert config is not None
    ways = [candidate.rewriting for candidate in outcome.candidates]
    wide = _blanket(outcome.target)
    function = outcome.target.launches[0].kernel
    requests = [request_for(way, function, config) for way in ([*ways, wide] if wide else ways)]
    built = compiler.compile([replace(r, config=replace(r.config, architecture=a)) for r in requests for a in architectures])
    compiled = compiler.compile(requests[len(ways) :])
    wide_cost = next((cost_of(one, config) for one in compiled if isinstance(one, CompiledKernel)), None)
    good = sum(isinstance(one, CompiledKernel) for one in built)
    return Row(
        name, result.kernel, result.before, _least(outcome.candidates, Strategy.MINIMAL),
        _least(outcome.candidates, Strategy.INDUCTOR), wide_cost, result.after, result.strategy, good, len(built) - good,
    )  # fmt: skip


def _blanket(target: Target) -> Rewriting | None:
    written = blanket(target.subject(target.wrapper.symbols, DEFAULT_DEVICE_MEMORY), load_patches())
    return written if isinstance(written, Rewriting) else None


def _least(candidates: Sequence[Built], strategy: Strategy) -> KernelCost | None:
    """The cheapest of a strategy's candidates."""
    costs = [c.cost for c in candidates if c.rewriting.strategy is strategy and c.cost is not None]
    return min(costs, key=lambda cost: cost.order, default=None)


def page(found: Sequence[Row], triton: str) -> str:
    """The page with a table a package."""
    compiled = sum(row.compiled for row in found)
    failed = sum(row.failed for row in found)
    made = (
        "Made by `python -m tests.write_patch_cost`: every kernel of the fixtures that `kernelscope patch` rewrites, compiled "
        f"in each way with Triton {triton} for the GPU of the package (sm_90), and measured on the cubin. Cells are "
        "registers / spills / SASS instructions / occupancy."
    )
    ways = (
        "*minimal*: the fewest casts that are proved; the cheapest of the candidates. *inductor*: what Inductor writes in its "
        "64-bit mode. *blanket*: every size and index in 64 bits. *auto* is what `patch` takes by default: the cheapest by "
        "spills, occupancy, then instructions. A dash: no such form."
    )
    others = ", ".join(f"sm_{architecture}" for architecture in ARCHITECTURES)
    lines = ["# What a patch costs", "", made, "", ways, ""]
    lines += [f"Each way also compiles for {others}: {compiled} cubins, {failed} failures.", ""]
    lines += ["| package | kernel | original | minimal | inductor | blanket | auto |", "|---|---|---|---|---|---|---|"]
    lines += map(line_of, found)
    return "\n".join(lines) + "\n"


def line_of(row: Row) -> str:
    """A kernel's line in the table."""
    costs = [_cell(cost) for cost in (row.original, row.minimal, row.inductor, row.blanket, row.chosen)]
    return f"| {row.package} | {row.kernel} | {' | '.join(costs)} ({row.chosen_strategy.value}) |"


def _cell(cost: KernelCost | None) -> str:
    if cost is None:
        return "-"
    occupancy = "?" if cost.occupancy is None else f"{cost.occupancy:.0%}"
    return f"{cost.registers} / {cost.spills} / {cost.instructions} / {occupancy}"


def main() -> int:
    found: list[Row] = []
    with KernelCompiler() as compiler:
        for name in PACKAGES:
            found += rows(name, compiler)
            print(name, len(found), file=sys.stderr, flush=True)
        PAGE.write_text(page(found, compiler.triton_version), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
