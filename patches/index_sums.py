"""Sums of index terms that each fit, in int32."""

from __future__ import annotations

import libcst as cst

from kernelscope.rewrite import Declined, Edit, Example
from kernelscope.rewrite.kernel_view import KernelView

TITLE = "sums of index terms are computed in int64"
WHY = """A row's offset and a column may each fit in int32 and their sum not: `pointer + (a + b)` fails earlier than
`(pointer + a) + b`, since Triton extends each offset to 64 bits only when it is added to a pointer."""

EXAMPLES = (
    Example(
        before="""
            @triton.jit
            def scale(x_ptr, start, BLOCK: tl.constexpr):
                index = start + tl.arange(0, BLOCK)
                tl.store(x_ptr + index, 0.0)
        """,
        after="""
            @triton.jit
            def scale(x_ptr, start, BLOCK: tl.constexpr):
                index = start.to(tl.int64) + tl.arange(0, BLOCK)
                tl.store(x_ptr + index, 0.0)
        """,
    ),
)

DECLINES = (
    Example(
        before="""
            @triton.jit
            def scale(x_ptr, a, b, BLOCK: tl.constexpr):
                tl.store(x_ptr + (a * b - 1), 0.0)
        """,
        after="a finished product is not widened",
    ),
)


def widen(node: cst.BinaryOperation, kernel: KernelView) -> Edit | Declined | None:
    """`a + b` and `a - b`: the first operand that is neither constant nor a product is widened."""
    if not isinstance(node.operator, (cst.Add, cst.Subtract)) or not kernel.is_int32(node):
        return None
    if kernel.is_stored(node) or kernel.is_language_call(node.left, "program_id"):
        return None  # stored_values.py, surplus_programs.py
    if reached := kernel.reaches_int32(node):
        return Declined(f"{reached} wants int32 here")
    declined: Declined | None = None
    for operand in (node.left, node.right):
        if kernel.is_compile_time(operand):
            continue
        if isinstance(operand, cst.BinaryOperation) or kernel.called(operand) in ("load", "arange"):
            declined = Declined("a finished product is not widened; its own operands can be")
            continue
        return kernel.widened(operand, node)
    return declined
