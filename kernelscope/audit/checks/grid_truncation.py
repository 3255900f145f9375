"""Arithmetic on the launch grid drops high bits before any limit is tested.

AOTInductor's wrapper holds each grid dimension in a `uint32_t`, and computes the split of a large y dimension over y
and z in it. From 2**32 blocks on the high bits are gone: a number of blocks that became 0 means that the launch
vanishes without an error; another small number, that most of the output is never written.

Cure: larger blocks, or a bound on the dimension.
"""

from __future__ import annotations

from kernelscope.audit.checks.example import Example

CODE = "KS303"
TITLE = "the grid is computed in uint32_t, which drops high bits"

UNSAFE: tuple[Example, ...] = ()
SAFE: tuple[Example, ...] = ()
UNKNOWN: tuple[Example, ...] = ()
