"""Integers made from floats: index arithmetic that passes through floating point (upsampling)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING

from kernelscope.audit import float_bounds
from kernelscope.audit.coordinates import Coordinates, operand_coordinates
from kernelscope.audit.float_facts import bound_by_facts, place_of
from kernelscope.bounds.polynomial import ONE, Polynomial
from kernelscope.triton_source.index_program import (
    Binary,
    BinaryOperator,
    Broadcast,
    Cast,
    Constant,
    ExpandDims,
    Node,
    Opaque,
    Permute,
    UnknownReason,
)
from kernelscope.triton_source.scalar_types import INT64, ScalarType

if TYPE_CHECKING:
    from kernelscope.audit.evaluation import Evaluator

#: Room for rounding: a float32 operation errs by at most 2**-24 of its result, and a chain of them stays far below this.
_SLACK = Fraction(1, 1 << 18)
_DEEPEST = 40
_DOWNWARD = frozenset({"libdevice.floor", "tl.math.floor", "tl.floor"})
_ROUNDINGS = _DOWNWARD | {"libdevice.ceil", "libdevice.trunc", "libdevice.nearbyint", "libdevice.rint"}
#: Significand bits that make the slack an upper bound of the error.
_LEAST_BITS = 32


def from_float(e: Evaluator, node: Cast, coordinates: Coordinates) -> Polynomial:
    """An integer made from a float: non-negative where the float is, bounded where the float is a ratio of sizes and
    indices; otherwise any value."""
    e.float_conversions.append(node)
    not_negative = float_is_non_negative(e, node.operand, coordinates, 0)
    least = 0 if not_negative else _least(node.operand, e, coordinates, 0)
    atom = e.space.new_atom("index from a float", INT64.minimum if least is None else least, INT64.maximum)
    ratio = _ratio(e, node.operand, coordinates, 0) if least is not None else None
    if ratio is not None:
        divisor = ratio.denominator.constant_value
        if divisor is None:
            uppers = float_bounds.quotients(e, ratio.numerator, ratio.denominator)
        else:
            uppers = [ratio.numerator.scaled(Fraction(1) / Fraction(divisor))] if divisor > 0 else []
        atom.uppers.extend(exact.scaled(1 + _SLACK).plus(1) for exact in uppers)
    most = float_bounds.largest(e, node.operand, coordinates)
    if most is not None:
        atom.high = min(atom.high, most)
    e.unfollowed[atom.number] = (UnknownReason.WEAK_PROOF, "an index computed in floating point")
    e.float_atoms.add(atom.number)
    bound_by_facts(e, place_of(node.operand, coordinates), atom.number)
    return Polynomial.atom(atom.number)


def _least(node: Node, e: Evaluator, coordinates: Coordinates, depth: int) -> int | None:
    """A lower bound of a float that is a little below something not negative: `floor(x - 0.5)`."""
    if depth > _DEEPEST or not isinstance(node.type, ScalarType) or node.type.bits < _LEAST_BITS:
        return None
    if float_is_non_negative(e, node, coordinates, depth):
        return 0
    match node:
        case Opaque(_, detail, operands=(operand,)) if detail in _ROUNDINGS and operand.shape == node.shape:
            inner = _least(operand, e, coordinates, depth + 1)
            return None if inner is None else inner - 1
        case Binary(BinaryOperator.SUBTRACT, left, right):
            inner, taken = _least(left, e, coordinates, depth + 1), _constant_float(right)
            return None if inner is None or taken is None or not 0 <= taken < 1 << 20 else inner - 1 - floor(taken)
        case Cast(operand) if isinstance(operand.type, ScalarType) and not operand.type.is_integer:
            return _least(operand, e, coordinates, depth + 1)
        case _:
            return None


def _constant_float(node: Node) -> float | None:
    while isinstance(node, ExpandDims | Broadcast | Cast):
        node = node.operand
    return float(node.value) if isinstance(node, Constant) else None


@dataclass(frozen=True, slots=True)
class _Ratio:
    """numerator / denominator before rounding: the float itself if `exact`, else an upper bound of it."""

    numerator: Polynomial
    denominator: Polynomial
    exact: bool


def _ratio(e: Evaluator, node: Node, coordinates: Coordinates, depth: int) -> _Ratio | None:
    if depth > _DEEPEST or not isinstance(node.type, ScalarType) or node.type.bits < _LEAST_BITS:
        return None
    match node:
        case Constant(value):
            return _Ratio(Polynomial.constant(Fraction(value)), ONE, True) if abs(value) < 1e30 else None
        case Cast(operand):
            if isinstance(operand.type, ScalarType) and operand.type.is_integer:
                return _Ratio(e.observe(operand, coordinates, node), ONE, True)
            return _ratio(e, operand, coordinates, depth + 1)
        case ExpandDims() | Broadcast() | Permute():
            return _ratio(e, node.operand, operand_coordinates(node, coordinates), depth + 1)
        case Opaque(_, detail, operands=(operand,)) if detail in _ROUNDINGS and operand.shape == node.shape:
            inner = _ratio(e, operand, coordinates, depth + 1)
            if inner is None or detail not in _DOWNWARD or _least(operand, e, coordinates, depth) is None:
                return None
            return _Ratio(inner.numerator, inner.denominator, False)
        case Binary(operator, left, right):
            signed = operator in (BinaryOperator.SUBTRACT, BinaryOperator.MAXIMUM)
            if not signed and not all(float_is_non_negative(e, n, coordinates, depth) for n in (left, right)):
                return None
            first, second = _ratio(e, left, coordinates, depth + 1), _ratio(e, right, coordinates, depth + 1)
            return None if first is None or second is None else _combined(e, operator, first, second)
        case _:
            return None


def _combined(e: Evaluator, operator: BinaryOperator, first: _Ratio, second: _Ratio) -> _Ratio | None:
    """The result of an operation on non-negative floats (of a difference: what is subtracted is not negative)."""
    a, b, c, d = first.numerator, first.denominator, second.numerator, second.denominator
    if e.lower_bound(a) < 0 or e.lower_bound(c) < 0 or e.lower_bound(b) < 1 or e.lower_bound(d) < 1:
        return None
    exact = first.exact and second.exact
    match operator:
        case BinaryOperator.ADD:
            return _cancelled(a * d + c * b, b * d, exact)
        case BinaryOperator.MAXIMUM:  # at most the sum of upper bounds that are not negative
            return _cancelled(a * d + c * b, b * d, False)
        case BinaryOperator.SUBTRACT:
            return _Ratio(a, b, False) if second.exact else None
        case BinaryOperator.MULTIPLY:
            return _cancelled(a * c, b * d, exact)
        case BinaryOperator.TRUE_DIVIDE if second.exact and e.lower_bound(c) >= 1:
            return _cancelled(a * d, b * c, exact)
        case _:
            return None


def _cancelled(numerator: Polynomial, denominator: Polynomial, exact: bool) -> _Ratio:
    quotient = numerator.rational_quotient(denominator)
    if quotient is not None and quotient.is_integral:
        return _Ratio(quotient, ONE, exact)
    inverse = denominator.rational_quotient(numerator) if numerator.terms else None
    if inverse is not None and inverse.is_integral:
        return _Ratio(ONE, inverse, exact)
    return _Ratio(numerator, denominator, exact)


def float_is_non_negative(e: Evaluator, node: Node, coordinates: Coordinates, depth: int) -> bool:
    if depth > 40:
        return False
    match node:
        case Constant(value):
            return value >= 0
        case Cast(operand):
            if isinstance(operand.type, ScalarType) and operand.type.is_integer:
                return e.lower_bound(e.observe(operand, coordinates, node)) >= 0
            return float_is_non_negative(e, operand, coordinates, depth + 1)
        case ExpandDims() | Broadcast() | Permute():
            return float_is_non_negative(e, node.operand, operand_coordinates(node, coordinates), depth + 1)
        case Binary(operator, left, right) if operator in (
            BinaryOperator.ADD, BinaryOperator.MULTIPLY, BinaryOperator.TRUE_DIVIDE, BinaryOperator.MINIMUM,
        ):  # fmt: skip
            return all(float_is_non_negative(e, n, coordinates, depth + 1) for n in (left, right))
        case Binary(BinaryOperator.MAXIMUM, left, right):
            return any(float_is_non_negative(e, n, coordinates, depth + 1) for n in (left, right))
        case _:
            return False
