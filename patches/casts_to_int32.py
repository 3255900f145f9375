"""An index that is cast to int32 on purpose."""

from __future__ import annotations

import libcst as cst

from kernelscope.rewrite import Declined, Edit, Example
from kernelscope.rewrite.kernel_view import KernelView

TITLE = "casts of index values to int32 become casts to int64"
WHY = """Inductor 2.14 writes an index that is used as a value in the kernel's index dtype, `(ks1).to(tl.int32)`: a
size of 2**31 or more loses its high bits there, whatever the types around it."""

EXAMPLES = (
    Example(
        before="""
            @triton.jit
            def cat(x_ptr, ks1, BLOCK: tl.constexpr):
                lane = tl.arange(0, BLOCK)
                tmp0 = (ks1).to(tl.int32)
                tl.store(x_ptr + lane, 0.0, lane < tmp0)
        """,
        after="""
            @triton.jit
            def cat(x_ptr, ks1, BLOCK: tl.constexpr):
                lane = tl.arange(0, BLOCK)
                tmp0 = (ks1).to(tl.int64)
                tl.store(x_ptr + lane, 0.0, lane < tmp0)
        """,
        types={"ks1": "i64"},
    ),
)

DECLINES = (
    Example(
        before="""
            @triton.jit
            def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
                start = (n // 2).to(tl.int32)
                source = tl.make_block_ptr(x_ptr, (n,), (1,), (start,), (BLOCK,), (0,))
                tl.store(y_ptr + start + tl.arange(0, BLOCK), tl.load(source))
        """,
        after="make_block_ptr wants int32",
        types={"n": "i64"},
    ),
)


def widen(node: cst.Call, kernel: KernelView) -> Edit | Declined | None:
    """`x.to(tl.int32)` and `tl.cast(x, tl.int32)` name int64 instead."""
    if kernel.called(node) == "to" and not kernel.is_language_call(node, "to"):
        kind = next((a.value for a in node.args if a.keyword is None or a.keyword.value == "dtype"), None)
        value = node.func.value if isinstance(node.func, cst.Attribute) else node
    elif kernel.is_language_call(node, "cast") and len(node.args) > 1:
        kind, value = node.args[1].value, node.args[0].value
    else:
        return None
    if kind is None or kernel.code(kind) != f"{kernel.language}.int32":
        return None
    if not kernel.is_int32(node) and not kernel.is_int32_value(value):
        return None
    if any(a.keyword is not None and a.keyword.value == "bitcast" for a in node.args):
        return Declined("the bits are reinterpreted, not converted")
    if reached := kernel.reaches_int32(node):
        return Declined(f"{reached} wants int32 here")
    return kernel.replaced(kind, f"{kernel.language}.int64", node)
