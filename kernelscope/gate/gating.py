"""Every finding of an audit with what becomes of it: it counts, is accepted, or is suppressed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from kernelscope.audit.results import AuditResult, Finding, KernelResult, Note, Verdict, verdict_of
from kernelscope.gate.baseline import AcceptedFinding, Baseline
from kernelscope.gate.fingerprint import fingerprint
from kernelscope.gate.suppression import Suppression


class Disposition(Enum):
    COUNTS = "counts"
    ACCEPTED = "accepted by the baseline"
    SUPPRESSED = "suppressed"


@dataclass(frozen=True, slots=True)
class GatedFinding:
    """`why` is the baseline's reason, or the suppression; empty for a finding that counts."""

    artifact: str
    model: str
    kernel: str
    finding: Finding
    fingerprint: str
    disposition: Disposition
    why: str


@dataclass(frozen=True, slots=True)
class GatedAudit:
    """`verdict`: of what counts. `stale`: entries of the baseline that no finding matches any more. `is_gated`: whether
    a baseline or a suppression was given at all."""

    audit: AuditResult
    findings: tuple[GatedFinding, ...]
    stale: tuple[AcceptedFinding, ...]
    is_gated: bool

    @property
    def verdict(self) -> Verdict:
        counting = [verdict_of(f.finding) for f in self.findings if f.disposition is Disposition.COUNTS]
        unreadable = [Verdict.UNKNOWN for a in self.audit.artifacts if a.error is not None]
        return min([*counting, *unreadable], default=Verdict.SAFE)

    def accepted(self, reason: str, old: Baseline | None) -> tuple[AcceptedFinding, ...]:
        """A baseline of all that counts or was accepted before, new entries with `reason`."""
        return tuple(
            AcceptedFinding(
                f.fingerprint, f.finding.code, f.kernel, f.finding.expression,
                (old.reason_for(f.fingerprint) if old is not None else None) or reason,
            )
            for f in self.findings
            if f.disposition is not Disposition.SUPPRESSED and not isinstance(f.finding, Note)
        )  # fmt: skip


def gate(result: AuditResult, baseline: Baseline | None = None, suppressions: Sequence[Suppression] = ()) -> GatedAudit:
    """What becomes of each finding. Notes count for nothing anyway and are passed through."""
    findings = tuple(_gated(*place, baseline, suppressions) for place in _findings(result))
    seen = {f.fingerprint for f in findings}
    stale = tuple(a for a in baseline.accepted if a.fingerprint not in seen) if baseline is not None else ()
    return GatedAudit(result, findings, stale, baseline is not None or bool(suppressions))


def _findings(result: AuditResult) -> Iterator[tuple[str, str, str, Finding, str]]:
    for artifact in result.artifacts:
        for model in artifact.models:
            parts: list[tuple[KernelResult | None, Sequence[Finding]]] = [(None, model.findings)]
            parts += [(kernel, kernel.findings) for kernel in model.kernels]
            for kernel, findings in parts:
                times: dict[tuple[str, str], int] = {}
                for finding in findings:
                    kind = (finding.code, finding.expression)
                    occurrence = times[kind] = times.get(kind, -1) + 1
                    name = kernel.name if kernel is not None else ""
                    yield artifact.path, model.name, name, finding, fingerprint(kernel, finding, occurrence)


def _gated(
    artifact: str, model: str, kernel: str, finding: Finding, identity: str, baseline: Baseline | None,
    suppressions: Sequence[Suppression],
) -> GatedFinding:  # fmt: skip
    disposition, why = Disposition.COUNTS, ""
    covering = next((s for s in suppressions if s.covers(finding.code, kernel)), None)
    reason = baseline.reason_for(identity) if baseline is not None else None
    if covering is not None:
        disposition, why = Disposition.SUPPRESSED, covering.text
    elif reason is not None:
        disposition, why = Disposition.ACCEPTED, reason
    return GatedFinding(artifact, model, kernel, finding, identity, disposition, why)
