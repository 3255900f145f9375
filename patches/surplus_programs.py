"""The y offset of a grid that is split over y and z, recombined in int32."""

from __future__ import annotations

import libcst as cst

from kernelscope.rewrite import Declined, Edit, Example
from kernelscope.rewrite.kernel_view import KernelView

TITLE = "the recombined y program id becomes int64"
WHY = """Where `ynumel` needs more than 65535 programs, Inductor splits the grid over y and z and rounds up: the last
z layer has surplus programs whose offset lies beyond `ynumel`. In int32 that offset wraps negative and passes `yindex
< ynumel` (seen in torch 2.8 to 2.14, up to 1,984 elements before 2**31). The recombined id fits; its product with
YBLOCK does not."""

EXAMPLES = (
    Example(
        before="""
            @triton.jit
            def negate(x_ptr, ynumel, YBLOCK: tl.constexpr):
                yoffset = (tl.program_id(1) + tl.program_id(2) * tl.num_programs(1)) * YBLOCK
                yindex = yoffset + tl.arange(0, YBLOCK)[:]
                tl.store(x_ptr + yindex, 0.0, yindex < ynumel)
        """,
        after="""
            @triton.jit
            def negate(x_ptr, ynumel, YBLOCK: tl.constexpr):
                yoffset = (tl.program_id(1) + tl.program_id(2) * tl.num_programs(1)).to(tl.int64) * YBLOCK
                yindex = yoffset + tl.arange(0, YBLOCK)[:]
                tl.store(x_ptr + yindex, 0.0, yindex < ynumel)
        """,
    ),
)

DECLINES = (
    Example(
        before="""
            @triton.jit
            def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
                y = (tl.program_id(1) + tl.program_id(2) * tl.num_programs(1)) * BLOCK
                source = tl.make_block_ptr(x_ptr, (n,), (1,), (y,), (BLOCK,), (0,))
                tl.store(y_ptr + tl.arange(0, BLOCK), tl.load(source))
        """,
        after="make_block_ptr wants int32",
    ),
)


def widen(node: cst.BinaryOperation, kernel: KernelView) -> Edit | Declined | None:
    """`(pid_y + pid_z * num_y) * YBLOCK`: the sum is widened."""
    if not isinstance(node.operator, cst.Add) or not kernel.is_int32(node):
        return None
    if not kernel.is_language_call(node.left, "program_id") or not isinstance(node.right, cst.BinaryOperation):
        return None
    if not kernel.is_language_call(node.right.left, "program_id"):
        return None
    if not kernel.is_language_call(node.right.right, "num_programs"):
        return None
    if reached := kernel.reaches_int32(node):
        return Declined(f"{reached} wants int32 here")
    return kernel.widened(node, node)
