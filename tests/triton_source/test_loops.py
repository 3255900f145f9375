"""Loops: counters, variables that move by a constant, and those that are not followed."""

from __future__ import annotations

import pytest

from kernelscope.triton_source.index_program import Carried, Cast, Node, Opaque, PointerAdd
from kernelscope.triton_source.source_text import render
from tests.triton_source.build import program


def _carried(node: Node) -> Carried:
    while isinstance(node, PointerAdd):
        node = node.offset if isinstance(node.offset, Carried) else node.pointer
    assert isinstance(node, Carried)
    return node


@pytest.mark.parametrize(
    ("bounds", "texts", "kind"),
    [
        ("range(n)", ("0", "n", "1"), "int32"),
        ("range(0, n, BLOCK)", ("0", "n", "16"), "int32"),
        ("tl.range(n, stride, 2)", ("n", "stride", "2"), "int64"),
        ("tl.range(0, tl.cdiv(n, BLOCK), num_stages=2)", ("0", "(n + 15) // 16", "1"), "int32"),
        ("range(n, 0, -1)", ("n", "0", "-1"), "int32"),
        ("range(0, n.to(tl.uint32))", ("0", "n.to(uint32)", "1"), "int32"),
        ("range(stride, n.to(tl.uint32))", ("stride", "n.to(uint32)", "1"), "int64"),
    ],
)
def test_bounds_and_counter_type(bounds: str, texts: tuple[str, ...], kind: str) -> None:
    built = program(f"for i in {bounds}:\n    tl.load(p + i)")
    (loop,) = built.loops
    ends = (loop.start, loop.end, loop.step)
    assert tuple(render(end) for end in ends if end is not None) == texts
    assert loop.counter_type.name == kind
    assert built.accesses[0].loops == (0,)


def test_an_unsigned_counter_is_one_of_a_signed_loop() -> None:
    built = program("for i in range(0, n.to(tl.uint32)):\n    tl.load(p + i)")
    offset = built.accesses[0].pointer.offset  # type: ignore[union-attr]
    assert (offset.type.name, built.loops[0].counter_type.name) == ("uint32", "int32")


def test_a_bound_is_widened_with_the_sign_of_the_counter() -> None:
    end = program("for i in range(stride, n.to(tl.uint32)):\n    tl.load(p + i)").loops[0].end
    assert isinstance(end, Cast) and isinstance(end.operand, Cast)
    assert (end.type.name, end.operand.type.name, end.operand.operand.type.name) == ("int64", "int32", "uint32")


@pytest.mark.parametrize("step", ["-1", "0"])
def test_a_step_that_is_negative_only_when_the_kernel_runs_is_not_followed(step: str) -> None:
    built = program(f"s = {step}\nfor i in range(n, 0, s):\n    tl.load(p + i)")
    assert isinstance(built.loops[0].step, Opaque) and len(built.unmodelled) == 1


@pytest.mark.parametrize(
    ("update", "step"),
    [("x += BLOCK", "16"), ("x = x + n", "n"), ("x = n + x", "n"), ("x -= n", "-n"), ("x += n\n    x += 2", "n + 2")],
)
def test_an_integer_that_moves_by_a_constant(update: str, step: str) -> None:
    built = program(f"x = m\nfor i in range(0, n):\n    tl.load(p + x)\n    {update}\ntl.load(p + x)")
    inside, after = (_carried(access.pointer) for access in built.accesses)
    assert (render(inside.initial), render(inside.step), inside.after) == ("m", step, False)
    assert (render(after.initial), render(after.step), after.after) == ("m", step, True)


def test_a_pointer_that_moves_by_a_constant() -> None:
    built = program("for i in range(0, n):\n    tl.load(p)\n    p += m * BLOCK")
    carried = _carried(built.accesses[0].pointer)
    assert (carried.type.name, render(carried.initial), render(carried.step)) == ("pointer<float32>", "p", "m * 16")


