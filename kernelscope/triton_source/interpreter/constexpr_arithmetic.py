"""Arithmetic on compile-time values, which is Python's, with bounded work."""

from __future__ import annotations

import operator as python
from collections.abc import Callable

from kernelscope.triton_source.index_program import BinaryOperator
from kernelscope.triton_source.interpreter.state import State
from kernelscope.triton_source.interpreter.values import Unknown, Value, is_number
from kernelscope.triton_source.scalar_types import PointerType, ScalarType

#: No compile-time number needs more; larger ones are only made to exhaust the analysis.
MOST_BITS = 4096
_MOST_ITEMS = 4096

_COMPUTE: dict[BinaryOperator, Callable[..., object]] = {
    BinaryOperator.ADD: python.add,
    BinaryOperator.SUBTRACT: python.sub,
    BinaryOperator.MULTIPLY: python.mul,
    BinaryOperator.FLOOR_DIVIDE: python.floordiv,
    BinaryOperator.REMAINDER: python.mod,
    BinaryOperator.TRUE_DIVIDE: python.truediv,
    BinaryOperator.AND: python.and_,
    BinaryOperator.OR: python.or_,
    BinaryOperator.XOR: python.xor,
    BinaryOperator.SHIFT_LEFT: python.lshift,
    BinaryOperator.SHIFT_RIGHT: python.rshift,
    BinaryOperator.MINIMUM: min,
    BinaryOperator.MAXIMUM: max,
    BinaryOperator.LESS: python.lt,
    BinaryOperator.LESS_EQUAL: python.le,
    BinaryOperator.GREATER: python.gt,
    BinaryOperator.GREATER_EQUAL: python.ge,
    BinaryOperator.EQUAL: python.eq,
    BinaryOperator.NOT_EQUAL: python.ne,
}


def compute(s: State, operator: BinaryOperator, left: Value, right: Value) -> Value:
    """`left operator right` of two compile-time values."""
    if operator in (BinaryOperator.EQUAL, BinaryOperator.NOT_EQUAL):
        return _same(left, right) is (operator is BinaryOperator.EQUAL)
    _check_size(s, operator, left, right)
    return _computed(s, lambda: _COMPUTE[operator](left, right), f"`{operator.value}`")


def power(s: State, left: Value, right: Value) -> Value:
    """`left ** right` of two compile-time values."""
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() * max(right, 0) > MOST_BITS:
        raise s.failure("a compile-time number is absurdly large")
    return _computed(s, lambda: left**right if is_number(left) and is_number(right) else None, "`**`")


def _same(left: Value, right: Value) -> bool:
    if isinstance(left, (ScalarType, PointerType)) or isinstance(right, (ScalarType, PointerType)):
        return type(left) is type(right) and left == right
    return bool(left == right)


def _check_size(s: State, operator: BinaryOperator, left: Value, right: Value) -> None:
    """Refuse operations whose result would be far larger than any size."""
    if isinstance(left, int) and isinstance(right, int):
        if operator is BinaryOperator.SHIFT_LEFT and left.bit_length() + max(right, 0) > MOST_BITS:
            raise s.failure("a compile-time number is absurdly large")
        if operator is BinaryOperator.MULTIPLY and left.bit_length() + right.bit_length() > MOST_BITS:
            raise s.failure("a compile-time number is absurdly large")
    elif operator is BinaryOperator.ADD:
        if isinstance(left, (str, tuple)) and isinstance(right, (str, tuple)) and len(left) + len(right) > _MOST_ITEMS:
            raise s.failure("a compile-time sequence is absurdly long")
    elif operator is BinaryOperator.REMAINDER and isinstance(left, str):
        raise s.failure("a text is formatted")
    elif operator is BinaryOperator.MULTIPLY:
        for sequence, other in ((left, right), (right, left)):
            if isinstance(sequence, (str, tuple)):
                count = other if isinstance(other, int) else _MOST_ITEMS + 1
                if len(sequence) * abs(count) > _MOST_ITEMS:
                    raise s.failure("a compile-time sequence is absurdly long")


def _computed(s: State, action: Callable[[], object], name: str) -> Value:
    try:
        return action()
    except (TypeError, ValueError, ZeroDivisionError, OverflowError, MemoryError) as error:
        s.reject(f"{name} of compile-time values: {error}")
        return Unknown(f"{name} of compile-time values")
