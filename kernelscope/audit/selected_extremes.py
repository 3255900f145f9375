"""`a * (a >= b) + b * (b > a)`: how Inductor prints max(a, b) inside an index, and min(a, b) alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelscope.audit.coordinates import Coordinates
from kernelscope.bounds.polynomial import ONE, Polynomial
from kernelscope.triton_source.index_program import COMPARISONS, Binary, BinaryOperator, Cast, Node
from kernelscope.triton_source.scalar_types import ScalarType

if TYPE_CHECKING:
    from kernelscope.audit.evaluation import Evaluator

_EQUALITIES = frozenset({BinaryOperator.EQUAL, BinaryOperator.NOT_EQUAL})


def selected(e: Evaluator, node: Binary, coordinates: Coordinates) -> tuple[Polynomial, Polynomial, bool] | None:
    """The two values of such a sum and whether the least is meant; its comparisons and widened parts must be exact."""
    from kernelscope.audit.conditions import Literal, margins, observe

    first, second = _chosen(node.left), _chosen(node.right)
    if first is None or second is None or node.operator is not BinaryOperator.ADD:
        return None
    (left, when_left), (right, when_right) = first, second
    a, b = e.value(left, coordinates), e.value(right, coordinates)
    one = margins(e, Literal(when_left, coordinates, True))
    other = margins(e, Literal(when_right, coordinates, True))
    if one is None or other is None or other[0] != -one[0] - ONE:
        return None
    if one[0] not in (a - b, a - b - ONE, b - a, b - a - ONE):
        return None
    for part, value in ((node.left, left), (node.right, right)):
        observe(e, when_left if value is left else when_right, coordinates)
        if part.type is not value.type:
            e.observe(value, coordinates, part)
    return a, b, one[0] in (b - a, b - a - ONE)


def _chosen(node: Node) -> tuple[Node, Binary] | None:
    """The value and the comparison of `value * (comparison)`."""
    product = _unwidened(node)
    if not isinstance(product, Binary) or product.operator is not BinaryOperator.MULTIPLY:
        return None
    for value, condition in ((product.left, product.right), (product.right, product.left)):
        compared = _unwidened(condition)
        if isinstance(compared, Binary) and compared.operator in COMPARISONS - _EQUALITIES:
            return value, compared
    return None


def _unwidened(node: Node) -> Node:
    while isinstance(node, Cast) and isinstance(node.type, ScalarType) and isinstance(node.operand.type, ScalarType):
        if not node.type.is_integer or not node.operand.type.is_integer or node.type.bits < node.operand.type.bits:
            break
        node = node.operand
    return node
