"""The index dtype that a template was generated with."""

from __future__ import annotations

import libcst as cst

from kernelscope.rewrite import Declined, Edit, Example
from kernelscope.rewrite.kernel_view import KernelView

TITLE = "a template's INDEX_DTYPE becomes int64"
WHY = """Inductor's templates (mm, convolution, flex attention) cast their program ids to INDEX_DTYPE, which is chosen
like the index dtype of other kernels: by the example sizes (torch 2.14, select_algorithm.py)."""

EXAMPLES = (
    Example(
        before="""
            @triton.jit
            def triton_tem_mm(x_ptr, n, BLOCK: tl.constexpr):
                INDEX_DTYPE : tl.constexpr = tl.int32
                index = tl.program_id(0).to(INDEX_DTYPE) * BLOCK
                tl.store(x_ptr + index, 0.0)
        """,
        after="""
            @triton.jit
            def triton_tem_mm(x_ptr, n, BLOCK: tl.constexpr):
                INDEX_DTYPE : tl.constexpr = tl.int64
                index = tl.program_id(0).to(INDEX_DTYPE) * BLOCK
                tl.store(x_ptr + index, 0.0)
        """,
    ),
)

DECLINES = (
    Example(
        before="""
            @triton.jit
            def triton_tem_mm(x_ptr, n, BLOCK: tl.constexpr):
                INDEX_DTYPE : tl.constexpr = tl.int64
                tl.store(x_ptr + tl.program_id(0).to(INDEX_DTYPE) * BLOCK, 0.0)
        """,
        after="already tl.int64",
    ),
)


def widen(node: cst.AnnAssign, kernel: KernelView) -> Edit | Declined | None:
    """`INDEX_DTYPE : tl.constexpr = tl.int32` names int64 instead."""
    if kernel.code(node.target) != "INDEX_DTYPE" or node.value is None:
        return None
    if kernel.code(node.value) != f"{kernel.language}.int32":
        return Declined(f"already {kernel.code(node.value)}")
    return kernel.replaced(node.value, f"{kernel.language}.int64", node)
