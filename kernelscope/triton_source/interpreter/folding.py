"""Integer operations on constants."""

from __future__ import annotations

from collections.abc import Callable

from kernelscope.triton_source.index_program import BinaryOperator
from kernelscope.triton_source.scalar_types import ScalarType


def _truncated_divide(left: int, right: int) -> int | None:
    if right == 0:
        return None
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int | None:
    quotient = _truncated_divide(left, right)
    return None if quotient is None else left - quotient * right


def _shift_left(left: int, right: int) -> int | None:
    return left << right if 0 <= right < 64 else None


def _shift_right(left: int, right: int) -> int | None:
    return left >> right if 0 <= right < 64 else None


_FOLD: dict[BinaryOperator, Callable[[int, int], int | bool | None]] = {
    BinaryOperator.ADD: lambda a, b: a + b,
    BinaryOperator.SUBTRACT: lambda a, b: a - b,
    BinaryOperator.MULTIPLY: lambda a, b: a * b,
    BinaryOperator.FLOOR_DIVIDE: _truncated_divide,
    BinaryOperator.REMAINDER: _remainder,
    BinaryOperator.AND: lambda a, b: a & b,
    BinaryOperator.OR: lambda a, b: a | b,
    BinaryOperator.XOR: lambda a, b: a ^ b,
    BinaryOperator.SHIFT_LEFT: _shift_left,
    BinaryOperator.SHIFT_RIGHT: _shift_right,
    BinaryOperator.MINIMUM: min,
    BinaryOperator.MAXIMUM: max,
    BinaryOperator.LESS: lambda a, b: a < b,
    BinaryOperator.LESS_EQUAL: lambda a, b: a <= b,
    BinaryOperator.GREATER: lambda a, b: a > b,
    BinaryOperator.GREATER_EQUAL: lambda a, b: a >= b,
    BinaryOperator.EQUAL: lambda a, b: a == b,
    BinaryOperator.NOT_EQUAL: lambda a, b: a != b,
}


def fold(operator: BinaryOperator, left: int, right: int, result: ScalarType) -> int | None:
    """The value of an operation on constants; None where it is undefined or does not fit the result's type."""
    compute = _FOLD.get(operator)
    value = None if compute is None else compute(int(left), int(right))
    if value is None or not result.minimum <= value <= result.maximum:
        return None
    return int(value)
