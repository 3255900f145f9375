"""What a patch run leaves unsafe or unproved, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kernelscope.audit.results import AuditResult, KernelResult, Note, UnknownFinding, UnsafeFinding, Verdict
from kernelscope.patching.report import KernelPatchResult, PatchDeclined, Patched, PatchFailed, PatchReport
from kernelscope.patching.targets import GRID_CODES


@dataclass(frozen=True, slots=True)
class Remaining:
    """A kernel that is not proved safe: what is wrong with it, and why no patch has cured it."""

    kernel: str
    verdict: Verdict
    findings: tuple[str, ...]
    reason: str


def remaining(report: PatchReport) -> tuple[Remaining, ...]:
    """Every kernel that is not safe in the result, or would not be: without a result, what was not patched."""
    others = [k for k in report.kernels if not isinstance(k, Patched)]
    patched = {k.kernel for k in report.kernels} - {k.kernel for k in others}
    reasons = {k.kernel: _reason(k) for k in (*report.kernels, *others)}
    found: list[Remaining] = []
    for kernel in _kernels(report.before if report.after is None else report.after):
        if kernel.verdict is Verdict.SAFE or (report.after is None and kernel.name in patched):
            continue
        open_findings = [f for f in kernel.findings if not isinstance(f, Note)]
        reason = reasons.get(kernel.name, "it was not asked for")
        if kernel.name in patched and all(f.code in GRID_CODES for f in open_findings):
            reason = "its indices are proved, but CUDA can't launch its grid at the largest sizes: declare a limit"
        found.append(Remaining(kernel.name, kernel.verdict, tuple(map(_finding, open_findings)), reason))
    return tuple(found)


def _kernels(result: AuditResult) -> Iterator[KernelResult]:
    return (kernel for artifact in result.artifacts for model in artifact.models for kernel in model.kernels)


def _reason(kernel: KernelPatchResult) -> str:
    match kernel:
        case PatchDeclined(reason=reason):
            return reason
        case PatchFailed(error=error):
            return error
        case Patched():
            return "no rewrite of the kernel cures what is left"


def _finding(finding: UnsafeFinding | UnknownFinding) -> str:
    where = f"{finding.code} line {finding.location.line}: {finding.expression}"
    match finding:
        case UnsafeFinding(consequence=consequence, condition=condition):
            return f"{where}: {consequence.value}" + (f" unless {condition}" if condition else "")
        case UnknownFinding(reason=reason, detail=detail):
            return f"{where}: {reason.value}: {detail}"
