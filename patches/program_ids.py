"""`tl.program_id` is int32, and so is every offset computed from it."""

from __future__ import annotations

import libcst as cst

from kernelscope.rewrite import Declined, Edit, Example
from kernelscope.rewrite.kernel_view import KernelView

TITLE = "program ids become int64"
WHY = """`tl.program_id` gives an int32 (triton 3.8, semantic.program_id), so `tl.program_id(0) * BLOCK` wraps from
2**31 on. Inductor chooses 32 or 64 bits once, by the example sizes, and AOTInductor guards nothing at run time
(pytorch/pytorch#131027, #154168). The id itself fits: it is the operand to widen, before the product."""

EXAMPLES = (
    Example(
        before="""
            @triton.jit
            def negate(x_ptr, n, BLOCK: tl.constexpr):
                offset = tl.program_id(0) * BLOCK  # first element
                index = offset + tl.arange(0, BLOCK)
                tl.store(x_ptr + index, 0.0, index < n)
        """,
        after="""
            @triton.jit
            def negate(x_ptr, n, BLOCK: tl.constexpr):
                offset = tl.program_id(0).to(tl.int64) * BLOCK  # first element
                index = offset + tl.arange(0, BLOCK)
                tl.store(x_ptr + index, 0.0, index < n)
        """,
    ),
)

DECLINES = (
    Example(
        before="""
            @triton.jit
            def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
                row = tl.program_id(0)
                source = tl.make_block_ptr(x_ptr, (n,), (1,), (row * BLOCK,), (BLOCK,), (0,))
                tl.store(y_ptr + tl.arange(0, BLOCK), tl.load(source))
        """,
        after="make_block_ptr wants int32",
    ),
)


def widen(node: cst.Call, kernel: KernelView) -> Edit | Declined | None:
    """`tl.program_id(0)` becomes `tl.program_id(0).to(tl.int64)`."""
    if not kernel.is_language_call(node, "program_id") or not kernel.is_int32(node):
        return None
    if reached := kernel.reaches_int32(node):
        return Declined(f"{reached} wants int32 here")
    return kernel.widened(node, node)
