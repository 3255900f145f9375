"""Sizes scaled by a float and rounded (`trunc(1.5*double(s0))`, the output of an interpolation), as integer expressions."""

from __future__ import annotations

from fractions import Fraction

from kernelscope.launches.host_arithmetic import apply
from kernelscope.launches.host_expression import HostConstant, HostExpression, HostOperator, HostType

#: A double holds the product of a factor with so few significant bits and any size below 2**40 exactly.
_EXACT_BITS = 13


def scaled(factor: float, size: HostExpression, rounding: str) -> HostExpression | None:
    """`rounding` ("trunc", "floor" or "ceil") of factor * size for a size that is not negative; None where the double
    product could be rounded itself, so that no integer expression is exact. It cannot overflow as integers would."""
    ratio = Fraction(factor)
    if ratio <= 0 or ratio.numerator.bit_length() > _EXACT_BITS:
        return None
    numerator = apply(HostOperator.MULTIPLY, HostConstant(ratio.numerator), size, HostType.PYTHON)
    if rounding == "ceil":
        numerator = apply(HostOperator.ADD, numerator, HostConstant(ratio.denominator - 1), HostType.PYTHON)
    return apply(HostOperator.FLOOR_DIVIDE, numerator, HostConstant(ratio.denominator), HostType.PYTHON)
