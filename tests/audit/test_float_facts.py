"""Integers made from floats whose comparisons are known to be true, as `grid_sample` writes them."""

from __future__ import annotations

from fractions import Fraction
from math import frexp, nan, trunc
from pathlib import Path
from struct import pack, unpack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelscope.audit import float_facts
from kernelscope.audit.results import Verdict
from kernelscope.bounds.polynomial import Polynomial
from kernelscope.triton_source.index_program import Binary, BinaryOperator, Constant, Opaque, Span, UnknownReason
from kernelscope.triton_source.scalar_types import FLOAT32, INT1
from tests.audit.test_hidden_ways import audited

_LOAD = (
    "o = tl.program_id(0) * B + tl.arange(0, B)\n"
    "f = tl.extra.cuda.libdevice.floor(tl.load(x_ptr + o, mask=o < n))\n"
)
_STORE = "i = tl.where({inside} & (o < n), {value}.to(tl.int32), 0)\ntl.store(x_ptr + i * {factor}, 1.0, mask=o < n)"


def kernel(inside: str, factor: int = 4, value: str = "f") -> str:
    return _LOAD + _STORE.format(inside=inside, factor=factor, value=value)


SAFE = {
    "between 0 and a size": kernel("(f >= 0.0) & (f < n.to(tl.float32))"),
    "between 0 and a number": kernel("(f >= 0.0) & (f < 1000.0)", 2_147_483),
    "above -1": kernel("(f > -1.0) & (f <= 1000.0)", 2_147_483),
    "written the other way round": kernel("(0.0 <= f) & (n.to(tl.float32) > f)"),
}
NOT_SAFE = {
    "no upper end": kernel("(f >= 0.0)"),
    "one more than fits": kernel("(f >= 0.0) & (f < 1001.0)", 2_147_484),
    "not at least: a NaN is that, too": kernel("(f >= 0.0) & ~(f >= 5.0)"),
    "another float": kernel("(f >= 0.0) & (f < 5.0)", value="(f + 9.0 * f)"),
    "on another lane": kernel("(tl.max(((f >= 0.0) & (f < 5.0)).to(tl.int32), 0) > 0)"),
}


@pytest.mark.parametrize("body", SAFE.values(), ids=SAFE.keys())
def test_a_comparison_bounds_the_integer(body: str, tmp_path: Path) -> None:
    assert audited(tmp_path, body, 2**22).verdict is Verdict.SAFE


@pytest.mark.parametrize("body", NOT_SAFE.values(), ids=NOT_SAFE.keys())
def test_what_bounds_nothing_is_not_relied_on(body: str, tmp_path: Path) -> None:
    assert audited(tmp_path, body, 2**22).verdict is not Verdict.SAFE


def rounded(value: float) -> float:
    (result,) = unpack("<f", pack("<f", value))
    return float(result)


class _Noted:
    """What `learn` needs of an evaluator when floats are compared with constants."""

    def __init__(self) -> None:
        self.float_facts: dict[float_facts.FloatPlace, tuple[tuple[Polynomial, bool], ...]] = {}
        self.integers_of_floats: dict[float_facts.FloatPlace, tuple[int, ...]] = {}


_SPAN = Span(1, 0, 1, 1)
_COMPARED = {
    BinaryOperator.LESS: lambda a, b: a < b,
    BinaryOperator.LESS_EQUAL: lambda a, b: a <= b,
    BinaryOperator.GREATER: lambda a, b: a > b,
    BinaryOperator.GREATER_EQUAL: lambda a, b: a >= b,
    BinaryOperator.EQUAL: lambda a, b: a == b,
}
_NEAR = st.integers(-(2**26), 2**26).map(float) | st.floats(-70.0, 70.0, width=32)


@given(_NEAR, _NEAR | st.integers(-(2**26), 2**26), st.sampled_from(list(_COMPARED)), st.booleans(), st.integers(-2, 2))
def test_every_float_that_compares_so_is_within_the_bounds(
    value: float, limit: float, operator: BinaryOperator, swapped: bool, steps: int
) -> None:
    constant = rounded(limit)
    value = rounded(value)
    if steps:  # floats right beside the constant decide
        value = rounded(constant + steps * 2.0 ** (max(frexp(constant)[1], -100) - 24))
    float_ = Opaque(UnknownReason.NOT_MODELLED, "a float", FLOAT32, (), _SPAN)
    pair = (Constant(limit, FLOAT32, _SPAN, ()), float_) if swapped else (float_, Constant(limit, FLOAT32, _SPAN, ()))
    operands = (constant, value) if swapped else (value, constant)
    if not _COMPARED[operator](*operands):
        return
    noted = _Noted()
    float_facts.learn(noted, Binary(operator, *pair, INT1, (), _SPAN), ())  # type: ignore[arg-type]
    for bound, upper in noted.float_facts[id(float_), ()]:
        end = Fraction(bound.constant_value or 0)
        assert trunc(value) <= end if upper else trunc(value) >= end, (value, constant, operator)
    assert not _COMPARED[operator](nan, constant)
