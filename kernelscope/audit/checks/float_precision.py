"""An index is computed in floating point, which is exact only up to a point: 2**24 for float32.

Resizing and interpolation multiply an index by a scale and convert it back. Above that point neighbouring indices
become one. Eager mode computes the same way, so that this is a note and changes no verdict and no size.
"""

from __future__ import annotations

from kernelscope.audit.checks.example import Example
from kernelscope.audit.results import Verdict

CODE = "KS401"
TITLE = "index arithmetic in floating point"

UNSAFE: tuple[Example, ...] = ()

SAFE = (
    Example(
        about="an index that is halved in float32: noted, and safe",
        kernel="""
            @triton.jit
            def upsample(in_ptr, out_ptr, n, BLOCK: tl.constexpr):
                index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
                mask = index < 2 * n
                source = (index.to(tl.float32) * 0.5).to(tl.int64)
                source = tl.minimum(tl.maximum(source, 0), n - 1)
                tl.store(out_ptr + index, tl.load(in_ptr + source, mask), mask)
        """,
        launch="""
            grid = ["cdiv(2*n, BLOCK)", "1", "1"]

            [symbols]
            n = [1, 1048576]

            [types]
            n = "i32"

            [constexpr]
            BLOCK = 1024

            [tensors]
            in_ptr = {dtype = "fp32", shape = ["n"], strides = ["1"]}
            out_ptr = {dtype = "fp32", shape = ["2*n"], strides = ["1"]}
        """,
        verdict=Verdict.SAFE,
    ),
)

UNKNOWN: tuple[Example, ...] = ()
