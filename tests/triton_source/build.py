"""Index programs of small kernels written in a test."""

from __future__ import annotations

from textwrap import dedent, indent

from kernelscope.triton_source import IndexProgram, build_index_program, read_declarations
from kernelscope.triton_source.scalar_types import from_signature

_HEADER = """\
import triton
import triton.language as tl
from torch._inductor.runtime import triton_helpers

@triton.jit
def twice(x):
    return x + x

@triton.jit
def kernel(p, q, n, m, stride, BLOCK: tl.constexpr):
"""
FIRST_LINE = _HEADER.count("\n") + 1
_TYPES = {"p": "*fp32", "q": "*i64", "n": "i32", "m": "i32", "stride": "i64"}


def source(body: str) -> str:
    """The text of a kernel with this body."""
    return _HEADER + indent(dedent(body).strip("\n"), "    ") + "\n"


def program(body: str, **types: str) -> IndexProgram:
    """The program of a kernel with parameters p: *fp32, q: *i64, n, m: i32, stride: i64 and BLOCK = 16."""
    declaration = read_declarations(source(body))[-1]
    kinds = {name: from_signature(kind) for name, kind in {**_TYPES, **types}.items()}
    return build_index_program(declaration, {n: k for n, k in kinds.items() if k is not None}, {"BLOCK": 16})
