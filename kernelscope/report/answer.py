"""The shortest useful answer about an artifact: its verdict, and up to which sizes it is right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

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
    return [_of_model(m, f"{artifact.path} [{m.name}]" if several else artifact.path) for m in artifact.models]


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
    sentences = [_limit_sentence(model, symbol) for symbol in limits]
    return sentences or [_point_sentence(model)]


def _limit_sentence(model: ModelResult, symbol: Symbol) -> str:
    limit = model.largest_safe[symbol.name]
    assert limit is not None
    affected = [k for k in model.kernels if any(f.largest_safe.get(symbol.name) == limit for f in _unsafe([k]))]
    first = _first(_unsafe(affected or model.kernels), symbol.name)
    if symbol.minimum is not None and limit < symbol.minimum:
        safe = f"no {named(symbol)} is safe"
    else:
        safe = f"safe up to {named(symbol)} = {limit}{_others(model, symbol)}"
    if first is None:
        return safe
    count = f"in {len(affected)} of {len(model.kernels)} kernels" if affected else "in one kernel"
    return f"{safe}; {_at(first, symbol.name)} {_HAPPENS[first.consequence]} {count}"


def _first(findings: Iterable[UnsafeFinding], symbol: str) -> UnsafeFinding | None:
    """The finding whose witness has the least value of a size."""
    having = [finding for finding in findings if symbol in finding.witness.symbols]
    return min(having, key=lambda finding: finding.witness.symbols[symbol], default=None)


def _at(finding: UnsafeFinding, symbol: str) -> str:
    sizes = finding.witness.symbols
    return str(sizes[symbol]) if len(sizes) == 1 else sizes_text(sizes)


def _others(model: ModelResult, symbol: Symbol) -> str:
    least = [other.name for other in model.symbols if other is not symbol and other.maximum is None]
    return f" with {listed(least, _MAX_SIZES)} at {'its' if len(least) == 1 else 'their'} minimum" if least else ""


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
