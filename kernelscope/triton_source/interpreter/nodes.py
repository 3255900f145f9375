"""Making index-program nodes: constants folded, shapes aligned, integer operations recorded."""

from __future__ import annotations

from collections.abc import Sequence

from kernelscope.triton_source.index_program import (
    COMPARISONS,
    Absolute,
    Arange,
    Binary,
    BinaryOperator,
    Broadcast,
    Cast,
    Constant,
    ExpandDims,
    Invert,
    Negate,
    Node,
    NumPrograms,
    Opaque,
    Permute,
    PointerAdd,
    ProgramId,
    Reduce,
    Shape,
    UnknownReason,
    Where,
)
from kernelscope.triton_source.interpreter.folding import fold
from kernelscope.triton_source.interpreter.promotion import is_unsigned
from kernelscope.triton_source.interpreter.state import State, element_count
from kernelscope.triton_source.interpreter.values import is_integer
from kernelscope.triton_source.scalar_types import INT1, Kind, PointerType, ScalarType, ValueType

_MOST_ELEMENTS = 1 << 20


def constant(s: State, value: int | float, kind: ScalarType, shape: Shape = ()) -> Constant:
    """A constant, the same node for the same value, type and shape."""
    if kind.is_integer:
        value = int(value)
    key = ("constant", repr(value) if isinstance(value, float) else value, kind.name, shape)
    known = s.shared.get(key)
    if isinstance(known, Constant):
        return known
    s.spend()
    made = Constant(value, kind, s.span, shape)
    s.shared[key] = made
    return made


def program_id(s: State, axis: int) -> Node:
    s.program_id_spans.setdefault(axis, s.span)
    return _shared(s, ("program_id", axis), lambda: ProgramId(axis, s.span))


def num_programs(s: State, axis: int) -> Node:
    return _shared(s, ("num_programs", axis), lambda: NumPrograms(axis, s.span))


def arange(s: State, start: int, end: int) -> Node:
    return _shared(s, ("arange", start, end), lambda: Arange(start, end, s.span, (end - start,)))


def _shared(s: State, key: tuple[object, ...], make: object) -> Node:
    known = s.shared.get(key)
    if known is None:
        s.spend()
        known = s.shared[key] = make()  # type: ignore[operator]
    return known


def opaque(
    s: State, kind: ValueType, shape: Shape, detail: str, operands: Sequence[Node] = (),
    reason: UnknownReason = UnknownReason.NOT_MODELLED,
) -> Opaque:  # fmt: skip
    """A value of this type that is not followed."""
    s.spend()
    return Opaque(reason, detail, kind, shape, s.span, tuple(operands))


def check_shape(s: State, shape: Shape) -> None:
    """Note a block that Triton would reject."""
    if any(extent <= 0 or extent & (extent - 1) for extent in shape):
        s.reject(f"shape {list(shape)} is not made of powers of two")
    elif element_count(shape) > _MOST_ELEMENTS:
        s.reject(f"a block of {element_count(shape)} elements is more than Triton's {_MOST_ELEMENTS}")


# -- shapes ---------------------------------------------------------------------------------------------------------


def broadcast(s: State, node: Node, shape: Shape) -> Node:
    """`node` repeated to `shape`, which it must be compatible with."""
    if node.shape == shape:
        return node
    if isinstance(node, Constant):
        return constant(s, node.value, node.type, shape)
    key = ("broadcast", id(node), shape)
    known = s.shared.get(key)
    if known is None:
        s.spend()
        known = s.shared[key] = Broadcast(node, node.type, shape, s.span)
    return known


def expand_dims(s: State, node: Node, axis: int) -> Node:
    """`node` with an axis of extent 1 put in at `axis`."""
    shape = (*node.shape[:axis], 1, *node.shape[axis:])
    if isinstance(node, Constant):
        return constant(s, node.value, node.type, shape)
    if not node.shape:
        return broadcast(s, node, shape)
    key = ("expand", id(node), axis)
    known = s.shared.get(key)
    if known is None:
        s.spend()
        known = s.shared[key] = ExpandDims(node, axis, node.type, shape, s.span)
    return known


def permute(s: State, node: Node, order: tuple[int, ...]) -> Node:
    shape = tuple(node.shape[axis] for axis in order)
    if order == tuple(range(len(order))):
        return node
    if isinstance(node, Constant):
        return constant(s, node.value, node.type, shape)
    s.spend()
    return Permute(node, order, node.type, shape, s.span)


def squeeze(s: State, node: Node, axis: int) -> Node:
    """`node` without its axis `axis`, which has extent 1."""
    shape = node.shape[:axis] + node.shape[axis + 1 :]
    match node:
        case Constant():
            return constant(s, node.value, node.type, shape)
        case ExpandDims(operand, expanded) if expanded == axis:
            return operand
        case ExpandDims(operand, expanded):
            inner = squeeze(s, operand, axis - (expanded < axis))
            return expand_dims(s, inner, expanded - (axis < expanded))
        case Broadcast(operand) if operand.shape:
            return broadcast(s, squeeze(s, operand, axis), shape)
        case Broadcast(operand):
            return broadcast(s, operand, shape)
    s.spend()
    if isinstance(node.type, ScalarType):
        return Reduce("max", node, axis, node.type, shape, s.span)
    return Opaque(UnknownReason.NOT_MODELLED, "pointers of another shape", node.type, shape, s.span, (node,))


