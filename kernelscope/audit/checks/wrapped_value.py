"""An integer that the kernel stores is computed in 32 bits and wraps.

The addresses may all be right and the result wrong still: a position, a flattened index (argmax, nonzero, arange) or a
product of sizes is stored into an int64 tensor after it was computed in int32. Nothing faults; later code indexes with
the wrong number.

Cure: convert the operands to int64 before the arithmetic, not the result.
"""

from __future__ import annotations

from kernelscope.audit.checks.example import Example
from kernelscope.audit.results import Verdict

CODE = "KS103"
TITLE = "a stored integer is computed in too few bits"

_LAUNCH = """
    grid = ["cdiv(n, 1024)", "1", "1"]

    [symbols]
    n = [1, 16777216]

    [types]
    n = "i32"

    [constexpr]
    BLOCK = 1024

    [tensors]
    out_ptr = {dtype = "i64", shape = ["n"], strides = ["1"]}
"""

UNSAFE = (
    Example(
        about="the position times 1000, in int32, into an int64 tensor",
        kernel="""
            @triton.jit
            def positions(out_ptr, n, BLOCK: tl.constexpr):
                index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
                tl.store(out_ptr + index, index * 1000, index < n)
        """,
        launch=_LAUNCH,
        verdict=Verdict.UNSAFE,
        expression="index * 1000",
        largest_safe={"n": 2147484},
    ),
)

SAFE = (
    Example(
        about="widened before the product",
        kernel="""
            @triton.jit
            def positions(out_ptr, n, BLOCK: tl.constexpr):
                index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
                tl.store(out_ptr + index, index.to(tl.int64) * 1000, index < n)
        """,
        launch=_LAUNCH,
        verdict=Verdict.SAFE,
    ),
)

UNKNOWN: tuple[Example, ...] = ()
