"""What a comparison of floats that is true tells of the integers made from them: `0.0 <= x < n` leaves `int(x)` in [0, n)."""

from __future__ import annotations

from fractions import Fraction
from math import trunc
from struct import pack, unpack
from typing import TYPE_CHECKING

from kernelscope.audit.coordinates import Coordinates, operand_coordinates
from kernelscope.bounds.polynomial import Polynomial
from kernelscope.triton_source.index_program import (
    Binary,
    BinaryOperator,
    Broadcast,
    Cast,
    Constant,
    ExpandDims,
    Node,
    Permute,
)
from kernelscope.triton_source.scalar_types import ScalarType

if TYPE_CHECKING:
    from kernelscope.audit.evaluation import Evaluator

#: Bits of the significand by width (IEEE 754), and the format in which `struct` rounds to that width.
_SIGNIFICAND = {64: 53, 32: 24}
_FORMAT = {64: "<d", 32: "<f"}
_BELOW = {BinaryOperator.LESS: True, BinaryOperator.LESS_EQUAL: False}
_ABOVE = {BinaryOperator.GREATER: True, BinaryOperator.GREATER_EQUAL: False}

#: A float where it is read.
FloatPlace = tuple[int, Coordinates]


def learn(e: Evaluator, comparison: Node, coordinates: Coordinates) -> None:
    """Note a comparison that is true (a false one tells nothing: a NaN makes every comparison false)."""
    if not isinstance(comparison, Binary) or not _is_float(comparison.left) or not _is_float(comparison.right):
        return
    left, right = _unshaped(comparison.left, coordinates), _unshaped(comparison.right, coordinates)
    operator = comparison.operator
    if operator is BinaryOperator.EQUAL:
        for value, other in ((left, right), (right, left)):
            _note(e, value, other, strict=False, upper=True)
            _note(e, value, other, strict=False, upper=False)
    elif operator in _BELOW:
        _note(e, left, right, strict=_BELOW[operator], upper=True)
        _note(e, right, left, strict=_BELOW[operator], upper=False)
    elif operator in _ABOVE:
        _note(e, left, right, strict=_ABOVE[operator], upper=False)
        _note(e, right, left, strict=_ABOVE[operator], upper=True)


def place_of(node: Node, coordinates: Coordinates) -> FloatPlace:
    """Where a float is read, whatever shape it is given there."""
    node, coordinates = _unshaped(node, coordinates)
    return id(node), coordinates


def bound_by_facts(e: Evaluator, place: FloatPlace, number: int) -> None:
    """Give the integer made from a float the bounds that are known of it, now and later."""
    e.integers_of_floats.setdefault(place, ())
    e.integers_of_floats[place] += (number,)
    for bound, upper in e.float_facts.get(place, ()):
        _bound(e, number, bound, upper)


def _note(
    e: Evaluator, value: tuple[Node, Coordinates], other: tuple[Node, Coordinates], *, strict: bool, upper: bool
) -> None:
    bound = _truncated(e, other, strict=strict, upper=upper)
    if bound is None or isinstance(value[0], Constant):
        return
    place = id(value[0]), value[1]
    e.float_facts[place] = (*e.float_facts.get(place, ()), (bound, upper))
    for number in e.integers_of_floats.get(place, ()):
        _bound(e, number, bound, upper)


def _bound(e: Evaluator, number: int, bound: Polynomial, upper: bool) -> None:
    atom = e.space.atoms[number]
    (atom.uppers if upper else atom.lowers).insert(0, bound)
    e.space.forget()


def _truncated(e: Evaluator, float_: tuple[Node, Coordinates], *, strict: bool, upper: bool) -> Polynomial | None:
    """A bound of int(x), which rounds toward zero, for every x below (or above) a constant or an integer made a float."""
    node, coordinates = float_
    if not isinstance(node.type, ScalarType) or node.type.bits not in _FORMAT:
        return None
    match node:
        case Constant(value) if abs(value) < 1e30:
            (rounded,) = unpack(_FORMAT[node.type.bits], pack(_FORMAT[node.type.bits], value))
            whole = trunc(rounded)
            if strict and whole == rounded:
                whole += (-1 if whole > 0 else 0) if upper else (1 if whole < 0 else 0)
            return Polynomial.constant(whole)
        case Cast(operand) if isinstance(operand.type, ScalarType) and operand.type.is_integer and operand.type.bits > 1:
            exact = e.value(operand, coordinates)
            least, bits = e.lower_bound(exact), _SIGNIFICAND[node.type.bits]
            if least < 0:
                return None
            if e.space.range_of(exact)[1] > 1 << bits:  # rounded to nearest: off by half a unit in the last place
                exact = exact.scaled(1 + (1 if upper else -1) * Fraction(1, 1 << bits))
            return exact.plus(-1) if strict and upper and least >= 1 else exact
        case _:
            return None


def _is_float(node: Node) -> bool:
    return isinstance(node.type, ScalarType) and not node.type.is_integer


def _unshaped(node: Node, coordinates: Coordinates) -> tuple[Node, Coordinates]:
    while isinstance(node, ExpandDims | Broadcast | Permute):
        coordinates = operand_coordinates(node, coordinates)
        node = node.operand
    return node, coordinates
