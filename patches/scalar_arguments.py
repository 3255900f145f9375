"""A size that the launch narrows to int32 on its way into the kernel."""

from __future__ import annotations

import libcst as cst

from kernelscope.rewrite import Declined, Edit, Example
from kernelscope.rewrite.kernel_view import KernelView

TITLE = "scalar arguments become int64"
WHY = """The signature in `triton_meta` decides in which width a size arrives: with 'i32' the wrapper passes `int32_t
var_3 = xnumel;` and cuts off the high bits without a word (pytorch/pytorch#179333). The wrapper has to pass `int64_t`
then: patches/narrowed_arguments.py does that."""

EXAMPLES = (
    Example(
        before="""
            @triton_heuristics.pointwise(
                size_hints={'x': 1024},
                triton_meta={'signature': {'x_ptr': '*fp32', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}, 'constants': {}},
            )
            @triton.jit
            def negate(x_ptr, xnumel, XBLOCK: tl.constexpr):
                index = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)
                tl.store(x_ptr + index, 0.0, index < xnumel)
        """,
        after="""
            @triton_heuristics.pointwise(
                size_hints={'x': 1024},
                triton_meta={'signature': {'x_ptr': '*fp32', 'xnumel': 'i64', 'XBLOCK': 'constexpr'}, 'constants': {}},
            )
            @triton.jit
            def negate(x_ptr, xnumel, XBLOCK: tl.constexpr):
                index = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)
                tl.store(x_ptr + index, 0.0, index < xnumel)
        """,
    ),
)

DECLINES = (
    Example(
        before="""
            @triton_heuristics.pointwise(
                triton_meta={'signature': {'x_ptr': '*fp32', 'start': 'i32', 'BLOCK': 'constexpr'}},
            )
            @triton.jit
            def copy(x_ptr, start, BLOCK: tl.constexpr):
                target = tl.make_block_ptr(x_ptr, (4096,), (1,), (start,), (BLOCK,), (0,))
                tl.store(target, tl.zeros([BLOCK], tl.float32))
        """,
        after="make_block_ptr wants int32",
    ),
)


def widen(node: cst.DictElement, kernel: KernelView) -> Edit | Declined | None:
    """`'xnumel': 'i32'` in the signature becomes `'xnumel': 'i64'`."""
    key, value = node.key, node.value
    if not isinstance(key, cst.SimpleString) or not isinstance(value, cst.SimpleString):
        return None
    if value.raw_value not in ("i32", "u32") or not _in_signature(node, kernel):
        return None
    name = key.raw_value
    if reached := kernel.int32_names.get(name):
        return Declined(f"{reached} wants int32 for {name}")
    quote = value.quote
    return kernel.replaced(value, f"{quote}i64{quote}", value, (name,))


def _in_signature(node: cst.DictElement, kernel: KernelView) -> bool:
    table = kernel.parent(node)
    entry = kernel.parent(table) if table is not None else None
    key = entry.key if isinstance(entry, cst.DictElement) else None
    return isinstance(key, cst.SimpleString) and key.raw_value == "signature"
