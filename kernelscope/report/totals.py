"""How many parts of an audit have each verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kernelscope.audit.results import AuditResult, ModelResult, Note, Verdict, verdict_of


@dataclass(frozen=True, slots=True)
class Totals:
    safe: int
    unsafe: int
    unknown: int

    def by_word(self) -> dict[str, int]:
        return {"safe": self.safe, "unsafe": self.unsafe, "unknown": self.unknown}


def totals_of(result: AuditResult) -> Totals:
    """Counts kernels, and whatever else has a verdict of its own: damaged parts and unreadable artifacts."""
    verdicts: list[Verdict] = []
    for artifact in result.artifacts:
        if artifact.error is not None:
            verdicts.append(Verdict.UNKNOWN)
        for model in artifact.models:
            verdicts += _verdicts(model)
    return _count(verdicts)


def totals_of_model(model: ModelResult) -> Totals:
    return _count(_verdicts(model))


def _verdicts(model: ModelResult) -> list[Verdict]:
    parts = [kernel.verdict for kernel in model.kernels]
    return parts + [verdict_of(finding) for finding in model.findings if not isinstance(finding, Note)]


def _count(verdicts: Iterable[Verdict]) -> Totals:
    every = list(verdicts)
    return Totals(every.count(Verdict.SAFE), every.count(Verdict.UNSAFE), every.count(Verdict.UNKNOWN))
