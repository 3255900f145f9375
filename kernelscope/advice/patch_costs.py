"""What patching a package would cost each of its kernels, measured by a patch that writes nothing."""

from __future__ import annotations

from kernelscope.advice.options import PatchCost
from kernelscope.patching import patch
from kernelscope.patching.report import KernelPatchResult, PatchDeclined, Patched, PatchFailed


def patch_costs(path: str, device_memory: int | None) -> tuple[PatchCost, ...]:
    """Of every kernel of a package that is not safe. KernelscopeError without torch and triton (`pip install
    'kernelscope[build]'`) and for what cannot be patched at all."""
    return tuple(map(_cost, patch(path, None, dry_run=True, device_memory=device_memory).kernels))


def _cost(result: KernelPatchResult) -> PatchCost:
    match result:
        case Patched():
            return PatchCost(result.kernel, result.before, result.after, None)
        case PatchDeclined(kernel, _, reason):
            return PatchCost(kernel, None, None, reason)
        case PatchFailed(kernel, _, error):
            return PatchCost(kernel, None, None, error)
