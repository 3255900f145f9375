"""A kernel is launched whose Triton source is not in the package.

Without its source nothing can be said about a kernel, which is unknown. Packages from torch 2.8 on hold the source of
every Triton kernel as a comment of the wrapper;
it is missing where the package was stripped, or made by an older torch.

Cure: build the package again and keep the `.wrapper.cpp` in it, or audit Inductor's output folder instead.
"""

from __future__ import annotations

from kernelscope.audit.checks.example import Example

CODE = "KS902"
TITLE = "a launched kernel has no source"

UNSAFE: tuple[Example, ...] = ()
SAFE: tuple[Example, ...] = ()
UNKNOWN: tuple[Example, ...] = ()
