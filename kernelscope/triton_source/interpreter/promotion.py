"""Triton's type rules for operators (triton/language/semantic.py, 3.8)."""

from __future__ import annotations

import math

from kernelscope.triton_source.scalar_types import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT1,
    INT32,
    INT64,
    UINT32,
    UINT64,
    Kind,
    ScalarType,
)

_LEAST_NORMAL = 2.0**-126
_LARGEST = (2 - 2**-23) * 2.0**127


def is_unsigned(kind: ScalarType) -> bool:
    """Whether Triton calls a type unsigned; int1 counts as unsigned."""
    return kind.kind is Kind.UNSIGNED or kind.bits == 1


def rank(kind: ScalarType) -> int:
    """The order of kinds: boolean, integer, float."""
    if kind.kind is Kind.FLOAT:
        return 2
    return 0 if kind.bits == 1 else 1


def literal_type(value: int | float) -> ScalarType | None:
    """The type of a Python number that becomes a tensor; None when no type holds it."""
    if isinstance(value, bool):
        return INT1
    if isinstance(value, float):
        size = abs(value)
        fits = not math.isfinite(value) or size == 0.0 or _LEAST_NORMAL <= size <= _LARGEST
        return FLOAT32 if fits else FLOAT64
    for kind in (INT32, UINT32, INT64, UINT64):
        if kind.minimum <= value <= kind.maximum:
            return kind
    return None


def promote_integers(left: ScalarType, right: ScalarType) -> ScalarType:
    """The wider of two integer types; at equal width the unsigned one."""
    if is_unsigned(left) == is_unsigned(right):
        return left if left.bits > right.bits else right
    if is_unsigned(left):
        return left if left.bits >= right.bits else right
    return right if right.bits >= left.bits else left


def computation_type(
    left: ScalarType, left_is_literal: bool, right: ScalarType, right_is_literal: bool, *, division: bool
) -> ScalarType | None:
    """The type in which a binary operation is done; None where Triton rejects the operands."""
    if left_is_literal != right_is_literal:
        literal, tensor = (left, right) if left_is_literal else (right, left)
        if rank(literal) <= rank(tensor):
            return FLOAT32 if division and tensor in (FLOAT16, BFLOAT16) else tensor
    if left.kind is Kind.FLOAT or right.kind is Kind.FLOAT:
        return _promote_floats(left, right, division)
    if division and is_unsigned(left) != is_unsigned(right):
        return None
    return promote_integers(left, right)


def _promote_floats(left: ScalarType, right: ScalarType, division: bool) -> ScalarType | None:
    pair = (left, right)
    if FLOAT64 in pair:
        return FLOAT64
    if FLOAT32 in pair:
        return FLOAT32
    if FLOAT16 in pair:
        return FLOAT32 if division else FLOAT16
    if left is BFLOAT16 and right is BFLOAT16:
        return FLOAT32 if division else BFLOAT16
    if BFLOAT16 in pair:
        return FLOAT32
    if left.kind is Kind.FLOAT and right.kind is Kind.FLOAT:
        return left if left is right else FLOAT16
    return None
