"""Triton's typing rules: promotion, casts, broadcasting (triton 3.8, language/semantic.py)."""

from __future__ import annotations

from kernelscope.errors import KernelscopeError
from kernelscope.triton_source.index_program import (
    COMPARISONS,
    Binary,
    BinaryOperator,
    Broadcast,
    Cast,
    Constant,
    ExpandDims,
    Invert,
    Node,
    Opaque,
    PointerAdd,
    Shape,
    Span,
    UnknownReason,
    Where,
)
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
    PointerType,
    ScalarType,
    ValueType,
)
from kernelscope.kernel_reader.values import Static

DIVISIONS = frozenset({BinaryOperator.FLOOR_DIVIDE, BinaryOperator.REMAINDER, BinaryOperator.TRUE_DIVIDE})
BITWISE = frozenset(
    {
        BinaryOperator.AND,
        BinaryOperator.OR,
        BinaryOperator.XOR,
        BinaryOperator.SHIFT_LEFT,
        BinaryOperator.SHIFT_RIGHT,
    }
)


class DoesNotCompile(KernelscopeError):
    """Triton itself rejects the kernel under these types."""

    def __init__(self, what: str, span: Span) -> None:
        super().__init__(what, where=f"line {span.line}")
        self.span = span


class NotUnderstood(Exception):
    """A construct that is not modelled; `value` uses it."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


def literal_type(value: object) -> ScalarType:
    """The type of a Python literal that becomes a tensor by itself."""
    if isinstance(value, bool):
        return INT1
    if isinstance(value, float):
        return FLOAT32
    if isinstance(value, int):
        for type_ in (INT32, UINT32, INT64, UINT64):
            if type_.minimum <= value <= type_.maximum:
                return type_
    raise NotUnderstood(f"a literal {str(value)[:40]} that is no number of a Triton type")


def constant(value: object, type_: ScalarType, span: Span) -> Constant:
    if isinstance(value, float) and type_.is_integer:
        value = int(value) if value == value and abs(value) != float("inf") else 0
    if isinstance(value, bool | int) and not type_.is_integer:
        try:
            value = float(value)
        except OverflowError:
            value = float("inf")
    if not isinstance(value, bool | int | float):
        raise NotUnderstood("a constant that is no number")
    return Constant(value, type_, span)


def tensor(value: Node | Static, span: Span) -> Node:
    """A node for a value; a literal takes its own type."""
    if isinstance(value, Static):
        return constant(value.value, literal_type(value.value), span)
    return value


def scalar_of(type_: ValueType) -> ScalarType:
    if isinstance(type_, PointerType):
        raise NotUnderstood("a pointer where a number is expected")
    return type_


def integer_promotion(a: ScalarType, b: ScalarType) -> ScalarType:
    """C's usual arithmetic conversions without promotion to int (semantic.integer_promote_impl)."""
    if (a.kind is Kind.UNSIGNED) == (b.kind is Kind.UNSIGNED):
        return a if a.bits > b.bits else b
    if a.kind is Kind.UNSIGNED:
        return a if a.bits >= b.bits else b
    return b if b.bits >= a.bits else a


def _kind_rank(type_: ScalarType) -> int:
    if type_.bits == 1:
        return 0
    return 2 if not type_.is_integer else 1


def computation_type(a: ScalarType, a_literal: bool, b: ScalarType, b_literal: bool, division: bool) -> ScalarType:
    """The type in which a binary operation is done (semantic.computation_type_impl)."""
    if a_literal != b_literal:
        literal, other = (a, b) if a_literal else (b, a)
        if _kind_rank(literal) <= _kind_rank(other):
            return FLOAT32 if division and other in (FLOAT16, BFLOAT16) else other
    for wide in (FLOAT64, FLOAT32):
        if wide in (a, b):
            return wide
    if FLOAT16 in (a, b):
        return FLOAT32 if division else FLOAT16
    if BFLOAT16 in (a, b):
        return BFLOAT16 if a == b and not division else FLOAT32
    if not a.is_integer or not b.is_integer:
        return a if a == b else FLOAT16
    return integer_promotion(a, b)


def cast(node: Node, type_: ValueType, span: Span, *, implicit: bool = False) -> Node:
    """Conversion; constants are converted in place when their value survives."""
    if node.type == type_:
        return node
    if isinstance(node, Constant) and isinstance(type_, ScalarType) and not node.shape:
        value = node.value
        if not type_.is_integer:
            return constant(value, type_, node.span)
        if isinstance(value, int) and type_.minimum <= value <= type_.maximum and type_.bits > 1:
            return Constant(int(value), type_, node.span)
    if isinstance(node, Broadcast) and isinstance(node.operand, Constant):
        inner = cast(node.operand, type_, span, implicit=implicit)
        if isinstance(inner, Constant):
            return Broadcast(inner, type_, node.shape, node.span)
    return Cast(node, type_, node.shape, span, implicit)


def broadcast_to(node: Node, shape: Shape, span: Span) -> Node:
    """`node` with `shape`: new leading axes, extents of 1 repeated."""
    if node.shape == shape:
        return node
    if node.shape:
        while len(node.shape) < len(shape):
            node = ExpandDims(node, 0, node.type, (1, *node.shape), node.span)
        if node.shape == shape:
            return node
        if any(a not in (1, b) for a, b in zip(node.shape, shape, strict=False)) or len(node.shape) != len(shape):
            raise NotUnderstood(f"shapes {node.shape} and {shape} do not broadcast")
    return Broadcast(node, node.type, shape, node.span)