def test_a_step_from_outside_loops_may_be_loaded() -> None:
    built = program("s = tl.load(q)\nx = n\nfor i in range(0, n):\n    tl.load(p + (x + s))\n    x += m")
    assert len(built.accesses) == 2


@pytest.mark.parametrize(
    "update", ["x = x * 2", "x += i", "x += tl.load(q + i).to(tl.int32)", "x = i", "x = tl.where(i > 3, x + 1, x)"]
)
def test_what_is_not_a_constant_step_is_opaque(update: str) -> None:
    built = program(f"x = m\nfor i in range(0, n):\n    tl.load(p + x)\n    {update}")
    offset = built.accesses[0].pointer.offset  # type: ignore[union-attr]
    assert isinstance(offset, Opaque)
    assert "changes in a loop" in offset.detail


def test_a_variable_set_to_what_it_was_is_unchanged() -> None:
    built = program("x = m\nfor i in range(0, n):\n    tl.load(p + x)\n    x = x")
    assert render(built.accesses[0].pointer) == "p + m"


def test_a_variable_set_from_the_counter_is_not_carried() -> None:
    built = program("for i in range(0, n):\n    x = i + m\n    tl.load(p + x)")
    assert render(built.accesses[0].pointer) == "p + (counter of loop 0 + m)"


def test_nested_loops_that_move_one_pointer() -> None:
    body = """
        for i in range(0, n):
            for j in range(0, 8):
                tl.load(p)
                p += m
            p += 3
    """
    built = program(body)
    inner = _carried(built.accesses[0].pointer)
    outer = _carried(inner.initial)
    assert (inner.loop, outer.loop) == (1, 0)
    assert render(inner.step) == "m"
    assert render(outer.step) == "(m * 8) + 3"
    assert built.accesses[0].loops == (0, 1)


def test_accesses_are_counted_once_though_a_body_is_read_again() -> None:
    body = """
        x = m
        for i in range(0, n):
            for j in range(0, n):
                tl.load(p + x)
                x += 1
            x += 2
    """
    built = program(body)
    assert len(built.accesses) == 1
    assert len(built.loops) == 2


def test_a_while_loop_that_counts_is_a_range() -> None:
    built = program("i = m\nwhile i < n:\n    tl.load(p + i)\n    i += BLOCK")
    (loop,) = built.loops
    assert not loop.is_while
    assert loop.start is not None
    assert loop.end is not None
    assert (render(loop.start), render(loop.end), loop.counter_type.name) == ("m", "n", "int32")
    assert _carried(built.accesses[0].pointer).loop == 0


def test_any_other_while_loop_guards_its_body() -> None:
    built = program("i = n\nwhile i > 0:\n    tl.load(p + i)\n    i = i // 2")
    assert built.loops[0].is_while
    assert [render(guard) for guard in built.accesses[0].guards] == [
        "<i changes in a loop in a way that is not followed> > 0"
    ]
    assert len(built.observations) == 1


def test_static_ranges_are_unrolled() -> None:
    built = program("for i in tl.static_range(1, 7, 2):\n    tl.load(p + i * n)")
    assert [render(access.pointer) for access in built.accesses] == ["p + (1 * n)", "p + (3 * n)", "p + (5 * n)"]


def test_a_block_pointer_that_advances() -> None:
    body = """
        b = tl.make_block_ptr(p, (n, m), (stride, 1), (n, 0), (8, BLOCK), (1, 0))
        for i in range(0, m, BLOCK):
            tl.load(b, boundary_check=(1,))
            b = tl.advance(b, (0, BLOCK))
    """
    built = program(body)
    (access,) = built.accesses
    assert access.mask is not None
    assert "b < m" not in render(access.mask)
    assert render(access.mask) == "((b + tl.arange(0, 16)) >= 0) & ((b + tl.arange(0, 16)) < m)"
    assert access.pointer.shape == (8, 16)


def test_a_variable_that_changes_type_does_not_compile() -> None:
    assert program("x = m\nfor i in range(0, n):\n    x = x + stride").compile_errors
