"""Sizes scaled by a float are the integers that the wrapper's double arithmetic gives, or are not followed."""

from __future__ import annotations

import math

import pytest

from kernelscope.launches.host_arithmetic import evaluate
from kernelscope.launches.host_expression import HostSymbol, HostType, HostUnknown
from kernelscope.launches.python_expression import PythonExpressions
from kernelscope.launches.scaled_sizes import scaled

SIZE = HostSymbol("s0")
SIZES = [0, 1, 2, 3, 63, 64, 65, 4097, (1 << 31) - 1, (1 << 40) - 1]


@pytest.mark.parametrize("factor", [0.25, 0.5, 1.5, 2.0, 2.75, 1023.5])
@pytest.mark.parametrize("rounding", ["trunc", "floor", "ceil"])
def test_scaled_size_is_what_doubles_give(factor: float, rounding: str) -> None:
    expression = scaled(factor, SIZE, rounding)
    assert expression is not None
    for size in SIZES:
        assert evaluate(expression, {"s0": size}) == getattr(math, rounding)(factor * float(size))


@pytest.mark.parametrize("factor", [0.1, 1.1, 1 / 3, -1.5, 0.0, 4097.0001])
def test_factor_whose_products_are_rounded_is_not_followed(factor: float) -> None:
    assert scaled(factor, SIZE, "trunc") is None


TEXTS = ["math.trunc(1.5*torch.sym_float(s0))", "math.floor(1.5*float(s0))", "math.ceil(0.5*float(s0))"]


@pytest.mark.parametrize("text", TEXTS)
def test_python_wrappers_write_it_so(text: str) -> None:
    reader = PythonExpressions({"s0": SIZE}.get, HostType.PYTHON, true_division_floors=False)
    assert not isinstance(reader.parse(text), HostUnknown)
    assert isinstance(reader.parse(text.replace("1.5", "1.1").replace("0.5", "0.3")), HostUnknown)
