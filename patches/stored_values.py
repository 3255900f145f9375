"""An integer that is stored is computed in int32."""

from __future__ import annotations

import libcst as cst

from kernelscope.rewrite import Declined, Edit, Example
from kernelscope.rewrite.kernel_view import KernelView

TITLE = "stored integers are computed in int64"
WHY = """The addresses may all fit and the value not: a position or a flattened index is computed in int32 and widened
at the store to an int64 tensor, after it has wrapped (pytorch/pytorch#175966, #183901)."""

EXAMPLES = (
    Example(
        before="""
            @triton.jit
            def positions(out_ptr, start, BLOCK: tl.constexpr):
                lane = tl.arange(0, BLOCK)
                tl.store(out_ptr + lane, start + lane)
        """,
        after="""
            @triton.jit
            def positions(out_ptr, start, BLOCK: tl.constexpr):
                lane = tl.arange(0, BLOCK)
                tl.store(out_ptr + lane, start.to(tl.int64) + lane)
        """,
        types={"out_ptr": "*i64"},
    ),
    Example(
        before="""
            @triton.jit
            def powers(out_ptr, BLOCK: tl.constexpr):
                lane = tl.arange(0, BLOCK)
                tl.store(out_ptr + lane, lane << 28)
        """,
        after="""
            @triton.jit
            def powers(out_ptr, BLOCK: tl.constexpr):
                lane = tl.arange(0, BLOCK)
                tl.store(out_ptr + lane, lane.to(tl.int64) << 28)
        """,
        types={"out_ptr": "*i64"},
    ),
)

DECLINES = (
    Example(
        before="""
            @triton.jit
            def positions(out_ptr, a, b, BLOCK: tl.constexpr):
                lane = tl.arange(0, BLOCK)
                tl.store(out_ptr + lane, a * b + 1)
        """,
        after="a finished product is not widened",
        types={"out_ptr": "*i64"},
    ),
)


def widen(node: cst.BinaryOperation, kernel: KernelView) -> Edit | Declined | None:
    """`a + b`, `a - b`, `a << b` of which a stored value is made (products: stride_products.py)."""
    if not isinstance(node.operator, (cst.Add, cst.Subtract, cst.LeftShift)) or not kernel.is_int32(node):
        return None
    if not kernel.is_stored(node):
        return None
    if reached := kernel.reaches_int32(node):
        return Declined(f"{reached} wants int32 here")
    shifted = isinstance(node.operator, cst.LeftShift)
    declined: Declined | None = None
    for operand in (node.left,) if shifted else (node.left, node.right):
        if kernel.is_compile_time(operand):
            continue
        if isinstance(operand, cst.BinaryOperation):
            declined = Declined("a finished product is not widened; its own operands can be")
            continue
        return kernel.widened(operand, node)
    return declined
