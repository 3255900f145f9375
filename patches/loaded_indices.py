"""An index read from an int32 tensor, multiplied by a row size."""

from __future__ import annotations

import libcst as cst

from kernelscope.rewrite import Declined, Edit, Example
from kernelscope.rewrite.kernel_view import KernelView

TITLE = "indices loaded from memory become int64"
WHY = """An index loaded from an int32 tensor stays int32: `2048*tmp0` wraps even in a kernel whose other indices are
int64 (pytorch/torchtitan#2430). The index fits; its product with the row size does not."""

EXAMPLES = (
    Example(
        before="""
            @triton.jit
            def gather(i_ptr, x_ptr, y_ptr, BLOCK: tl.constexpr):
                lane = tl.arange(0, BLOCK)
                row = tl.load(
                    i_ptr + lane,  # one a lane
                )
                tl.store(y_ptr + lane, tl.load(x_ptr + 2048 * row))
        """,
        after="""
            @triton.jit
            def gather(i_ptr, x_ptr, y_ptr, BLOCK: tl.constexpr):
                lane = tl.arange(0, BLOCK)
                row = tl.load(
                    i_ptr + lane,  # one a lane
                ).to(tl.int64)
                tl.store(y_ptr + lane, tl.load(x_ptr + 2048 * row))
        """,
        types={"i_ptr": "*i32"},
    ),
)

DECLINES = (
    Example(
        before="""
            @triton.jit
            def copy(i_ptr, x_ptr, y_ptr, n, BLOCK: tl.constexpr):
                start = tl.load(i_ptr)
                source = tl.make_block_ptr(x_ptr, (n,), (1,), (start,), (BLOCK,), (0,))
                tl.store(y_ptr + start, 1.0)
        """,
        after="make_block_ptr wants int32",
        types={"i_ptr": "*i32"},
    ),
)


def widen(node: cst.Call, kernel: KernelView) -> Edit | Declined | None:
    """`tl.load(index_ptr + …)` becomes `tl.load(index_ptr + …).to(tl.int64)`."""
    if not kernel.is_language_call(node, "load") or not kernel.is_int32(node):
        return None
    if reached := kernel.reaches_int32(node):
        return Declined(f"{reached} wants int32 here")
    return kernel.widened(node, node)
