"""A loop counter has the type of its bounds, and steps past the last one."""

from __future__ import annotations

import libcst as cst

from kernelscope.rewrite import Declined, Edit, Example
from kernelscope.rewrite.kernel_view import KernelView

TITLE = "loop counters become int64"
WHY = """The counter of `for r0_offset in tl.range(0, r0_numel, R0_BLOCK)` has the promoted type of the bounds
(triton-lang/triton#1261). After the last tile it is stepped once more: an int32 one wraps when `r0_numel` exceeds
2**31 - R0_BLOCK, is again below the end, and the loop never ends. One 64-bit bound makes the counter int64."""

EXAMPLES = (
    Example(
        before="""
            @triton.jit
            def total(x_ptr, rnumel, BLOCK: tl.constexpr):
                for start in tl.range(0, rnumel, BLOCK):
                    index = start + tl.arange(0, BLOCK)
                    tl.store(x_ptr + index, 0.0, index < rnumel)
        """,
        after="""
            @triton.jit
            def total(x_ptr, rnumel, BLOCK: tl.constexpr):
                for start in tl.range(0, rnumel.to(tl.int64), BLOCK):
                    index = start + tl.arange(0, BLOCK)
                    tl.store(x_ptr + index, 0.0, index < rnumel)
        """,
    ),
)

DECLINES = (
    Example(
        before="""
            @triton.jit
            def total(x_ptr, BLOCK: tl.constexpr):
                for start in range(0, BLOCK, 16):
                    tl.store(x_ptr + start, 0.0)
        """,
        after="the bounds are constants",
    ),
    Example(
        before="""
            @triton.jit
            def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
                for start in range(0, n, BLOCK):
                    source = tl.make_block_ptr(x_ptr, (n,), (1,), (start,), (BLOCK,), (0,))
                    tl.store(y_ptr + start + tl.arange(0, BLOCK), tl.load(source))
        """,
        after="make_block_ptr wants int32",
    ),
)


def widen(node: cst.For, kernel: KernelView) -> Edit | Declined | None:
    """`range(0, n, BLOCK)`: the end is widened, else the start."""
    loop = node.iter
    if kernel.called(loop) not in ("range", "static_range") or not isinstance(loop, cst.Call):
        return None
    if kernel.called(loop) == "static_range":
        return Declined("a static range is unrolled when the kernel is compiled")
    if reached := kernel.int32_names.get(kernel.code(node.target)):
        return Declined(f"{reached} wants int32 for the counter")
    bounds = [a.value for a in loop.args if a.keyword is None]
    for bound in bounds[1:2] + bounds[:1]:
        if not kernel.is_compile_time(bound):
            return kernel.widened(bound, loop)
    return Declined("the bounds are constants")
