"""The base of a block pointer, computed in int32."""

from __future__ import annotations

import libcst as cst

from kernelscope.rewrite import Declined, Edit, Example
from kernelscope.rewrite.kernel_view import KernelView

TITLE = "bases of block pointers are computed in int64"
WHY = """Inside a block pointer offsets are extended to 64 bits, but its base is ordinary arithmetic: `(bos * H + i_h)
* K` wraps with the last batch (fla-org/flash-linear-attention#1080). Offsets and block shape have to stay int32:
triton rejects int64 there ("Block pointers only support 32 bit `offsets/block_shape`")."""

EXAMPLES = (
    Example(
        before="""
            @triton.jit
            def rows(k_ptr, T, H, BT: tl.constexpr):
                batch = tl.program_id(1)
                p = tl.make_block_ptr(
                    k_ptr + (batch * T + 1) * H,
                    (T, 64), (64, 1), (H * BT, 0), (BT, 64), (1, 0),
                )
                tl.store(p, tl.zeros([BT, 64], tl.float32))
        """,
        after="""
            @triton.jit
            def rows(k_ptr, T, H, BT: tl.constexpr):
                batch = tl.program_id(1)
                p = tl.make_block_ptr(
                    k_ptr + (batch.to(tl.int64) * T + 1) * H,
                    (T, 64), (64, 1), (H * BT, 0), (BT, 64), (1, 0),
                )
                tl.store(p, tl.zeros([BT, 64], tl.float32))
        """,
    ),
)

DECLINES = (
    Example(
        before="""
            @triton.jit
            def rows(k_ptr, T, BT: tl.constexpr):
                p = tl.make_block_ptr(k_ptr, (T, 64), (64, 1), (tl.program_id(0) * BT, 0), (BT, 64), (1, 0))
                tl.store(p, tl.zeros([BT, 64], tl.float32))
        """,
        after="make_block_ptr wants int32",
    ),
)


def widen(node: cst.BinaryOperation, kernel: KernelView) -> Edit | Declined | None:
    """A product in the base: an operand is widened. In offsets: declined."""
    if not isinstance(node.operator, cst.Multiply):
        return None
    if not any(kernel.called(a) == "make_block_ptr" for a in kernel.ancestors(node)):
        return None
    if reached := kernel.is_coordinate(node):
        return Declined(f"{reached} wants int32 here")
    if not kernel.is_int32(node):
        return None
    for operand in (node.left, node.right):
        if kernel.is_compile_time(operand):
            continue
        if kernel.holds_product(operand):
            return Declined("a finished product is not widened; its own operands can be")
        return kernel.widened(operand, node)
    return None
