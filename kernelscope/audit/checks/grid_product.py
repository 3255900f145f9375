"""Triton's own launcher multiplies the three grid dimensions as C `int` and launches only if the product is positive.

Each dimension may be legal and the product 2**31 or more: it is then negative or 0, and the launch is skipped without
an error. A product of 2**32 and a little launches again, so larger sizes can be right where smaller ones are not.
AOTInductor's C++ wrapper tests each dimension by itself and is not affected.

Cure: larger blocks, or a persistent kernel.
"""

from __future__ import annotations

from kernelscope.audit.checks.example import Example
from kernelscope.audit.results import Verdict

CODE = "KS304"
TITLE = "the product of the grid dimensions overflows in Triton's launcher"

_KERNEL = """
    @triton.jit
    def add_one(x_ptr, n, BLOCK: tl.constexpr):
        row = tl.program_id(1).to(tl.int64) + tl.program_id(2).to(tl.int64) * 16384
        column = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        tl.atomic_add(x_ptr + row * n + column, 1.0, mask=column < n)
"""

_LAUNCH = """
    launcher = "{launcher}"
    grid = ["cdiv(n, BLOCK)", "16384", "4"]

    [symbols]
    n = [1, 1048576]

    [types]
    n = "i32"

    [constexpr]
    BLOCK = 16

    [tensors]
    x_ptr = {{dtype = "fp32", shape = ["65536", "n"], strides = ["n", "1"]}}
"""

UNSAFE = (
    Example(
        about="each dimension is legal, their product is not an int",
        kernel=_KERNEL,
        launch=_LAUNCH.format(launcher="triton"),
        verdict=Verdict.UNSAFE,
        largest_safe={"n": 524272},
    ),
)

SAFE = (
    Example(
        about="the same kernel through AOTInductor's wrapper",
        kernel=_KERNEL,
        launch=_LAUNCH.format(launcher="aoti"),
        verdict=Verdict.SAFE,
    ),
)

UNKNOWN: tuple[Example, ...] = ()
