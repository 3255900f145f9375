"""Indices are computed in 64 bits though 32 are enough for every size in the declared ranges.

Inductor chooses the index dtype once a kernel, by the largest size that is allowed: one declared bound that is too generous,
or a bound that was lowered later (`--range`), leaves 64-bit arithmetic that nothing needs. It is right, and costs registers
and instructions. A note, never a failure: the same kernel with 32-bit indices was proved safe over the same ranges, and
`kernelscope patch --narrow` writes and compiles it, and keeps it where it is cheaper.
"""

from __future__ import annotations

from kernelscope.audit.checks.example import Example
from kernelscope.audit.results import Verdict

CODE = "KS501"
TITLE = "indices in 64 bits where 32 are enough"

UNSAFE: tuple[Example, ...] = ()

SAFE = (
    Example(
        about="at most a million elements, and a program id in int64: noted, and safe",
        kernel="""
            @triton.jit
            def scale(in_ptr, out_ptr, n, BLOCK: tl.constexpr):
                index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
                mask = index < n
                tl.store(out_ptr + index, 2 * tl.load(in_ptr + index, mask), mask)
        """,
        launch="""
            grid = ["cdiv(n, BLOCK)", "1", "1"]

            [symbols]
            n = [1, 1048576]

            [types]
            n = "i64"

            [constexpr]
            BLOCK = 1024

            [tensors]
            in_ptr = {dtype = "fp32", shape = ["n"], strides = ["1"]}
            out_ptr = {dtype = "fp32", shape = ["n"], strides = ["1"]}
        """,
        verdict=Verdict.SAFE,
    ),
)

UNKNOWN: tuple[Example, ...] = ()
