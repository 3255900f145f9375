"""Ways to patch a kernel, compiled and measured, and the choice among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kernelscope.artifact.cubin import CubinError, ptx_of
from kernelscope.build import CompiledKernel, CompileFailure, CompileRequest, KernelConfig, KernelCost, measure
from kernelscope.errors import KernelscopeError
from kernelscope.patching.report import CandidateCost
from kernelscope.rewrite.inductor_style import blanket, inductor_style
from kernelscope.rewrite.minimal import minimal, minimal_at_use
from kernelscope.rewrite.narrow import narrow, narrow_loaded
from kernelscope.rewrite.patch_file import Patches
from kernelscope.rewrite.rewriting import NothingToDo, NotRewritten, RewriteResult, Rewriting, Strategy
from kernelscope.rewrite.subject import Subject

_WRITERS = {
    Strategy.MINIMAL: (minimal,),
    Strategy.INDUCTOR: (inductor_style,),
    Strategy.BLANKET: (blanket,),
    Strategy.NARROW: (narrow, narrow_loaded),
}
#: What is tried for each strategy; the later ones stand in where the first gives nothing that compiles.
_TRIED: Mapping[Strategy, tuple[Strategy, ...]] = {
    Strategy.AUTO: (Strategy.MINIMAL, Strategy.INDUCTOR),
    Strategy.MINIMAL: (Strategy.MINIMAL, Strategy.INDUCTOR),
    Strategy.INDUCTOR: (Strategy.INDUCTOR, Strategy.MINIMAL),
    Strategy.BLANKET: (Strategy.BLANKET, Strategy.MINIMAL),
    Strategy.NARROW: (Strategy.NARROW,),
}


@dataclass(frozen=True, slots=True)
class Proposals:
    """Proved rewritings of a kernel, wanted ones first, and why others gave none."""

    rewritings: tuple[Rewriting, ...]
    reasons: tuple[str, ...]
    nothing_to_do: bool = False


@dataclass(frozen=True, slots=True)
class Built:
    """A rewriting with its binary and what that costs."""

    rewriting: Rewriting
    compiled: CompiledKernel
    cost: KernelCost | None

    @property
    def row(self) -> CandidateCost:
        rewriting = self.rewriting
        return CandidateCost(rewriting.strategy, len(rewriting.edits), tuple(sorted(rewriting.widened)), self.cost)


def proposals(subject: Subject, strategy: Strategy, patches: Patches, *, one: bool = False) -> Proposals:
    """What the strategy, and those that stand in for it, make of a kernel; with `one` the first rewriting is enough."""
    found: list[Rewriting] = []
    reasons: list[str] = []
    writers = [writer for tried in _TRIED[strategy] for writer in _WRITERS[tried]]
    for write in [*writers, minimal_at_use] if strategy is Strategy.AUTO else writers:
        result: RewriteResult = write(subject, patches)
        match result:
            case NothingToDo():
                return Proposals((), (), True)
            case NotRewritten(kind, reason):
                reasons.append(f"{kind.value}: {reason}")
            case Rewriting():
                if all(result.text != other.text for other in found):
                    found.append(result)
        if found and one:
            break
    return Proposals(tuple(found), tuple(reasons))


def request_for(
    rewriting: Rewriting, function: str, config: KernelConfig, stages: tuple[str, ...] = ()
) -> CompileRequest:
    """The rewriting, compiled as the shipped kernel was."""
    signature = {n: "i64" if n in rewriting.widened else kind for n, kind in config.signature.items()}
    return CompileRequest(rewriting.text, function, replace(config, signature=signature), stages)


def built(
    rewriting: Rewriting, compiled: CompiledKernel | CompileFailure, shipped: bytes, config: KernelConfig
) -> Built | str:
    """A compiled rewriting that the launch can take in place of the shipped binary, or why it can't."""
    if isinstance(compiled, CompileFailure):
        return f"{rewriting.strategy.value}: does not compile: {compiled.reason}"
    if compiled.global_scratch_bytes:
        return f"{rewriting.strategy.value}: needs global scratch memory, which the wrapper does not allocate"
    try:
        old, new = ptx_of(shipped).parameter_bytes, ptx_of(compiled.cubin).parameter_bytes
    except CubinError as error:
        return f"{rewriting.strategy.value}: the binary's interface can't be compared: {error}"
    if len(old) != len(new):
        return (
            f"{rewriting.strategy.value}: Triton {compiled.triton_version} gives the kernel {len(new)} parameters, the "
            f"launch passes {len(old)}: rebuild with the version that made the package"
        )
    widened = sum(1 for a, b in zip(old, new, strict=True) if (a, b) == (4, 8))
    if any(a != b and (a, b) != (4, 8) for a, b in zip(old, new, strict=True)) or widened != len(rewriting.widened):
        return f"{rewriting.strategy.value}: the binary takes other argument widths than the launch would pass"
    return Built(rewriting, compiled, cost_of(compiled, config))


def cost_of(compiled: CompiledKernel, config: KernelConfig) -> KernelCost | None:
    """The measured cost, None where the tools are missing."""
    try:
        return measure(compiled.cubin, config.architecture, compiled.num_warps, compiled.shared_bytes)
    except KernelscopeError:
        return None


def chosen(candidates: Sequence[Built], strategy: Strategy) -> Built:
    """For AUTO and NARROW the cheapest by spills, occupancy and instructions, at a tie the one that leaves the wrapper
    alone; else the first."""
    if strategy not in (Strategy.AUTO, Strategy.NARROW):
        return candidates[0]
    return min(candidates, key=_price)


def _price(candidate: Built) -> tuple[tuple[int, float, int], int, int]:
    order = candidate.cost.order if candidate.cost is not None else (0, 0.0, 0)
    return order, len(candidate.rewriting.widened), len(candidate.rewriting.edits)
