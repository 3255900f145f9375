"""What a mask compares wraps, so that lanes are masked off, or let through, that should not be.

A mask such as `index < numel` tests the upper end only: an index that has wrapped negative passes it, and the lane
writes before the tensor. The other way round, a bound that has wrapped negative masks off every lane, and the output is
never written. Launch grids that round up make this happen below 2**31 already: surplus programs start beyond the last
element, where their offset wraps first.

Cure: widen the operands of the comparison, `tl.program_id(0).to(tl.int64) * BLOCK`.
"""

from __future__ import annotations

from kernelscope.audit.checks.example import Example
from kernelscope.audit.results import Verdict

CODE = "KS201"
TITLE = "the operand of a mask wraps"

_LAUNCH = """
    grid = ["cdiv(n, 1000)", "1", "1"]

    [symbols]
    n = [1, 2147483647]

    [types]
    n = "i32"

    [constexpr]
    BLOCK = 1024

    [tensors]
    x_ptr = {dtype = "i8", shape = ["n"], strides = ["1"]}
"""

UNSAFE = (
    Example(
        about="the grid divides by 1000 where a program covers 1024: surplus programs wrap and pass the mask",
        kernel="""
            @triton.jit
            def negate(x_ptr, n, BLOCK: tl.constexpr):
                index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
                x = tl.load(x_ptr + index, index < n)
                tl.store(x_ptr + index, -x, index < n)
        """,
        launch=_LAUNCH,
        verdict=Verdict.UNSAFE,
        expression="tl.program_id(0) * BLOCK",
        largest_safe={"n": 2097152000},
    ),
)

SAFE = (
    Example(
        about="the surplus programs' index has 64 bits",
        kernel="""
            @triton.jit
            def negate(x_ptr, n, BLOCK: tl.constexpr):
                index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
                x = tl.load(x_ptr + index, index < n)
                tl.store(x_ptr + index, -x, index < n)
        """,
        launch=_LAUNCH,
        verdict=Verdict.SAFE,
    ),
)

UNKNOWN: tuple[Example, ...] = ()
