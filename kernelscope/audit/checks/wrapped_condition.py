"""A value that decides an `if` or a `while` wraps, and the kernel takes the wrong branch.

The branch may skip the work (nothing is written) or do what the condition should have prevented.

Cure: widen the operands of the condition.
"""

from __future__ import annotations

from kernelscope.audit.checks.example import Example
from kernelscope.audit.results import Verdict

CODE = "KS203"
TITLE = "the condition of a branch wraps"

_LAUNCH = """
    grid = ["rows", "1", "1"]

    [symbols]
    rows = [1, 1048576]

    [constexpr]
    BLOCK = 4096

    [tensors]
    x_ptr = {dtype = "fp32", shape = ["rows", "4096"], strides = ["4096", "1"]}
"""

UNSAFE = (
    Example(
        about="rows from 2**31 elements on look negative and are skipped",
        kernel="""
            @triton.jit
            def scale_rows(x_ptr, BLOCK: tl.constexpr):
                row = tl.program_id(0)
                if row * BLOCK >= 0:
                    offsets = row.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
                    x = tl.load(x_ptr + offsets)
                    tl.store(x_ptr + offsets, x * 2.0)
        """,
        launch=_LAUNCH,
        verdict=Verdict.UNSAFE,
        expression="row * BLOCK",
        largest_safe={"rows": 524288},
    ),
)

SAFE = (
    Example(
        about="the condition is about the row itself",
        kernel="""
            @triton.jit
            def scale_rows(x_ptr, BLOCK: tl.constexpr):
                row = tl.program_id(0)
                if row >= 0:
                    offsets = row.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
                    x = tl.load(x_ptr + offsets)
                    tl.store(x_ptr + offsets, x * 2.0)
        """,
        launch=_LAUNCH,
        verdict=Verdict.SAFE,
    ),
)

UNKNOWN: tuple[Example, ...] = ()
