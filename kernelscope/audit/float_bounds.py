"""Numbers that a float computed from indices cannot exceed, and quotients of two values that both vary."""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING

from kernelscope.audit.coordinates import Coordinates, operand_coordinates
from kernelscope.bounds.polynomial import Polynomial
from kernelscope.bounds.space import UNBOUNDED
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
)
from kernelscope.triton_source.scalar_types import ScalarType

if TYPE_CHECKING:
    from kernelscope.audit.evaluation import Evaluator

_DEEPEST = 40
_MOST_BOUNDS = 4
_LOGARITHMS = frozenset({"log", "log2", "log10", "log1p"})
#: No finite float32 has a logarithm to the base 2 above this, and no float64 one above the other (IEEE 754).
_LARGEST_LOGARITHM = {32: 128, 64: 1024}


def largest(e: Evaluator, node: Node, coordinates: Coordinates, depth: int = 0) -> int | None:
    """A number that a float stays below: a little above the largest value that exact arithmetic gives it."""
    if depth > _DEEPEST or not isinstance(node.type, ScalarType):
        return None
    match node:
        case Constant(value):
            return floor(value) + 1 if abs(value) < 1e30 else None
        case Cast(operand):
            if isinstance(operand.type, ScalarType) and operand.type.is_integer:
                high = e.space.range_of(e.observe(operand, coordinates, node))[1]
                return _above(high) if high < UNBOUNDED else None
            return largest(e, operand, coordinates, depth + 1)
        case ExpandDims() | Broadcast() | Permute():
            return largest(e, node.operand, operand_coordinates(node, coordinates), depth + 1)
        case Opaque(_, detail, operands=(operand,)) if detail.rpartition(".")[2] in _LOGARITHMS:
            finite = largest(e, operand, coordinates, depth + 1) is not None
            return _LARGEST_LOGARITHM.get(node.type.bits) if finite else None
        case Binary(operator, left, right):
            first, second = (largest(e, n, coordinates, depth + 1) for n in (left, right))
            return None if first is None or second is None else _combined(operator, first, second, right)
        case _:
            return None


def _combined(operator: BinaryOperator, first: int, second: int, right: Node) -> int | None:
    match operator:
        case BinaryOperator.ADD:
            return _above(first + second)
        case BinaryOperator.MULTIPLY if _is_positive_constant(right):
            return _above(max(first, 0) * second)
        case BinaryOperator.MINIMUM:
            return min(first, second)
        case BinaryOperator.MAXIMUM:
            return max(first, second)
        case _:
            return None


def _is_positive_constant(node: Node) -> bool:
    while isinstance(node, ExpandDims | Broadcast | Cast):
        node = node.operand
    return isinstance(node, Constant) and node.value > 0


def _above(value: int) -> int:
    """Room for rounding: far more than a float16 operation errs by."""
    return floor(value * (257 if value > 0 else 255) / Fraction(256)) + 1


def quotients(e: Evaluator, numerator: Polynomial, denominator: Polynomial) -> list[Polynomial]:
    """Upper bounds of numerator / denominator, both not negative: `(lane + 1/2)*n / m` with lane < m is at most n."""
    found: list[Polynomial] = []
    for bound in e.space.upper_bounds(numerator, _MOST_BOUNDS):
        raised = Polynomial.of({m: c for m, c in bound.terms.items() if c > 0 or not _not_negative(e, m)})
        quotient = raised.rational_quotient(denominator)
        if quotient is not None:
            found.append(quotient)
    return found


def _not_negative(e: Evaluator, monomial: tuple[int, ...]) -> bool:
    return all(e.space.range_of_atom(number)[0] >= 0 for number in monomial)
