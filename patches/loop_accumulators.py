"""The start value of a variable that a loop changes, where the loop makes it int64."""

from __future__ import annotations

import libcst as cst

from kernelscope.rewrite import Declined, Edit, Example
from kernelscope.rewrite.kernel_view import KernelView

TITLE = "start values of what loops change become int64"
WHY = """Triton wants a variable to have one type before and in a loop ("Loop-carried variable has initial type int32
but is re-assigned to int64"). Where a cast widens what the loop computes, its start value has to be widened with it;
the largest int32, with which Inductor starts the index of an argmax, becomes the largest int64 (torch 2.8 to
2.14)."""

EXAMPLES = (
    Example(
        before="""
            @triton.jit
            def largest(x_ptr, n, BLOCK: tl.constexpr):
                best = tl.full([BLOCK], 2147483647, tl.int32)
                seen = 0
                for start in tl.range(0, n, BLOCK):
                    best = tl.where(start < best, start, best)
                    seen += start
                tl.store(x_ptr + best + seen, 0.0)
        """,
        after="""
            @triton.jit
            def largest(x_ptr, n, BLOCK: tl.constexpr):
                best = tl.full([BLOCK], 9223372036854775807, tl.int64)
                seen = tl.full([], 0, tl.int64)
                for start in tl.range(0, n, BLOCK):
                    best = tl.where(start < best, start, best)
                    seen += start
                tl.store(x_ptr + best + seen, 0.0)
        """,
    ),
)

DECLINES = (
    Example(
        before="""
            @triton.jit
            def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
                at = 0
                for step in range(0, n):
                    source = tl.make_block_ptr(x_ptr, (n,), (1,), (at,), (BLOCK,), (0,))
                    tl.store(y_ptr + tl.arange(0, BLOCK), tl.load(source))
                    at += BLOCK
        """,
        after="make_block_ptr wants int32",
    ),
)

_LARGEST = {"2147483647": "9223372036854775807", "-2147483648": "-9223372036854775808"}


def widen(node: cst.Assign, kernel: KernelView) -> Edit | Declined | None:
    """`x = 0` becomes `x = tl.full([], 0, tl.int64)`; `tl.full` and `tl.zeros` name int64."""
    if len(node.targets) != 1 or not isinstance(node.targets[0].target, cst.Name) or not kernel.in_body(node):
        return None
    name, value, language = node.targets[0].target.value, node.value, kernel.language
    if not kernel.is_changed_by_a_loop(name, node):
        return None
    if isinstance(value, cst.Integer):
        if reached := kernel.int32_names.get(name):
            return Declined(f"{reached} wants int32 for {name}")
        return kernel.replaced(value, f"{language}.full([], {value.value}, {language}.int64)", node)
    if not kernel.is_language_call(value, "full", "zeros") or not isinstance(value, cst.Call):
        return None
    given = {a.keyword.value if a.keyword is not None else place: a.value for place, a in enumerate(value.args)}
    is_full = kernel.is_language_call(value, "full")
    kind = given.get("dtype", given.get(2 if is_full else 1))
    if kind is None or kernel.code(kind) != f"{language}.int32":
        return None
    if reached := kernel.int32_names.get(name):
        return Declined(f"{reached} wants int32 for {name}")
    edit = kernel.replaced(kind, f"{language}.int64", node)
    start = given.get("value", given.get(1)) if is_full else None
    largest = _LARGEST.get(kernel.code(start)) if start is not None else None
    if start is None or largest is None:
        return edit
    return Edit((*kernel.replaced(start, largest, node).replacements, *edit.replacements), edit.site)
