"""Every operator on every pair of types and on literals: typed, or rejected, as Triton does."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest

from kernelscope.triton_source import build_index_program, read_declarations
from kernelscope.triton_source.index_program import IndexProgram
from kernelscope.triton_source.scalar_types import from_signature
from tests.triton_source.inferred_operations import inferred_operations

pytest.importorskip("triton")

pytestmark = [pytest.mark.torch, pytest.mark.slow]

_TYPES = ("i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "fp32")
_OPERATIONS = (
    "x + y", "x - y", "x * y", "x // y", "x % y", "x / y", "x & y", "x | y", "x ^ y", "x << y", "x >> y", "x < y",
    "x >= y", "x == y", "x != y", "tl.minimum(x, y)", "tl.where(x > 0, x, y)", "tl.cdiv(x, y)", "min(x, y)",
    "(x * y).to(tl.int64) + y", "triton_helpers.div_floor_integer(x, y)", "triton_helpers.remainder_integer(x, y)",
    "tl.load(p + x + y)", "tl.full([4], x, tl.int64) + y", "x and y", "not x",
)  # fmt: skip
_LITERALS = ("-1", "5", "300", "2147483648", "4294967297", "-2147483649", "9223372036854775808", "True", "2.5")

_HEADER = """
import triton
import triton.language as tl
from torch._inductor.runtime import triton_helpers


@triton.jit
def kernel(p, x, y):
"""


def _text(lines: list[str]) -> str:
    return _HEADER + "".join(f"    r{number} = {line}\n" for number, line in enumerate(lines))


def _program(text: str, types: dict[str, str]) -> IndexProgram:
    (declaration,) = read_declarations(text)
    kinds = {name: kind for name, text_ in types.items() if (kind := from_signature(text_)) is not None}
    return build_index_program(declaration, kinds, {})


def _ir(text: str, types: dict[str, str], folder: Path) -> Counter[tuple[int, str, int]]:
    from tests.triton_source.triton_ir import import_kernel, operations_by_line, unoptimised_ir

    (declaration,) = read_declarations(text)
    function, file_name = import_kernel(declaration, text, folder)
    return operations_by_line(unoptimised_ir(function, types, {}), "kernel", file_name)


def _check(operations: list[str], types: dict[str, str], folder: Path) -> None:
    accepted = [line for line in operations if not _program(_text([line]), types).compile_errors]
    text = _text(accepted)
    assert inferred_operations(_program(text, types)) == _ir(text, types, folder)
    for line in set(operations) - set(accepted):
        with pytest.raises(Exception, match=r"at [12]:"):
            _ir(_text([line]), types, folder)


@pytest.mark.parametrize(("left", "right"), list(itertools.product(_TYPES, _TYPES)))
def test_pair_of_types(left: str, right: str, tmp_path: Path) -> None:
    _check(list(_OPERATIONS), {"p": "*fp32", "x": left, "y": right}, tmp_path)


@pytest.mark.parametrize(("kind", "literal"), list(itertools.product(_TYPES, _LITERALS)))
def test_literal_beside_a_type(kind: str, literal: str, tmp_path: Path) -> None:
    operations = [line.replace("y", f"({literal})") for line in _OPERATIONS if "(y" not in line]
    operations += [line.replace("x +", f"({literal}) +").replace("y", "x") for line in ("x + y", "x * y", "x < y")]
    _check(operations, {"p": "*fp32", "x": kind, "y": "i32"}, tmp_path)
