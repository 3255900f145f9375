"""Patch reports made by hand."""

from __future__ import annotations

from dataclasses import replace

from kernelscope.audit.results import AuditResult, KernelResult, Verdict
from kernelscope.build.cost import KernelCost
from kernelscope.patching.report import (
    CandidateCost,
    ChangedLine,
    KernelPatchResult,
    PatchDeclined,
    Patched,
    PatchFailed,
    PatchReport,
    ProvenanceState,
    WrapperChange,
)
from kernelscope.rewrite.rewriting import Strategy
from tests.report import results

NORM = "triton_per_fused_native_layer_norm_0"
BEFORE = KernelCost(32, 0, 0, 0, 0, 664, 64, 1.0)
AFTER = KernelCost(38, 8, 1, 2, 192, 672, 48, 0.75)
PATCHED = Patched(
    NORM, NORM, Strategy.MINIMAL, ProvenanceState.PROVED, "",
    (ChangedLine(21, "    xoffset = tl.program_id(0) * XBLOCK", "    xoffset = tl.program_id(0).to(tl.int64) * XBLOCK"),),
    ("program_ids",), (), BEFORE, AFTER,
    (
        CandidateCost(Strategy.MINIMAL, 1, (), AFTER),
        CandidateCost(Strategy.INDUCTOR, 5, ("r0_numel", "xnumel"), None),
    ),
)  # fmt: skip
WIDENED = replace(
    PATCHED, kernel="widened", strategy=Strategy.INDUCTOR, widened=("xnumel",), candidates=PATCHED.candidates[1:],
    provenance=ProvenanceState.OTHER_VERSION, provenance_detail="made with CUDA 12.8", after=None,
)  # fmt: skip
DECLINED = PatchDeclined("declined", "declined", "source and binary disagree: .text differs", "KS901")
FAILED = PatchFailed("failed", "failed", "minimal: does not compile: out of registers")


def audited(*kernels: KernelResult) -> AuditResult:
    return results.audit_result(results.artifact(results.model(*kernels)))


def safe_kernel(name: str) -> KernelResult:
    return replace(results.unsafe_kernel(name), verdict=Verdict.SAFE, findings=())


def report(
    kernels: tuple[KernelPatchResult, ...], after: AuditResult | None, ok: bool, change: WrapperChange
) -> PatchReport:
    before = audited(*(results.unsafe_kernel(k.kernel) for k in kernels))
    written = after is not None
    summary = f"{len(kernels)} kernels; {'written to out.pt2' if written else 'nothing written'}"
    return PatchReport(
        "in.pt2", "out.pt2" if written else None, summary, ok, kernels, {"model": change}, before, after, "3.8.0", "2.14.1"
    )


def cured() -> PatchReport:
    """One kernel, patched and proved."""
    return report((PATCHED,), audited(safe_kernel(NORM)), True, WrapperChange.COMMENT)


def mixed() -> PatchReport:
    """One kernel of each outcome, written."""
    after = audited(
        safe_kernel(NORM), safe_kernel("widened"), results.unsafe_kernel("declined"), results.unsafe_kernel("failed")
    )
    return report((PATCHED, WIDENED, DECLINED, FAILED), after, False, WrapperChange.REBUILT)


def dry() -> PatchReport:
    """Nothing written: one kernel would be patched, another not."""
    return report((PATCHED, FAILED), None, False, WrapperChange.COMMENT)
