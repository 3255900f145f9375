"""What a patch run did, as JSON, schema 1."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from kernelscope import __version__
from kernelscope.build.cost import KernelCost
from kernelscope.patching.report import KernelPatchResult, PatchDeclined, Patched, PatchFailed, PatchReport
from kernelscope.replay.equivalence import Equivalence
from kernelscope.report.patch_remaining import remaining
from kernelscope.report.totals import totals_of

SCHEMA = 1

Json = Mapping[str, object]


def patch_json(report: PatchReport, command: Sequence[str], checks: Sequence[Equivalence] = ()) -> str:
    """The report as JSON text. `output` is null when nothing was written, and `verdict_after` then too."""
    after = report.verdict_after
    document = {
        "schema": SCHEMA,
        "tool": {"name": "kernelscope", "version": __version__, "command": list(command)},
        "versions": {"triton": report.triton_version or None, "torch": report.torch_version or None},
        "source": report.source,
        "output": report.output,
        "summary": report.summary,
        "ok": report.ok,
        "verdict_before": report.verdict_before.word,
        "verdict_after": None if after is None else after.word,
        "totals_before": totals_of(report.before).by_word(),
        "totals_after": None if report.after is None else totals_of(report.after).by_word(),
        "kernels": [_kernel(kernel) for kernel in report.kernels],
        "wrappers": {name: {"change": c.name.lower(), "detail": c.value} for name, c in report.wrappers.items()},
        "checks": [
            {
                "kernel": one.kernel, "state": one.state.name.lower(), "sizes": dict(one.sizes), "programs": one.programs,
                "grid": one.grid, "detail": one.detail,
            }
            for one in checks
        ],
        "not_safe": [
            {"kernel": one.kernel, "verdict": one.verdict.word, "reason": one.reason, "findings": list(one.findings)}
            for one in remaining(report)
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _kernel(kernel: KernelPatchResult) -> Json:
    named = {"name": kernel.kernel, "launcher": kernel.launcher}
    match kernel:
        case Patched():
            return {**named, "result": "patched", **_patched(kernel)}
        case PatchDeclined(reason=reason, code=code):
            return {**named, "result": "declined", "reason": reason, "code": code}
        case PatchFailed(error=error):
            return {**named, "result": "failed", "error": error}


def _patched(kernel: Patched) -> Json:
    return {
        "strategy": kernel.strategy.value,
        "provenance": kernel.provenance.name.lower(),
        "provenance_detail": kernel.provenance_detail,
        "changes": [{"line": c.line, "before": c.before, "after": c.after} for c in kernel.changes],
        "patches": list(kernel.patches),
        "widened": list(kernel.widened),
        "cost": {"before": _cost(kernel.before), "after": _cost(kernel.after)},
        "candidates": [
            {"strategy": c.strategy.value, "casts": c.casts, "widened": list(c.widened), "cost": _cost(c.cost)}
            for c in kernel.candidates
        ],
    }


def _cost(cost: KernelCost | None) -> Json | None:
    return None if cost is None else {**asdict(cost), "spills": cost.spills}
