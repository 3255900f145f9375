"""Branches, returns and calls: which accesses happen under which conditions."""

from __future__ import annotations

from kernelscope.triton_source.index_program import Where
from kernelscope.triton_source.source_text import render
from tests.triton_source.build import program


def _guards(body: str) -> list[list[str]]:
    built = program(body)
    assert not built.unmodelled
    return [[render(guard) for guard in access.guards] for access in built.accesses]


def test_branches_guard_their_accesses() -> None:
    body = """
        if n > 3:
            tl.store(p, 1.0)
        elif m > 4:
            tl.store(p + 1, 1.0)
        else:
            tl.store(p + 2, 1.0)
        tl.store(p + 3, 1.0)
    """
    assert _guards(body) == [["n > 3"], ["~(n > 3)", "m > 4"], ["~(n > 3)", "~(m > 4)"], []]


def test_an_early_return_guards_what_follows() -> None:
    body = """
        if n > 3:
            if m > 4:
                return
            tl.store(p, 1.0)
        tl.store(p + 1, 1.0)
    """
    assert _guards(body) == [["n > 3", "~(m > 4)"], ["~((n > 3) & (m > 4))"]]


def test_a_return_in_both_branches_ends_the_kernel() -> None:
    body = """
        if n > 3:
            return
        else:
            return
        tl.store(p, 1.0)
    """
    assert _guards(body) == []


def test_compile_time_conditions_choose_a_branch() -> None:
    body = """
        if BLOCK > 8 and m is not None:
            tl.store(p + BLOCK, 1.0)
        else:
            tl.store(p + undefined, 1.0)
    """
    assert _guards(body) == [[]]


def test_constants_in_variables_choose_a_branch() -> None:
    body = """
        M = 512
        if M * 2 == 0:
            return
        tl.store(p, 1.0)
    """
    assert _guards(body) == [[]]


def test_a_variable_set_in_a_branch_is_chosen_by_its_condition() -> None:
    built = program("x = n\nif m > 4:\n    x = n + 1\ntl.load(p + x)")
    offset = built.accesses[0].pointer.offset  # type: ignore[union-attr]
    assert isinstance(offset, Where)
    assert [render(part) for part in (offset.condition, offset.if_true, offset.if_false)] == ["m > 4", "n + 1", "n"]


def test_runtime_conditions_are_observed() -> None:
    built = program("if n * m > 3:\n    tl.store(p, 1.0)")
    assert [render(seen.condition) for seen in built.observations] == ["(n * m) > 3"]


def test_a_variable_with_two_types_does_not_compile() -> None:
    assert program("x = n\nif m > 4:\n    x = stride\ntl.load(p + x)").compile_errors


def test_calls_run_in_place() -> None:
    built = program("tl.load(p + twice(n + 1))")
    assert render(built.accesses[0].pointer) == "p + ((n + 1) + (n + 1))"


def test_recursion_is_not_followed() -> None:
    built = program("kernel(p, q, n, m, stride, BLOCK)")
    assert [seen.detail for seen in built.unmodelled] == ["calls nested more than 32 deep"]


def test_an_unknown_function_given_a_pointer_is_reported() -> None:
    built = program("mystery(p)\ntl.load(p + n)")
    assert any("mystery" in seen.detail for seen in built.unmodelled)
    assert len(built.accesses) == 1


def test_a_device_assertion_holds_for_what_follows() -> None:
    built = program('tl.load(p)\ntl.device_assert(n < m, "bound")\ntl.load(p + n)')
    assert [(render(a.condition), a.before_access) for a in built.assertions] == [("n < m", 1)]
