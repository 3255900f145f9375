"""The place of a row in a split scan's workspace, in int32."""

from __future__ import annotations

import libcst as cst

from kernelscope.rewrite import Declined, Edit, Example
from kernelscope.rewrite.kernel_view import KernelView

TITLE = "workspace offsets of scans become int64"
WHY = """A split scan finds its workspace at `xoffset * 1 * tl.num_programs(0)`, in int32 unless `xoffset` is wider.
Inductor's own 64-bit mode widens the program id of the scan helper too, which the helper rejects (CompilationError in
exclusive_scan_decoupled_lookback, torch 2.8 to 2.14): that one has to stay int32."""

EXAMPLES = (
    Example(
        before="""
            @triton.jit
            def scan(ws_ptr, x_ptr, XBLOCK: tl.constexpr):
                xoffset = tl.program_id(1) * XBLOCK
                tl.store(ws_ptr + xoffset * 1 * tl.num_programs(0), 0.0)
        """,
        after="""
            @triton.jit
            def scan(ws_ptr, x_ptr, XBLOCK: tl.constexpr):
                xoffset = tl.program_id(1) * XBLOCK
                tl.store(ws_ptr + xoffset.to(tl.int64) * 1 * tl.num_programs(0), 0.0)
        """,
    ),
)

DECLINES = (
    Example(
        before="""
            @triton.jit
            def scan(ws_ptr, x_ptr, XBLOCK: tl.constexpr):
                tl.store(ws_ptr + 2 * XBLOCK * tl.num_programs(0), 0.0)
        """,
        after="no operand but constants and the grid",
    ),
)


def widen(node: cst.BinaryOperation, kernel: KernelView) -> Edit | Declined | None:
    """`xoffset * 1 * tl.num_programs(0)`: the innermost operand that is no constant is widened."""
    if not isinstance(node.operator, cst.Multiply) or not kernel.is_language_call(node.right, "num_programs"):
        return None
    if not kernel.is_int32(node) or kernel.is_language_call(node.left, "program_id"):
        return None
    for operand in _factors(node.left):
        if not kernel.is_compile_time(operand):
            return kernel.widened(operand, node)
    return Declined("no operand but constants and the grid")


def _factors(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply):
        return [*_factors(node.left), *_factors(node.right)]
    return [node]
