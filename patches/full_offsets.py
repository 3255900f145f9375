"""An offset that is made a tensor of int32."""

from __future__ import annotations

import libcst as cst

from kernelscope.rewrite import Declined, Edit, Example
from kernelscope.rewrite.kernel_view import KernelView

TITLE = "offsets made tensors keep 64 bits"
WHY = """Kernels without an x block write `xindex = tl.full([1], xoffset, tl.int32)` (split scans in torch 2.14,
persistent reductions of one row in 2.8): the offset is narrowed even where it was computed in 64 bits."""

EXAMPLES = (
    Example(
        before="""
            @triton.jit
            def fill(x_ptr, XBLOCK: tl.constexpr):
                xoffset = tl.program_id(1) * XBLOCK
                xindex = tl.full([1], xoffset, tl.int32)
                tl.store(x_ptr + xindex, 0.0)
        """,
        after="""
            @triton.jit
            def fill(x_ptr, XBLOCK: tl.constexpr):
                xoffset = tl.program_id(1) * XBLOCK
                xindex = tl.full([1], xoffset, tl.int64)
                tl.store(x_ptr + xindex, 0.0)
        """,
    ),
)

DECLINES = (
    Example(
        before="""
            @triton.jit
            def fill(x_ptr, BLOCK: tl.constexpr):
                tl.store(x_ptr + tl.full([1], 0, tl.int32), 0.0)
        """,
        after="a constant fits",
    ),
)


def widen(node: cst.Call, kernel: KernelView) -> Edit | Declined | None:
    """`tl.full(shape, offset, tl.int32)` names int64 instead."""
    if not kernel.is_language_call(node, "full"):
        return None
    given = {a.keyword.value if a.keyword is not None else place: a.value for place, a in enumerate(node.args)}
    value, kind = given.get("value", given.get(1)), given.get("dtype", given.get(2))
    if value is None or kind is None or kernel.code(kind) != f"{kernel.language}.int32":
        return None
    if kernel.is_compile_time(value):
        return Declined("a constant fits")
    if reached := kernel.reaches_int32(node):
        return Declined(f"{reached} wants int32 here")
    return kernel.replaced(kind, f"{kernel.language}.int64", node)
