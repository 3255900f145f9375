"""Proves for which sizes every index, mask, loop bound and grid is right, and shows where it is not."""

from __future__ import annotations

from kernelscope.audit.largest_sizes import largest_safe_sizes
from kernelscope.audit.run import DEFAULT_DEVICE_MEMORY, audit

__all__ = ["DEFAULT_DEVICE_MEMORY", "audit", "largest_safe_sizes"]
