"""An index that was computed in 64 bits is cast to 32 and loses its high bits.

A value of 2**31 or more cast to int32 keeps the low 32 bits: the access goes elsewhere in memory. The cast is often
there for speed, or because a helper function wants int32.

Cure: remove the cast, or cast the parts that are known to be small (a column, a lane) and not their sum with a row.
"""

from __future__ import annotations

from kernelscope.audit.checks.example import Example
from kernelscope.audit.results import Verdict

CODE = "KS102"
TITLE = "a 64-bit index is cast to 32 bits"

_LAUNCH = """
    grid = ["cdiv(n, 1024)", "1", "1"]

    [symbols]
    n = [1, 4294967296]

    [types]
    n = "i64"

    [constexpr]
    BLOCK = 1024

    [tensors]
    x_ptr = {dtype = "i8", shape = ["n"], strides = ["1"]}
"""

UNSAFE = (
    Example(
        about="the whole index is cast",
        kernel="""
            @triton.jit
            def negate(x_ptr, n, BLOCK: tl.constexpr):
                index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
                mask = index < n
                x = tl.load(x_ptr + index.to(tl.int32), mask)
                tl.store(x_ptr + index, -x, mask)
        """,
        launch=_LAUNCH,
        verdict=Verdict.UNSAFE,
        expression="index.to(tl.int32)",
        largest_safe={"n": 2147483648},
    ),
)

SAFE = (
    Example(
        about="only the lane is cast, which is below 1024",
        kernel="""
            @triton.jit
            def negate(x_ptr, n, BLOCK: tl.constexpr):
                lane = tl.arange(0, BLOCK).to(tl.int64)
                index = tl.program_id(0).to(tl.int64) * BLOCK + lane.to(tl.int32)
                mask = index < n
                x = tl.load(x_ptr + index, mask)
                tl.store(x_ptr + index, -x, mask)
        """,
        launch=_LAUNCH,
        verdict=Verdict.SAFE,
    ),
)

UNKNOWN: tuple[Example, ...] = ()
