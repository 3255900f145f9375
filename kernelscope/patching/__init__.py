"""Audit, rewrite and build joined: from an unsafe package to one that is proved safe."""

from __future__ import annotations

from kernelscope.patching.package import patch
from kernelscope.patching.report import (
    CandidateCost,
    KernelPatchResult,
    PatchDeclined,
    Patched,
    PatchFailed,
    PatchReport,
    WrapperChange,
)
from kernelscope.rewrite.rewriting import Strategy

__all__ = [
    "CandidateCost", "KernelPatchResult", "PatchDeclined", "PatchFailed", "PatchReport", "Patched", "Strategy",
    "WrapperChange", "patch",
]  # fmt: skip
