"""Index-program nodes put together as the reader does: promotion by explicit casts, shapes made alike."""

from __future__ import annotations

from kernelscope.triton_source import index_program as ip
from kernelscope.triton_source.index_program import BinaryOperator, Node, Shape, Span
from kernelscope.triton_source.scalar_types import FLOAT32, INT1, INT8, INT16, Kind, PointerType, ScalarType

SPAN = Span(1, 0, 1, 1)
NARROW, WIDE = INT8, INT16  # in place of int32 and int64


def constant(value: int, type_: ScalarType = NARROW) -> Node:
    return ip.Constant(value, type_, SPAN)


def truth(value: bool) -> Node:
    return ip.Constant(value, INT1, SPAN)


def arange(extent: int) -> Node:
    return ip.Arange(0, extent, SPAN, (extent,), NARROW)


def cast(node: Node, type_: ScalarType, *, implicit: bool = False) -> Node:
    return node if node.type == type_ else ip.Cast(node, type_, node.shape, SPAN, implicit)


def expand(node: Node, axis: int) -> Node:
    shape = (*node.shape[:axis], 1, *node.shape[axis:])
    return ip.ExpandDims(node, axis, node.type, shape, SPAN)


def broadcast(node: Node, shape: Shape) -> Node:
    return node if node.shape == shape else ip.Broadcast(node, node.type, shape, SPAN)


def alike(left: Node, right: Node) -> tuple[Node, Node]:
    """Both with one shape."""
    if not left.shape or not right.shape:
        shape = left.shape or right.shape
    else:
        shape = tuple(max(a, b) for a, b in zip(left.shape, right.shape, strict=True))
    return broadcast(left, shape), broadcast(right, shape)


def promoted(left: Node, right: Node) -> tuple[Node, Node]:
    """Both with one type: the wider, of equal width the unsigned one; a literal takes the other side's type."""
    a, b = left.type, right.type
    assert isinstance(a, ScalarType) and isinstance(b, ScalarType)
    if a == b:
        return left, right
    for literal, type_ in ((left, b), (right, a)):
        if isinstance(literal, ip.Constant) and type_.minimum <= int(literal.value) <= type_.maximum:
            other = ip.Constant(literal.value, type_, SPAN)
            return (other, right) if literal is left else (left, other)
    wide = max((a, b), key=lambda t: (t.bits, t.kind is Kind.UNSIGNED))
    return cast(left, wide, implicit=True), cast(right, wide, implicit=True)


def binary(operator: BinaryOperator, left: Node, right: Node) -> Node:
    left, right = promoted(left, right)
    left, right = alike(left, right)
    type_ = INT1 if operator in ip.COMPARISONS else left.type
    assert isinstance(type_, ScalarType)
    return ip.Binary(operator, left, right, type_, left.shape, SPAN)


def add(left: Node, right: Node) -> Node:
    return binary(BinaryOperator.ADD, left, right)


def multiply(left: Node, right: Node) -> Node:
    return binary(BinaryOperator.MULTIPLY, left, right)


def less(left: Node, right: Node) -> Node:
    return binary(BinaryOperator.LESS, left, right)


def both(left: Node | None, right: Node | None) -> Node | None:
    """The conjunction of two masks; None is always true."""
    if left is None or right is None:
        return left if right is None else right
    return binary(BinaryOperator.AND, left, right)


def either(left: Node, right: Node) -> Node:
    return binary(BinaryOperator.OR, left, right)


def invert(node: Node) -> Node:
    assert isinstance(node.type, ScalarType)
    return ip.Invert(node, node.type, node.shape, SPAN)


def where(condition: Node, if_true: Node, if_false: Node) -> Node:
    if_true, if_false = promoted(if_true, if_false)
    if_true, if_false = alike(if_true, if_false)
    condition, if_true = alike(condition, if_true)
    _, if_false = alike(condition, if_false)
    return ip.Where(condition, if_true, if_false, if_true.type, if_true.shape, SPAN)


def pointer(name: str, element: ScalarType = FLOAT32) -> Node:
    return ip.Argument(name, PointerType(element), SPAN)


def pointer_add(base: Node, offset: Node) -> Node:
    base, offset = alike(base, offset)
    return ip.PointerAdd(base, offset, base.type, base.shape, SPAN)