def align(s: State, left: Node, right: Node) -> tuple[Node, Node]:
    """Two operands brought to one shape by Triton's broadcasting."""
    if left.shape == right.shape:
        return left, right
    if not right.shape:
        return left, broadcast(s, right, left.shape)
    if not left.shape:
        return broadcast(s, left, right.shape), right
    while len(left.shape) < len(right.shape):
        left = expand_dims(s, left, 0)
    while len(right.shape) < len(left.shape):
        right = expand_dims(s, right, 0)
    shape: list[int] = []
    for a, b in zip(left.shape, right.shape, strict=True):
        if a != b and a != 1 and b != 1:
            s.reject(f"shapes {list(left.shape)} and {list(right.shape)} do not match")
        shape.append(b if a == 1 else a)
    return broadcast(s, left, tuple(shape)), broadcast(s, right, tuple(shape))


def align_all(s: State, first: Node, *others: Node) -> list[Node]:
    """Operands brought to one shape."""
    nodes = [first, *others]
    for _ in range(2):
        for index in range(1, len(nodes)):
            nodes[0], nodes[index] = align(s, nodes[0], nodes[index])
    return nodes


# -- operations -----------------------------------------------------------------------------------------------------


def binary(s: State, operator: BinaryOperator, left: Node, right: Node, kind: ScalarType) -> Node:
    """An operation on operands of one type and shape; of constants its value, where that fits."""
    s.spend()
    made = Binary(operator, left, right, kind, left.shape, s.span)
    if is_integer(left):
        if s.recording:
            s.operations.append(made)
        if isinstance(left, Constant) and isinstance(right, Constant):
            value = fold(operator, int(left.value), int(right.value), kind)
            if value is not None:
                return constant(s, value, kind, left.shape)
    return made


def comparison(s: State, operator: BinaryOperator, left: Node, right: Node) -> Node:
    assert operator in COMPARISONS
    return binary(s, operator, left, right, INT1)


def pointer_add(s: State, pointer: Node, offset: Node) -> Node:
    s.spend()
    made = PointerAdd(pointer, offset, pointer.type, pointer.shape, s.span)
    if s.recording and isinstance(offset.type, ScalarType) and is_unsigned(offset.type) and offset.type.bits < 64:
        s.operations.append(made)  # Triton widens the offset itself
    return made


def negate(s: State, node: Node) -> Node:
    assert isinstance(node.type, ScalarType)
    if isinstance(node, Constant) and (node.type.kind is Kind.FLOAT or -node.value >= node.type.minimum):
        folded = -node.value
        if node.type.kind is Kind.FLOAT or folded <= node.type.maximum:
            return constant(s, folded, node.type, node.shape)
    s.spend()
    made = Negate(node, node.type, node.shape, s.span)
    if is_integer(node) and s.recording:
        s.operations.append(made)
    return made


def invert(s: State, node: Node) -> Node:
    """`~node`; of a condition, its opposite."""
    assert isinstance(node.type, ScalarType)
    s.spend()
    made = Invert(node, node.type, node.shape, s.span)
    if s.recording:
        s.operations.append(made)
    if isinstance(node, Constant):
        value = 1 - int(node.value) if node.type.bits == 1 else node.type.wrap(~int(node.value))
        return constant(s, value, node.type, node.shape)
    return made


def opposite(s: State, condition: Node) -> Node:
    """The negation of a condition, not an operation of the kernel itself."""
    if isinstance(condition, Invert):
        return condition.operand
    if isinstance(condition, Constant):
        return constant(s, int(not condition.value), INT1, condition.shape)
    return _shared(s, ("opposite", id(condition)), lambda: Invert(condition, INT1, condition.shape, condition.span))


def both(s: State, left: Node, right: Node) -> Node:
    """The conjunction of two conditions, not an operation of the kernel itself."""
    return Binary(BinaryOperator.AND, left, right, INT1, left.shape, right.span)


def either(s: State, left: Node, right: Node) -> Node:
    """The disjunction of two conditions, not an operation of the kernel itself."""
    return Binary(BinaryOperator.OR, left, right, INT1, left.shape, right.span)


def absolute(s: State, node: Node) -> Node:
    assert isinstance(node.type, ScalarType)
    s.spend()
    return Absolute(node, node.type, node.shape, s.span)


def cast(s: State, node: Node, kind: ValueType, *, implicit: bool = False) -> Node:
    """`node` converted to `kind`, the node itself where that is its type."""
    if node.type is kind or node.type == kind:
        return node
    if isinstance(node, Constant) and isinstance(kind, ScalarType):
        folded = _cast_constant(s, node, kind)
        if folded is not None:
            if s.recording and node.type.is_integer and kind.is_integer:
                s.operations.append(Cast(node, kind, node.shape, s.span, implicit))
            return folded
    s.spend()
    made = Cast(node, kind, node.shape, s.span, implicit)
    if s.recording and is_integer(node) and isinstance(kind, ScalarType) and kind.is_integer:
        s.operations.append(made)
    return made


def _cast_constant(s: State, node: Constant, kind: ScalarType) -> Constant | None:
    if not kind.is_integer:
        return constant(s, float(node.value), kind, node.shape) if abs(node.value) < 2**1000 else None
    if kind.bits == 1:
        return constant(s, int(node.value != 0), kind, node.shape)
    if isinstance(node.value, float) and (node.value != node.value or abs(node.value) >= 2**63):
        return None
    value = int(node.value)
    return constant(s, value, kind, node.shape) if kind.minimum <= value <= kind.maximum else None


def where(s: State, condition: Node, if_true: Node, if_false: Node) -> Node:
    """A choice between two operands of one type and shape; `condition` has their shape."""
    if if_true is if_false:
        return if_true
    if isinstance(condition, Constant):
        return if_true if condition.value else if_false
    s.spend()
    return Where(condition, if_true, if_false, if_true.type, if_true.shape, s.span)


def pointer_element(node: Node) -> ScalarType:
    """The element type of a pointer."""
    assert isinstance(node.type, PointerType)
    return node.type.element
