"""`tl.arange` is int32, and so is what is computed from it alone."""

from __future__ import annotations

import libcst as cst

from kernelscope.rewrite import Declined, Edit, Example
from kernelscope.rewrite.kernel_view import KernelView

TITLE = "aranges become int64"
WHY = """`tl.arange` gives int32 lanes whatever it is added to (triton 3.8). A lane times a large stride wraps
although no program id is involved. In its 64-bit mode Inductor writes `tl.arange(0, XBLOCK)[:].to(tl.int64)` (torch
2.8 to 2.14)."""

EXAMPLES = (
    Example(
        before="""
            @triton.jit
            def column(x_ptr, stride, BLOCK: tl.constexpr):
                row = tl.arange(0, BLOCK)[:, None]
                tl.store(x_ptr + row * stride, 0.0)
        """,
        after="""
            @triton.jit
            def column(x_ptr, stride, BLOCK: tl.constexpr):
                row = tl.arange(0, BLOCK)[:, None].to(tl.int64)
                tl.store(x_ptr + row * stride, 0.0)
        """,
    ),
)

DECLINES = (
    Example(
        before="""
            @triton.jit
            def gather(x_desc, y_ptr, BLOCK: tl.constexpr):
                rows = tl.arange(0, BLOCK)
                values = tl.load_tensor_descriptor(x_desc, [rows, 0])
                tl.store(y_ptr + rows, 0.0)
        """,
        after="load_tensor_descriptor wants int32",
    ),
)


def widen(node: cst.Call, kernel: KernelView) -> Edit | Declined | None:
    """`tl.arange(0, BLOCK)[:, None]` becomes `tl.arange(0, BLOCK)[:, None].to(tl.int64)`."""
    if not kernel.is_language_call(node, "arange") or not kernel.is_int32(node):
        return None
    if reached := kernel.reaches_int32(node):
        return Declined(f"{reached} wants int32 here")
    above = kernel.parent(node)
    whole = above if isinstance(above, cst.Subscript) and above.value is node else node
    return kernel.widened(whole, node)
