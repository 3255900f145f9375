"""The index added to a pointer is computed in a type too narrow for it, and wraps.

`tl.program_id` and `tl.arange` are int32, and so is every product and sum of them with int32 arguments and Python
literals. From 2**31 on the result is negative: the access goes to memory far before the tensor, which faults or, as
often, silently reads or overwrites something else. What counts is the value that reaches the address in a live lane:
an intermediate sum that wraps and is brought back by a later one is right, as int32 arithmetic is modulo 2**32. Each
offset that is added to a pointer is widened to 64 bits first, so `(pointer + a) + b` is right further than
`pointer + (a + b)`.

Cure: widen one operand before the product, `row.to(tl.int64) * stride`; a cast after it comes too late. For Inductor's
kernels: compile with an example (or a declared bound) large enough that it chooses 64-bit indexing, or bound the
dimension.
"""

from __future__ import annotations

from kernelscope.audit.checks.example import Example
from kernelscope.audit.results import Verdict

CODE = "KS101"
TITLE = "index arithmetic wraps"

_LAUNCH = """
    grid = ["rows", "1", "1"]

    [symbols]
    rows = [1, 1048576]

    [constexpr]
    BLOCK = 4096

    [tensors]
    x_ptr = {dtype = "fp32", shape = ["rows", "4096"], strides = ["4096", "1"]}
"""

_GATHER = """
    @triton.jit
    def gather_rows(index_ptr, x_ptr, y_ptr, BLOCK: tl.constexpr):
        row = tl.load(index_ptr + tl.program_id(0))
        columns = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * BLOCK + columns)
        tl.store(y_ptr + tl.program_id(0).to(tl.int64) * BLOCK + columns, x)
"""

_GATHER_LAUNCH = """
    grid = ["n", "1", "1"]

    [symbols]
    n = [1, 1024]
    rows = [1, 1048576]

    [constexpr]
    BLOCK = 4096

    [tensors]
    index_ptr = {{dtype = "i32", shape = ["n"], strides = ["1"]}}
    x_ptr = {{dtype = "fp32"{layout}}}
    y_ptr = {{dtype = "fp32", shape = ["n", "4096"], strides = ["4096", "1"]}}
"""

UNSAFE = (
    Example(
        about="rows of 4096 elements, and the row's offset in int32",
        kernel="""
            @triton.jit
            def scale_rows(x_ptr, BLOCK: tl.constexpr):
                row = tl.program_id(0)
                offsets = row * BLOCK + tl.arange(0, BLOCK)
                x = tl.load(x_ptr + offsets)
                tl.store(x_ptr + offsets, x * 2.0)
        """,
        launch=_LAUNCH,
        verdict=Verdict.UNSAFE,
        expression="row * BLOCK",
        largest_safe={"rows": 524288},
    ),
    Example(
        about="the cast comes after the product, which has wrapped by then",
        kernel="""
            @triton.jit
            def scale_rows(x_ptr, BLOCK: tl.constexpr):
                row = tl.program_id(0)
                offsets = (row * BLOCK).to(tl.int64) + tl.arange(0, BLOCK)
                x = tl.load(x_ptr + offsets)
                tl.store(x_ptr + offsets, x * 2.0)
        """,
        launch=_LAUNCH,
        verdict=Verdict.UNSAFE,
        expression="row * BLOCK",
        largest_safe={"rows": 524288},
    ),
    Example(
        about="a row that is read from memory is as large as its tensor lets it be",
        kernel=_GATHER,
        launch=_GATHER_LAUNCH.format(layout=', shape = ["rows", "4096"], strides = ["4096", "1"]'),
        verdict=Verdict.UNSAFE,
        expression="row * BLOCK",
        largest_safe={"rows": 524288},
    ),
)

SAFE = (
    Example(
        about="the row is widened before the product",
        kernel="""
            @triton.jit
            def scale_rows(x_ptr, BLOCK: tl.constexpr):
                row = tl.program_id(0).to(tl.int64)
                offsets = row * BLOCK + tl.arange(0, BLOCK)
                x = tl.load(x_ptr + offsets)
                tl.store(x_ptr + offsets, x * 2.0)
        """,
        launch=_LAUNCH,
        verdict=Verdict.SAFE,
    ),
)

UNKNOWN = (
    Example(
        about="the row is read from memory, and nothing says how large it gets",
        kernel=_GATHER,
        launch=_GATHER_LAUNCH.format(layout=""),
        verdict=Verdict.UNKNOWN,
    ),
)
