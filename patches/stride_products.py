"""A row (or head, or page) times its stride, in int32."""

from __future__ import annotations

import libcst as cst

from kernelscope.rewrite import Declined, Edit, Example
from kernelscope.rewrite.kernel_view import KernelView

TITLE = "products with strides are computed in int64"
WHY = """Hand-written kernels and templates multiply an int32 row by an int32 stride: `row * stride` wraps before it
is added to the pointer (pytorch/pytorch#187904, NVIDIA-NeMo/Automodel#3802). One operand has to be widened, never the
finished product: `(row * stride).to(tl.int64)` comes too late."""

EXAMPLES = (
    Example(
        before="""
            @triton.jit
            def scale(x_ptr, stride, BLOCK: tl.constexpr):
                row = tl.program_id(0)
                tl.store(x_ptr + row*stride + tl.arange(0, BLOCK), 0.0)
        """,
        after="""
            @triton.jit
            def scale(x_ptr, stride, BLOCK: tl.constexpr):
                row = tl.program_id(0)
                tl.store(x_ptr + row.to(tl.int64)*stride + tl.arange(0, BLOCK), 0.0)
        """,
    ),
    Example(
        before="""
            @triton.jit
            def scale(x_ptr, stride, BLOCK: tl.constexpr):
                row = tl.program_id(0)
                tl.store(x_ptr + 4096 * (row + 1), 0.0)
        """,
        after="""
            @triton.jit
            def scale(x_ptr, stride, BLOCK: tl.constexpr):
                row = tl.program_id(0)
                tl.store(x_ptr + 4096 * (row + 1).to(tl.int64), 0.0)
        """,
    ),
)

DECLINES = (
    Example(
        before="""
            @triton.jit
            def scale(x_ptr, a, b, c, BLOCK: tl.constexpr):
                tl.store(x_ptr + a * b * c, 0.0)
        """,
        after="a finished product is not widened",
    ),
)


def widen(node: cst.BinaryOperation, kernel: KernelView) -> Edit | Declined | None:
    """`a * b` becomes `a.to(tl.int64) * b`; the first operand that is neither constant nor itself a product."""
    if not isinstance(node.operator, cst.Multiply) or not kernel.is_int32(node):
        return None
    if kernel.is_compile_time(node.left) and kernel.is_compile_time(node.right):
        return None
    if any(kernel.called(a) == "make_block_ptr" for a in kernel.ancestors(node)):
        return None  # block_pointer_bases.py
    if reached := kernel.reaches_int32(node):
        return Declined(f"{reached} wants int32 here")
    for operand in (node.left, node.right):
        if kernel.is_compile_time(operand) or kernel.called(operand) == "num_programs":
            continue
        if kernel.holds_product(operand):
            return Declined("a finished product is not widened; its own operands can be")
        return kernel.widened(operand, node)
    return None
