"""A literal does not fit the type of what it meets, and Triton refuses to compile the kernel.

A Python integer takes the type of the other operand. Next to an int32 value it must lie in [-2**31, 2**31); Inductor
can emit one that does not, for a view far into a tensor. The kernel then fails when it is compiled, at any size. A
literal that is added to a pointer directly is 64 bits wide and fine.

Cure: make the other operand int64.
"""

from __future__ import annotations

from kernelscope.audit.checks.example import Example
from kernelscope.audit.results import Verdict

CODE = "KS104"
TITLE = "a literal does not fit: the kernel does not compile"

_LAUNCH = """
    grid = ["cdiv(n, 1024)", "1", "1"]

    [symbols]
    n = [1, 1048576]

    [types]
    n = "i32"

    [constexpr]
    BLOCK = 1024

    [tensors]
    in_ptr = {dtype = "i8", shape = ["3000000000 + n"], strides = ["1"]}
    out_ptr = {dtype = "i8", shape = ["n"], strides = ["1"]}
"""

UNSAFE = (
    Example(
        about="an offset of three billion meets an int32 index",
        kernel="""
            @triton.jit
            def copy_tail(in_ptr, out_ptr, n, BLOCK: tl.constexpr):
                index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
                x = tl.load(in_ptr + (index + 3000000000), index < n)
                tl.store(out_ptr + index, x, index < n)
        """,
        launch=_LAUNCH,
        verdict=Verdict.UNSAFE,
        expression="index + 3000000000",
    ),
)

SAFE = (
    Example(
        about="added to the pointer by itself, where every offset has 64 bits",
        kernel="""
            @triton.jit
            def copy_tail(in_ptr, out_ptr, n, BLOCK: tl.constexpr):
                index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
                x = tl.load((in_ptr + 3000000000) + index, index < n)
                tl.store(out_ptr + index, x, index < n)
        """,
        launch=_LAUNCH,
        verdict=Verdict.SAFE,
    ),
)

UNKNOWN: tuple[Example, ...] = ()
