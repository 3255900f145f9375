"""`tl.cdiv` adds before it divides."""

from __future__ import annotations

import libcst as cst

from kernelscope.rewrite import Declined, Edit, Example
from kernelscope.rewrite.kernel_view import KernelView

TITLE = "ceiling divisions in the kernel are computed in int64"
WHY = """`tl.cdiv(n, BLOCK)` is `(n + BLOCK - 1) // BLOCK`: the hidden sum wraps when `n` is within a block of 2**31,
the number of tiles turns negative, and the kernel does nothing without an error (review of
pytorch/pytorch#196431)."""

EXAMPLES = (
    Example(
        before="""
            @triton.jit
            def scale(x_ptr, n, BLOCK: tl.constexpr):
                tiles = tl.cdiv(n, BLOCK)
                tl.store(x_ptr + tiles, 0.0)
        """,
        after="""
            @triton.jit
            def scale(x_ptr, n, BLOCK: tl.constexpr):
                tiles = tl.cdiv(n.to(tl.int64), BLOCK)
                tl.store(x_ptr + tiles, 0.0)
        """,
    ),
)

DECLINES = (
    Example(
        before="""
            @triton.jit
            def scale(x_ptr, BLOCK: tl.constexpr):
                tl.store(x_ptr + tl.cdiv(BLOCK, 16), 0.0)
        """,
        after="a constant fits",
    ),
)


def widen(node: cst.Call, kernel: KernelView) -> Edit | Declined | None:
    """`tl.cdiv(n, BLOCK)` becomes `tl.cdiv(n.to(tl.int64), BLOCK)`."""
    if not kernel.is_language_call(node, "cdiv") or not node.args or not kernel.in_body(node):
        return None
    if kernel.is_compile_time(node.args[0].value):
        return Declined("a constant fits")
    if reached := kernel.reaches_int32(node):
        return Declined(f"{reached} wants int32 here")
    return kernel.widened(node.args[0].value, node)
