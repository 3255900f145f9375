"""Host expressions evaluated, substituted and negated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelscope.launches.host_arithmetic import apply, evaluate, negation, reduced, substitute
from kernelscope.launches.host_expression import (
    HostBinary,
    HostCast,
    HostConstant,
    HostExpression,
    HostOperator,
    HostSelect,
    HostSymbol,
    HostType,
)

LEAVES: st.SearchStrategy[HostExpression] = st.one_of(
    st.integers(-50, 50).map(HostConstant), st.sampled_from([HostSymbol("a"), HostSymbol("b")])
)
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(HostBinary, st.sampled_from(HostOperator), inner, inner, st.sampled_from(HostType)),
        st.builds(HostCast, inner, st.sampled_from(HostType)),
        st.builds(HostSelect, inner, inner, inner),
    ),
    max_leaves=12,
)


@given(EXPRESSIONS, st.integers(-99, 99), st.integers(-99, 99))
def test_substituting_constants_gives_the_value(expression: HostExpression, a: int, b: int) -> None:
    value = evaluate(expression, {"a": a, "b": b})
    replaced = substitute(expression, {"a": HostConstant(a), "b": HostConstant(b)})
    if value is not None:
        assert evaluate(replaced, {}) == value


@given(EXPRESSIONS, st.integers(-99, 99), st.integers(-99, 99))
def test_a_negation_holds_where_the_condition_does_not(expression: HostExpression, a: int, b: int) -> None:
    value = evaluate(expression, {"a": a, "b": b})
    if value is not None:
        assert evaluate(negation(expression), {"a": a, "b": b}) == int(not value)


@pytest.mark.parametrize(
    ("operator", "left", "right", "value"),
    [
        (HostOperator.TRUNCATED_DIVIDE, -7, 2, -3), (HostOperator.FLOOR_DIVIDE, -7, 2, -4),
        (HostOperator.TRUNCATED_REMAINDER, -7, 4, -3), (HostOperator.FLOOR_REMAINDER, -7, 4, 1),
        (HostOperator.TRUNCATED_DIVIDE, 7, -2, -3), (HostOperator.TRUNCATED_REMAINDER, 7, -4, 3),
    ],
)  # fmt: skip
def test_division_rounds_as_its_language_does(operator: HostOperator, left: int, right: int, value: int) -> None:
    assert apply(operator, HostConstant(left), HostConstant(right)) == HostConstant(value)


def test_a_division_by_zero_has_no_value() -> None:
    division = apply(HostOperator.FLOOR_DIVIDE, HostConstant(1), HostConstant(0))
    assert isinstance(division, HostBinary) and evaluate(division, {}) is None


@pytest.mark.parametrize(
    ("value", "kind", "result"),
    [(2**31, HostType.INT32, -(2**31)), (2**32 + 5, HostType.UINT32, 5), (-1, HostType.UINT32, 2**32 - 1),
     (2**63, HostType.INT64, -(2**63)), (2**99, HostType.PYTHON, 2**99)],
)  # fmt: skip
def test_values_are_reduced_to_their_c_type(value: int, kind: HostType, result: int) -> None:
    assert reduced(value, kind) == result