def common_shape(*nodes: Node) -> Shape:
    rank = max(len(n.shape) for n in nodes)
    result: list[int] = []
    for axis in range(-rank, 0):
        extents = {n.shape[axis] for n in nodes if len(n.shape) >= -axis} - {1}
        if len(extents) > 1:
            raise NotUnderstood(f"shapes {' and '.join(str(n.shape) for n in nodes)} do not broadcast")
        result.append(extents.pop() if extents else 1)
    return tuple(result)


def alike(span: Span, *nodes: Node) -> tuple[Node, ...]:
    """The nodes broadcast to their common shape."""
    if all(n.shape == nodes[0].shape for n in nodes):
        return nodes
    shape = common_shape(*nodes)
    return tuple(broadcast_to(n, shape, span) for n in nodes)


def promoted(
    operator: BinaryOperator, left: Node | Static, right: Node | Static, span: Span
) -> tuple[Node, Node]:
    """Operands converted to the computation type and broadcast."""
    division = operator in DIVISIONS
    first, second = tensor(left, span), tensor(right, span)
    if isinstance(first.type, PointerType) or isinstance(second.type, PointerType):
        a, b = alike(span, first, second)
        return a, b
    a_type, b_type = scalar_of(first.type), scalar_of(second.type)
    type_ = computation_type(a_type, isinstance(left, Static), b_type, isinstance(right, Static), division)
    first = _operand(left, first, type_, span)
    second = _operand(right, second, type_, span)
    a, b = alike(span, first, second)
    return a, b


def _operand(given: Node | Static, node: Node, type_: ScalarType, span: Span) -> Node:
    if not isinstance(given, Static):
        return cast(node, type_, span, implicit=True)
    value = given.value
    if type_.is_integer and isinstance(value, int) and not isinstance(value, bool):
        if not type_.minimum <= value <= type_.maximum:
            raise DoesNotCompile(f"scalar {value} is out of range for type {type_.name}", span)
    return constant(value, type_, node.span)


def binary(operator: BinaryOperator, left: Node | Static, right: Node | Static, span: Span) -> Node:
    """A binary operation with Triton's conversions; pointer sums included."""
    first, second = promoted(operator, left, right, span)
    if isinstance(first.type, PointerType) or isinstance(second.type, PointerType):
        return _pointer_operation(operator, first, second, span)
    type_ = scalar_of(first.type)
    if operator in COMPARISONS:
        return Binary(operator, first, second, INT1, first.shape, span)
    if operator is BinaryOperator.TRUE_DIVIDE and type_.is_integer:
        first, second = (cast(n, FLOAT32, span, implicit=True) for n in (first, second))
        type_ = FLOAT32
    if operator in BITWISE and not type_.is_integer:
        raise NotUnderstood(f"{operator.value} on {type_.name}")
    return Binary(operator, first, second, type_, first.shape, span)


def _pointer_operation(operator: BinaryOperator, left: Node, right: Node, span: Span) -> Node:
    if operator in COMPARISONS:
        return opaque(INT1, left.shape, span, "a comparison of pointers", (left, right))
    if operator is BinaryOperator.ADD and not isinstance(left.type, PointerType):
        left, right = right, left
    offset = right
    if operator is BinaryOperator.SUBTRACT and not isinstance(right.type, PointerType):
        zero = Constant(0, scalar_of(right.type), span)
        offset = Binary(
            BinaryOperator.SUBTRACT, broadcast_to(zero, right.shape, span), right, scalar_of(right.type), right.shape, span
        )
    elif operator is not BinaryOperator.ADD or isinstance(right.type, PointerType):
        raise NotUnderstood(f"{operator.value} on pointers")
    if not scalar_of(offset.type).is_integer:
        raise NotUnderstood("a pointer plus a float")
    return PointerAdd(left, offset, left.type, left.shape, span)


def opaque(
    type_: ValueType, shape: Shape, span: Span, detail: str, operands: tuple[Node, ...] = (),
    reason: UnknownReason = UnknownReason.NOT_MODELLED,
) -> Opaque:  # fmt: skip
    return Opaque(reason, detail, type_, shape, span, operands)


def truth(value: Node | Static, span: Span) -> Node:
    """A condition as int1."""
    node = tensor(value, span)
    if node.type == INT1:
        return node
    return Cast(node, INT1, node.shape, span, True)


def where(condition: Node | Static, if_true: Node | Static, if_false: Node | Static, span: Span) -> Node:
    """`tl.where` with promotion of its values."""
    test = truth(condition, span)
    first, second = promoted(BinaryOperator.ADD, if_true, if_false, span)
    test, first, second = alike(span, test, first, second)
    return Where(test, first, second, first.type, first.shape, span)


def invert(value: Node, span: Span) -> Node:
    type_ = scalar_of(value.type)
    if not type_.is_integer:
        raise NotUnderstood("~ on a float")
    return Invert(value, type_, value.shape, span)
