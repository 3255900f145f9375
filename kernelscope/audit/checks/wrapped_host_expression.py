"""An expression that the host computes, a size, stride or argument, wraps before it reaches the kernel.

The wrapper computes in `int64_t`, which declared ranges with several huge dimensions can exceed, and some versions of
torch hold parts of it in 32 bits. The kernel then works with a wrong size.

Cure: bound the dimensions so that their product fits.
"""

from __future__ import annotations

from kernelscope.audit.checks.example import Example

CODE = "KS305"
TITLE = "host arithmetic wraps"

UNSAFE: tuple[Example, ...] = ()
SAFE: tuple[Example, ...] = ()
UNKNOWN: tuple[Example, ...] = ()
