"""A construct of the kernel is not modelled, or a fact about its launch is missing.

What a kernel does there is unknown, never safe. The line and the construct are named.

Cure: for a kernel that stands alone, give its launch facts with `--launch`; else please report the construct.
"""

from __future__ import annotations

from kernelscope.audit.checks.example import Example
from kernelscope.audit.results import Verdict

CODE = "KS904"
TITLE = "not modelled, or no facts about the launch"

UNSAFE: tuple[Example, ...] = ()
SAFE: tuple[Example, ...] = ()

UNKNOWN = (
    Example(
        about="inline assembly could do anything, here to an index",
        kernel="""
            @triton.jit
            def gather(x_ptr, y_ptr, BLOCK: tl.constexpr):
                lane = tl.arange(0, BLOCK)
                index = tl.inline_asm_elementwise(
                    "shl.b32 $0, $1, 3;", "=r,r", [lane], dtype=tl.int32, is_pure=True, pack=1
                )
                tl.store(y_ptr + lane, tl.load(x_ptr + index))
        """,
        launch="""
            grid = ["1", "1", "1"]

            [symbols]
            n = [8192, 1048576]

            [constexpr]
            BLOCK = 1024

            [tensors]
            x_ptr = {dtype = "fp32", shape = ["n"], strides = ["1"]}
            y_ptr = {dtype = "fp32", shape = ["1024"], strides = ["1"]}
        """,
        verdict=Verdict.UNKNOWN,
    ),
)
