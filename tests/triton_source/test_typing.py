"""Types of expressions, without triton at hand."""

from __future__ import annotations

import pytest

from kernelscope.triton_source.index_program import Cast, Constant, Node, PointerAdd
from kernelscope.triton_source.source_text import expression_text, render
from tests.triton_source.build import program, source


def _offset(expression: str, **types: str) -> Node:
    """The offset of `tl.load(p + (expression))`."""
    built = program(f"tl.load(p + ({expression}))", **types)
    assert not built.unmodelled
    assert not built.compile_errors
    pointer = built.accesses[-1].pointer
    assert isinstance(pointer, PointerAdd)
    return pointer.offset


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("n * m", "int32"),
        ("n * stride", "int64"),
        ("n * 4096", "int32"),
        ("n.to(tl.int64) * m", "int64"),
        ("(n * m).to(tl.int64)", "int64"),
        ("tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)", "int32"),
        ("tl.full([BLOCK], 0, tl.int64) + n", "int64"),
        ("n.to(tl.uint32) + m", "uint32"),
        ("n.to(tl.uint32) + stride", "int64"),
        ("n.to(tl.uint32) * 2", "uint32"),
        ("tl.cdiv(n, 16)", "int32"),
        ("tl.minimum(n, stride)", "int64"),
        ("3000000000 + stride", "int64"),
        ("tl.load(q + n)", "int64"),
        ("(n < m) + n", "int32"),
        ("tl.where(n < m, n, stride)", "int64"),
        ("tl.sum(tl.arange(0, BLOCK), 0)", "int32"),
        ("twice(n)", "int32"),
        ("tl.swizzle2d(n, m, 4, 4, 2)[0]", "int32"),
        ("triton_helpers.div_floor_integer(n, m)", "int32"),
        ("n if m > 3 else m", "int32"),
    ],
)
def test_type_of_an_expression(expression: str, kind: str) -> None:
    assert _offset(expression).type.name == kind


@pytest.mark.parametrize(
    ("statements", "kind"),
    [
        ("x = 2147483647", "int32"),
        ("x = 2147483648", "uint32"),
        ("x = 4294967296", "int64"),
        ("x = -2147483649", "int64"),
    ],
)
def test_a_number_in_a_variable_gets_its_own_type(statements: str, kind: str) -> None:
    built = program(f"{statements}\ntl.load(p + x)")
    pointer = built.accesses[0].pointer
    assert isinstance(pointer, PointerAdd)
    assert pointer.offset.type.name == kind


def test_a_number_in_a_constexpr_takes_the_other_side() -> None:
    built = program("x: tl.constexpr = 3000000000\ntl.load(p + (x + stride))")
    pointer = built.accesses[0].pointer
    assert isinstance(pointer, PointerAdd)
    assert pointer.offset.type.name == "int64"


@pytest.mark.parametrize(
    "expression",
    ["n + 2147483648", "n * -2779057358", "n.to(tl.uint32) - 1 + -1", "n // n.to(tl.uint32)", "n.to(tl.int8) + 300"],
)
def test_what_triton_rejects_does_not_compile(expression: str) -> None:
    assert program(f"tl.load(p + ({expression}))").compile_errors


def test_constants_fold_only_where_they_fit() -> None:
    assert isinstance(_offset("tl.full([], 3, tl.int32) * 4"), Constant)
    assert not isinstance(_offset("tl.full([], 65536, tl.int32) * 65536"), Constant)


def test_implicit_conversions_are_explicit_nodes() -> None:
    node = _offset("n + stride")
    casts = [side for side in (getattr(node, "left", None), getattr(node, "right", None)) if isinstance(side, Cast)]
    assert [cast.implicit for cast in casts] == [True]


def test_spans_are_in_characters() -> None:
    body = 'x = "é"; tl.load(p + (n * m))'
    built = program(body)
    pointer = built.accesses[0].pointer
    assert isinstance(pointer, PointerAdd)
    assert expression_text(source(body), pointer.offset.span) == "n * m"
    assert render(pointer) == "p + (n * m)"


def test_indented_text_keeps_its_columns() -> None:
    from kernelscope.triton_source import build_index_program, read_declarations
    from kernelscope.triton_source.scalar_types import FLOAT32, INT32, PointerType

    text = "\n    @triton.jit\n    def kernel(p, n):\n        tl.store(p + n * n, 0.0)\n"
    built = build_index_program(read_declarations(text)[0], {"p": PointerType(FLOAT32), "n": INT32}, {})
    pointer = built.accesses[0].pointer
    assert isinstance(pointer, PointerAdd)
    assert expression_text(text, pointer.offset.span) == "n * n"
