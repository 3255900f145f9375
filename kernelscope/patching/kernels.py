"""From kernels that are not safe to binaries that are: provenance, rewriting, compilation, choice."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kernelscope.build import (
    CannotCompile,
    CompiledKernel,
    FoundKernel,
    KernelCompiler,
    KernelConfig,
    Matched,
    Mismatched,
    NoBinary,
    OtherTriton,
    Provenance,
    look_at,
    measure,
    provenance_of,
    shipped_kernels,
)
from kernelscope.build.cost import KernelCost
from kernelscope.errors import KernelscopeError
from kernelscope.patching.candidates import Built, Proposals, built, chosen, proposals, request_for
from kernelscope.patching.embedded import EmbeddedBinaries
from kernelscope.patching.report import (
    ChangedLine,
    KernelPatchResult,
    PatchDeclined,
    Patched,
    PatchFailed,
    ProvenanceState,
)
from kernelscope.patching.targets import Target
from kernelscope.rewrite.patch_file import Patches
from kernelscope.rewrite.placement import changed_lines
from kernelscope.rewrite.rewriting import Strategy

#: Told what is being done, how much of it is done and how much there is.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class KernelOutcome:
    """A target's result; `candidates` are all that were built, the chosen one first (empty: it stays as it is). `config`:
    how the shipped binary was compiled."""

    target: Target
    result: KernelPatchResult
    candidates: tuple[Built, ...] = ()
    shipped: FoundKernel | None = None
    config: KernelConfig | None = None


@dataclass(frozen=True, slots=True)
class _Source:
    """A kernel whose text may be compiled in place of its binary."""

    config: KernelConfig
    state: ProvenanceState
    detail: str


class KernelPatcher:
    """Patches the kernels of a package, compiling together what can be."""

    def __init__(
        self, compiler: KernelCompiler, patches: Patches, strategy: Strategy, device_memory: int | None,
        trust_source: bool, progress: Progress, embedded: EmbeddedBinaries | None = None,
    ) -> None:  # fmt: skip
        self._embedded = embedded
        self._compiler = compiler
        self._patches = patches
        self._strategy = strategy
        self._device_memory = device_memory
        self._trust = trust_source
        self._progress = progress

    def run(self, targets: Sequence[Target]) -> list[KernelOutcome]:
        """An outcome for each target, in their order."""
        outcomes: dict[int, KernelOutcome] = {}
        found: dict[int, FoundKernel] = {}
        for number, target in enumerate(targets):
            early = self._unpatchable(target)
            if early is not None:
                outcomes[number] = KernelOutcome(target, early)
                continue
            shipped = self._shipped(target)
            if isinstance(shipped, str):
                outcomes[number] = KernelOutcome(target, _declined(target, shipped, "KS902"))
                continue
            found[number] = shipped
        wanted = self._proposals(targets, found)
        sources = self._sources({n: found[n] for n, p in wanted.items() if p.rewritings})
        proposed = {n: p for n, p in wanted.items() if p.rewritings}
        for number in wanted.keys() - proposed.keys():
            outcomes[number] = KernelOutcome(targets[number], _declined(targets[number], _once(wanted[number].reasons)))
        sources = {number: source for number, source in sources.items() if number in proposed}
        for number, source in sources.items():
            if isinstance(source, _Source):
                continue
            outcomes[number] = KernelOutcome(targets[number], _declined(targets[number], source, "KS901"))
        ready = {n: s for n, s in sources.items() if isinstance(s, _Source)}
        outcomes.update(self._compiled(targets, ready, proposed, found))
        return [outcomes[number] for number in range(len(targets))]

    def _proposals(self, targets: Sequence[Target], found: Mapping[int, FoundKernel]) -> dict[int, Proposals]:
        proposed: dict[int, Proposals] = {}
        for number in found:
            self._progress("choosing casts", len(proposed), len(found))
            subject = targets[number].subject(targets[number].wrapper.symbols, self._device_memory)
            proposed[number] = proposals(subject, self._strategy, self._patches)
        return proposed

    def _unpatchable(self, target: Target) -> KernelPatchResult | None:
        if target.kernel is None:
            return _declined(target, "the package has no source of it", "KS902")
        if not target.needs_text:
            what = "CUDA can't launch its grid at the largest sizes: declare a limit (`kernelscope bounds` tells it)"
            codes = sorted({f.code for f in target.result.findings})
            return _declined(target, what, codes[0] if codes else None)
        return None

    def _shipped(self, target: Target) -> FoundKernel | str:
        embedded = self._embedded.reader(target.model) if self._embedded is not None else None
        for entry in shipped_kernels(target.model, [target.wrapper], embedded):
            if entry.launcher_name == target.launcher:
                match entry:
                    case NoBinary(reason=reason):
                        return reason
                    case FoundKernel():
                        return entry
        return "its binary is not in the package"

    # -- provenance -------------------------------------------------------------------------------------------------

    def _sources(self, found: dict[int, FoundKernel]) -> dict[int, _Source | str]:
        if not found:
            return {}

        def told(done: int, total: int) -> None:
            self._progress("comparing sources with binaries", done, total)

        results = provenance_of([kernel.kernel for kernel in found.values()], self._compiler, told)
        return {number: self._judged(result) for number, result in zip(found, results, strict=True)}

    def _judged(self, provenance: Provenance) -> _Source | str:
        match provenance:
            case Matched(config=config):
                return _Source(config, ProvenanceState.PROVED, "")
            case OtherTriton(config=config):
                detail = (
                    f"made with {provenance.shipped}, here is {provenance.installed} (Triton "
                    f"{provenance.installed_triton}): it can't be told whether source and binary agree"
                )
                return _Source(config, ProvenanceState.OTHER_VERSION, detail)
            case Mismatched(reason=reason, config=config):
                if self._trust:
                    return _Source(config, ProvenanceState.TRUSTED, reason)
                return f"source and binary disagree: {reason}; --trust-source patches it all the same"
            case CannotCompile(reason):
                return f"the source can't be compiled here: {reason}"

    # -- binaries ---------------------------------------------------------------------------------------------------

    def _compiled(
        self, targets: Sequence[Target], ready: dict[int, _Source], proposed: dict[int, Proposals],
        found: dict[int, FoundKernel],
    ) -> dict[int, KernelOutcome]:  # fmt: skip
        jobs = [(number, rewriting) for number in ready for rewriting in proposed[number].rewritings]
        requests = [request_for(r, found[n].kernel.function, ready[n].config, found[n].stages) for n, r in jobs]

        def told(done: int, total: int) -> None:
            self._progress("compiling", done, total)

        results = self._compiler.compile(requests, told) if requests else []
        self._progress("measuring", 0, 1)
        cubins = [found[number].kernel.cubin for number in ready]
        look_at([*cubins, *(r.cubin for r in results if isinstance(r, CompiledKernel))], os.cpu_count() or 1)
        outcomes: dict[int, KernelOutcome] = {}
        for number, source in ready.items():
            candidates: list[Built] = []
            reasons = list(proposed[number].reasons)
            for (owner, rewriting), compiled in zip(jobs, results, strict=True):
                if owner == number:
                    one = built(rewriting, compiled, found[number].kernel.cubin, source.config)
                    candidates.append(one) if isinstance(one, Built) else reasons.append(one)
            if not candidates:
                failure = PatchFailed(targets[number].result.name, targets[number].launcher, _once(reasons))
                outcomes[number] = KernelOutcome(targets[number], failure)
                continue
            best = chosen(candidates, self._strategy)
            ordered = (best, *(c for c in candidates if c is not best))
            before = _cost_before(targets[number], found[number], source)
            if self._strategy is Strategy.NARROW and not _is_cheaper(best.cost, before):
                why = f"it costs no less with 32-bit indices: {_costs(before, best.cost)}"
                outcomes[number] = KernelOutcome(targets[number], _declined(targets[number], why))
                continue
            try:
                found[number].packed(best.compiled)
            except KernelscopeError as error:
                failure = PatchFailed(targets[number].result.name, targets[number].launcher, error.one_line())
                outcomes[number] = KernelOutcome(targets[number], failure)
                continue
            result = _patched(targets[number], source.state, source.detail, ordered, before)
            outcomes[number] = KernelOutcome(targets[number], result, ordered, found[number], source.config)
        return outcomes


def _cost_before(target: Target, found: FoundKernel, source: _Source) -> KernelCost | None:
    """The cost of the shipped binary as the wrapper launches it."""
    launches = (launch for launch in target.wrapper.launches if launch.launcher_name == target.launcher)
    shared = next((launch.shared_bytes for launch in launches if launch.shared_bytes is not None), 0)
    try:
        return measure(found.kernel.cubin, source.config.architecture, source.config.num_warps, shared)
    except KernelscopeError:
        return None


def _costs(before: KernelCost | None, after: KernelCost | None) -> str:
    if before is None or after is None:
        return "it could not be measured"
    return f"registers {before.registers} -> {after.registers}, instructions {before.instructions} -> {after.instructions}"


def _is_cheaper(after: KernelCost | None, before: KernelCost | None) -> bool:
    """By spills, occupancy, instructions, then registers; what cannot be measured is not cheaper."""
    if after is None or before is None:
        return False
    return (*after.order, after.registers) < (*before.order, before.registers)


def _once(reasons: Sequence[str]) -> str:
    """The reasons of several strategies in one sentence, each reason once: `minimal and inductor: why`."""
    strategies: dict[str, list[str]] = {}
    for text in reasons:
        strategy, _, reason = text.partition(": ")
        names = strategies.setdefault(reason, [])
        if strategy not in names:
            names.append(strategy)
    return "; ".join(f"{' and '.join(names)}: {reason}" for reason, names in strategies.items())


def _declined(target: Target, reason: str, code: str | None = None) -> PatchDeclined:
    return PatchDeclined(target.result.name, target.launcher, reason or "no patch applies", code)


def _patched(
    target: Target, state: ProvenanceState, detail: str, candidates: tuple[Built, ...], before: KernelCost | None
) -> Patched:
    assert target.kernel is not None
    best = candidates[0]
    changes = tuple(ChangedLine(*line) for line in changed_lines(target.kernel.source, best.rewriting.text))
    return Patched(
        kernel=target.result.name, launcher=target.launcher, strategy=best.rewriting.strategy, provenance=state,
        provenance_detail=detail, changes=changes,
        patches=tuple(dict.fromkeys(cast.patch for cast in best.rewriting.casts)),
        widened=tuple(sorted(best.rewriting.widened)), before=before, after=best.cost,
        candidates=tuple(candidate.row for candidate in candidates),
    )  # fmt: skip


def with_candidate(outcome: KernelOutcome, candidates: tuple[Built, ...]) -> KernelOutcome:
    """The outcome with another of its candidates chosen."""
    assert isinstance(outcome.result, Patched)
    old = outcome.result
    result = _patched(outcome.target, old.provenance, old.provenance_detail, candidates, old.before)
    return KernelOutcome(outcome.target, result, candidates, outcome.shipped, outcome.config)
