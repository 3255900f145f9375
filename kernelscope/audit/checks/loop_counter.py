"""A loop's counter wraps when it steps past its end, or a bound of the loop does.

`for offset in tl.range(0, n, BLOCK)` counts in the type that its bounds have together. After the last round it steps
past `n` once: where that step passes 2**31 - 1 the counter is negative, below `n`, and the loop never ends. A bound
that wraps (`tl.cdiv(n, BLOCK)` adds BLOCK - 1 to `n`) ends the loop too early, usually before its first round, and the
output is never written.

Cure: make the bound int64 (`n.to(tl.int64)`, or `i64` in the signature), or compute the number of rounds on the host.
"""

from __future__ import annotations

from kernelscope.audit.checks.example import Example
from kernelscope.audit.results import Verdict

CODE = "KS202"
TITLE = "a loop counter or loop bound wraps"

_LAUNCH = """
    grid = ["1", "1", "1"]

    [symbols]
    n = [1, 2147483647]

    [types]
    n = "{type}"

    [constexpr]
    BLOCK = 1024

    [tensors]
    x_ptr = {{dtype = "i8", shape = ["n"], strides = ["1"]}}
"""

_KERNEL = """
    @triton.jit
    def negate(x_ptr, n, BLOCK: tl.constexpr):
        for offset in tl.range(0, n, BLOCK):
            index = offset + tl.arange(0, BLOCK)
            x = tl.load(x_ptr + index, index < n)
            tl.store(x_ptr + index, -x, index < n)
"""

UNSAFE = (
    Example(
        about="the counter's last step passes 2**31 - 1",
        kernel=_KERNEL,
        launch=_LAUNCH.format(type="i32"),
        verdict=Verdict.UNSAFE,
        expression="tl.range(0, n, BLOCK)",
        largest_safe={"n": 2147482624},
    ),
)

SAFE = (
    Example(
        about="an int64 bound gives an int64 counter",
        kernel=_KERNEL,
        launch=_LAUNCH.format(type="i64"),
        verdict=Verdict.SAFE,
    ),
)

UNKNOWN: tuple[Example, ...] = ()
