"""The shortest useful answer about an artifact: its verdict, and up to which sizes it is right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from kernelscope.artifact.contents import PATCH_RECORD
from kernelscope.audit.results import (
    ArtifactResult,
    Consequence,
    KernelResult,
    ModelResult,
    UnknownFinding,
    UnsafeFinding,
    Verdict,
)
from kernelscope.launches.launch import Symbol
from kernelscope.report.quantities import counted, listed, range_text, sizes_text
from kernelscope.report.totals import totals_of_model

_HAPPENS = {
    Consequence.OUT_OF_BOUNDS: "accesses memory out of bounds",
    Consequence.WRONG_RESULT: "gives wrong results silently",
    Consequence.FAILED_LAUNCH: "fails to launch",
    Consequence.ENDLESS_LOOP: "never ends",
    Consequence.DOES_NOT_COMPILE: "does not compile",
}
_MAX_SIZES = 4


@dataclass(frozen=True, slots=True)
class Answer:
    """One verdict with one sentence, and further limits that deserve a line each."""

    verdict: str  # a verdict's word in capitals, or UNREADABLE
    subject: str
    sentence: str
    more: tuple[str, ...] = ()


def answers_of(artifact: ArtifactResult) -> list[Answer]:
    """One answer a model; a single one where the artifact could not be read."""
    if artifact.error is not None:
        return [Answer("UNREADABLE", artifact.path, artifact.error.removeprefix(f"{artifact.path}: "))]
    if not artifact.models:
        return [Answer(artifact.verdict.name, artifact.path, "nothing to audit")]
    several = len(artifact.models) > 1
    answers = [_of_model(m, f"{artifact.path} [{m.name}]" if several else artifact.path) for m in artifact.models]
    if artifact.patched:
        patched = f"patched by kernelscope: {PATCH_RECORD} in it tells what was changed"
        answers[-1] = replace(answers[-1], more=(*answers[-1].more, patched))
    return answers


def _of_model(model: ModelResult, subject: str) -> Answer:
    match model.verdict:
        case Verdict.UNSAFE:
            sentence, *more = _unsafe_sentences(model)
        case Verdict.UNKNOWN:
            sentence, more = _unknown_sentence(model), []
        case Verdict.SAFE:
            sentence, more = _safe_sentence(model), []
    return Answer(model.verdict.name, subject, sentence, tuple(more))


# -- unsafe -----------------------------------------------------------------------------------------------------------


def _unsafe_sentences(model: ModelResult) -> list[str]:
    broken = [f for f in _unsafe(model.kernels) if f.consequence is Consequence.DOES_NOT_COMPILE]
    if broken:
        return [f"{counted(len(broken), 'kernel')} cannot compile at any size"]
    limits = [symbol for symbol in model.symbols if model.largest_safe.get(symbol.name) is not None]
    if not limits:
        return [_point_sentence(model)]
    first, *rest = limits
    others = " with the others at their minimum" if len(model.symbols) > 1 else ""
    return [f"{_limit(model, first)}{others}; {_beyond(model, first)}", *(_limit(model, symbol) for symbol in rest)]


def _limit(model: ModelResult, symbol: Symbol) -> str:
    limit = model.largest_safe[symbol.name]
    if limit is not None and symbol.minimum is not None and limit < symbol.minimum:
        return f"no {named(symbol)} is proved safe"
    return f"safe up to {named(symbol)} = {limit}"


def _beyond(model: ModelResult, symbol: Symbol) -> str:
    """What was seen to happen just above the limit of a size, and in how many kernels."""
    limit = model.largest_safe[symbol.name]
    assert limit is not None
    affected = [k for k in model.kernels if any(f.largest_safe.get(symbol.name) == limit for f in _unsafe([k]))]
    seen = [f for f in _unsafe(affected) if f.witness.symbols.get(symbol.name, limit) > limit]
    if not seen:
        return _point_sentence(model)
    first = min(seen, key=lambda finding: finding.witness.symbols[symbol.name])
    point = first.witness.symbols
    where = str(point[symbol.name]) if len(point) == 1 else sizes_text(point)
    return f"{where} {_HAPPENS[first.consequence]} in {len(affected)} of {len(model.kernels)} kernels"


def _point_sentence(model: ModelResult) -> str:
    finding = next(_unsafe(model.kernels), None)
    if finding is None:
        return "see below"
    sizes = sizes_text(finding.witness.symbols)
    return f"{'at ' + sizes if sizes else 'it'} {_HAPPENS[finding.consequence]}"


def _unsafe(kernels: Iterable[KernelResult]) -> Iterator[UnsafeFinding]:
    return (finding for kernel in kernels for finding in kernel.findings if isinstance(finding, UnsafeFinding))


# -- unknown and safe -------------------------------------------------------------------------------------------------


def _unknown_sentence(model: ModelResult) -> str:
    findings = [finding for kernel in model.kernels for finding in kernel.findings] + list(model.findings)
    reasons = sorted({f.reason.value for f in findings if isinstance(f, UnknownFinding)})
    totals = totals_of_model(model)
    parts = f"{totals.unknown} of {counted(totals.safe + totals.unknown, 'part')}" if model.kernels else "a part"
    why = f" ({'; '.join(reasons)})" if reasons else ""
    return f"nothing unsafe was found, but {parts} could not be proved safe{why}"


def _safe_sentence(model: ModelResult) -> str:
    if not model.kernels:
        return "no Triton kernels"
    kernels = counted(len(model.kernels), "kernel")
    if not model.symbols:
        return f"proved for {kernels}; every size is fixed"
    ranges = [f"{named(symbol)} in {range_text(symbol.minimum, symbol.maximum)}" for symbol in model.symbols]
    return f"proved for {kernels} at every {listed(ranges, _MAX_SIZES)}"


def named(symbol: Symbol) -> str:
    """A size by its name and, where it says more, its source: `s10 (input0[0])`."""
    return symbol.name if symbol.source in ("", symbol.name, "launch file") else f"{symbol.name} ({symbol.source})"
