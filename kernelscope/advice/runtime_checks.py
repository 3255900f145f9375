"""Whether the checks that AOTI_RUNTIME_CHECK_INPUTS=1 switches on would stop the sizes at which a package breaks."""

from __future__ import annotations

from collections.abc import Mapping

from kernelscope.advice.options import Caught, CheckedFinding, RuntimeChecks
from kernelscope.audit.results import AuditResult, ModelResult, UnknownFinding, UnsafeFinding
from kernelscope.audit.run import audit
from kernelscope.launches.launch import Symbol


def runtime_checks(path: str, model: ModelResult, device_memory: int | None) -> RuntimeChecks:
    """Audits the package once more within what the checks let pass. `model`: its audit over the declared ranges.

    Kernels that only see sizes that pass are judged again; a finding that is gone there is one that the checks stop."""
    limits = {s.name: _checked_limit(s) for s in model.symbols}
    assumed = {s.name: (s.minimum, s.assumed_by_inductor) for s in model.symbols if s.assumed_by_inductor is not None}
    within = _model_of(audit([path], ranges=assumed, device_memory=device_memory), model) if assumed else model
    passing = {_place(kernel, f): (kernel, f) for kernel, f in _open_findings(within)}
    findings = []
    for kernel, finding in _open_findings(model):
        if isinstance(finding, UnsafeFinding):
            _, again = passing.pop(_place(kernel, finding), (kernel, None))
            findings.append(CheckedFinding(kernel, finding, *_judged(again)))
    findings += [
        CheckedFinding(kernel, finding, *_judged(finding))
        for kernel, finding in passing.values() if isinstance(finding, UnsafeFinding)
    ]  # fmt: skip
    return RuntimeChecks(limits, tuple(findings))


def _place(kernel: str, finding: UnsafeFinding | UnknownFinding) -> tuple[str, str, int]:
    return kernel, finding.id, finding.location.line


def _judged(again: UnsafeFinding | UnknownFinding | None) -> tuple[Caught, Mapping[str, int] | None]:
    match again:
        case UnsafeFinding():
            return Caught.NO, again.witness.symbols
        case UnknownFinding():
            return Caught.UNKNOWN, None
        case None:
            return Caught.YES, None


def _checked_limit(symbol: Symbol) -> int | None:
    """Data-dependent sizes are not inputs, and not checked."""
    if not symbol.source.startswith("input"):
        return None
    known = [limit for limit in (symbol.maximum, symbol.assumed_by_inductor) if limit is not None]
    return min(known, default=None)


def _model_of(result: AuditResult, model: ModelResult) -> ModelResult:
    return next(m for a in result.artifacts for m in a.models if m.name == model.name)


def _open_findings(model: ModelResult) -> list[tuple[str, UnsafeFinding | UnknownFinding]]:
    return [(k.name, f) for k in model.kernels for f in k.findings if isinstance(f, UnsafeFinding | UnknownFinding)]
