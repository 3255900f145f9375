"""The host passes a size to the kernel in a type too narrow for it.

The wrapper stores each argument in a variable of the type that the kernel was compiled for:
`int32_t var_3 = xnumel;` keeps the low 32 bits. A size of 2**31 arrives as -2147483648; every lane is then masked off
and the output never written. Inductor fixed that type by the example size.

Cure: the argument must be `i64` in the kernel's signature and `int64_t` in the wrapper; for Inductor, compile with an
example or a declared bound above 2**31 - 1, or bound the dimension.
"""

from __future__ import annotations

from kernelscope.audit.checks.example import Example
from kernelscope.audit.results import Verdict

CODE = "KS301"
TITLE = "an argument is narrowed on its way to the kernel"

_KERNEL = """
    @triton.jit
    def negate(x_ptr, n, BLOCK: tl.constexpr):
        index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + index, index < n)
        tl.store(x_ptr + index, -x, index < n)
"""

_LAUNCH = """
    grid = ["cdiv(n, BLOCK)", "1", "1"]

    [symbols]
    n = [1, 4294967296]

    [types]
    n = "{type}"

    [constexpr]
    BLOCK = 1024

    [tensors]
    x_ptr = {{dtype = "i8", shape = ["n"], strides = ["1"]}}
"""

UNSAFE = (
    Example(
        about="the index has 64 bits, its bound 32",
        kernel=_KERNEL,
        launch=_LAUNCH.format(type="i32"),
        verdict=Verdict.UNSAFE,
        expression="n",
        largest_safe={"n": 2147483647},
    ),
)

SAFE = (
    Example(
        about="the bound has 64 bits, too",
        kernel=_KERNEL,
        launch=_LAUNCH.format(type="i64"),
        verdict=Verdict.SAFE,
    ),
)

UNKNOWN: tuple[Example, ...] = ()
