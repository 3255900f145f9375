"""Operators on values: compile-time numbers stay Python's, nodes follow Triton's promotion and broadcasting."""

from __future__ import annotations

from kernelscope.triton_source.index_program import COMPARISONS, BinaryOperator, Node
from kernelscope.triton_source.interpreter import nodes
from kernelscope.triton_source.interpreter.constexpr_arithmetic import compute
from kernelscope.triton_source.interpreter.promotion import (
    computation_type,
    is_unsigned,
    literal_type,
    promote_integers,
)
from kernelscope.triton_source.interpreter.state import State
from kernelscope.triton_source.interpreter.values import Unknown, Value, is_node, is_number, is_pointer
from kernelscope.triton_source.scalar_types import (
    BFLOAT16,
    BY_NAME,
    FLOAT32,
    INT1,
    INT32,
    INT64,
    PointerType,
    ScalarType,
    ValueType,
)

Op = BinaryOperator

_ARITHMETIC = frozenset({Op.ADD, Op.SUBTRACT, Op.MULTIPLY})
_OF_TENSORS = COMPARISONS | {Op.MINIMUM, Op.MAXIMUM}
_BITWISE = frozenset({Op.AND, Op.OR, Op.XOR, Op.SHIFT_LEFT, Op.SHIFT_RIGHT})


def to_node(s: State, value: Value) -> Node | None:
    """A value as a tensor: a number gets the type that Triton gives it alone. None when it is not one."""
    if is_node(value):
        return value
    if is_number(value):
        kind = literal_type(value)
        if kind is None:
            s.reject(f"{value} is not representable")
            return nodes.opaque(s, INT64, (), "a number that no type holds")
        return nodes.constant(s, value, kind)
    return None


def apply(s: State, operator: BinaryOperator, left: Value, right: Value) -> Value:
    """`left operator right` as the kernel would compute it."""
    if operator in _ARITHMETIC:
        pair = _usual_pair(s, left, right)
        if pair is not None:
            return nodes.binary(s, operator, *pair)
    left_is_node, right_is_node = is_node(left), is_node(right)
    if not left_is_node and not right_is_node:
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            return left if isinstance(left, Unknown) else right
        return compute(s, operator, left, right)
    if not (left_is_node and right_is_node):
        if operator in _OF_TENSORS:
            left, right = _as_tensors(s, left, right)
        for operand in (left, right):
            if not is_node(operand) and not is_number(operand):
                if isinstance(operand, Unknown):
                    return _with_unknown(s, operator, left, right, operand)
                s.reject(f"`{operator.value}` does not take a {type(operand).__name__}")
                return Unknown(f"`{operator.value}` of a {type(operand).__name__}")
    if (is_node(left) and is_pointer(left)) or (is_node(right) and is_pointer(right)):
        return _pointer_operation(s, operator, left, right)
    return _scalar_operation(s, operator, left, right)


def _as_tensors(s: State, left: Value, right: Value) -> tuple[Value, Value]:
    return to_node(s, left) or left, to_node(s, right) or right


def _with_unknown(s: State, operator: BinaryOperator, left: Value, right: Value, unknown: Unknown) -> Value:
    """A pointer moved by an unknown offset stays a pointer; anything else is unknown."""
    s.guessed = True
    known = left if is_node(left) else right
    if is_node(known) and is_pointer(known) and operator in (Op.ADD, Op.SUBTRACT):
        offset = nodes.opaque(s, INT64, known.shape, unknown.detail)
        return nodes.pointer_add(s, known, offset)
    if operator in COMPARISONS and is_node(known):
        return nodes.opaque(s, INT1, known.shape, unknown.detail, (known,))
    return unknown


def _pointer_operation(s: State, operator: BinaryOperator, left: Value, right: Value) -> Value:
    a, b = to_node(s, left), to_node(s, right)
    assert a is not None and b is not None
    if operator is Op.ADD and is_pointer(b) and not is_pointer(a):
        a, b = b, a
    if operator in (Op.ADD, Op.SUBTRACT) and is_pointer(a) and not is_pointer(b):
        if not (isinstance(b.type, ScalarType) and b.type.is_integer):
            s.reject("a pointer moves by integers only")
        a, b = nodes.align(s, a, b)
        return nodes.pointer_add(s, a, b if operator is Op.ADD else nodes.negate(s, b))
    if operator in COMPARISONS:
        a, b = nodes.align(s, a, b)
        return nodes.opaque(s, INT1, a.shape, "a comparison of pointers", (a, b))
    s.reject(f"`{operator.value}` does not take pointers")
    return Unknown(f"`{operator.value}` of pointers")


def unify(
    s: State, left: Value, right: Value, *, division: bool = False
) -> tuple[Node, Node, ScalarType] | None:
    """Two operands, neither a pointer, in one type and shape; None (and a note) where Triton rejects them."""
    usual = _usual_pair(s, left, right)
    if usual is not None:
        return usual
    left_type, right_type = _type_of(left), _type_of(right)
    if not isinstance(left_type, ScalarType) or not isinstance(right_type, ScalarType):
        s.reject("operands of incompatible types")
        return None
    kind = computation_type(left_type, is_number(left), right_type, is_number(right), division=division)
    if kind is None:
        s.reject(f"operands of types {left_type.name} and {right_type.name} do not go together")
        return None
    a, b = _converted(s, left, kind), _converted(s, right, kind)
    if a is None or b is None:
        return None
    a, b = nodes.align(s, a, b)
    return a, b, kind


def _usual_pair(s: State, left: Value, right: Value) -> tuple[Node, Node, ScalarType] | None:
    """Two operands of one type, or one and a literal that it holds; None for all others, to which the rules apply."""
    if is_node(left):
        kind = left.type
        if is_node(right):
            if kind is right.type and isinstance(kind, ScalarType) and (kind.is_integer or kind is FLOAT32):
                return *nodes.align(s, left, right), kind
            return None
        literal = _literal_beside(s, left, right)
        return None if literal is None else (left, *literal)
    if is_node(right):
        literal = _literal_beside(s, right, left)
        return None if literal is None else (literal[0], right, literal[1])
    return None


def _literal_beside(s: State, node: Node, value: Value) -> tuple[Node, ScalarType] | None:
    """A literal in the type and shape of the operand beside it, where it takes that type without a further rule."""
    kind = node.type
    if not isinstance(kind, ScalarType):
        return None
    if type(value) is int:
        if not (kind.is_integer and kind.bits > 1 and kind.minimum <= value <= kind.maximum):
            return None
    elif kind is not FLOAT32 or type(value) is not float:
        return None
    return nodes.broadcast(s, nodes.constant(s, value, kind), node.shape), kind


def _type_of(value: Value) -> ValueType | None:
    if is_node(value):
        return value.type
    return literal_type(value) if is_number(value) else None


def _converted(s: State, value: Value, kind: ScalarType) -> Node | None:
    if is_node(value):
        return nodes.cast(s, value, kind, implicit=True)
    assert is_number(value)
    if kind.is_integer and (isinstance(value, float) or not kind.minimum <= value <= kind.maximum):
        s.reject(f"Scalar {value} is out of range for type {kind.name}")
        return None
    return nodes.constant(s, value, kind)


def _scalar_operation(s: State, operator: BinaryOperator, left: Value, right: Value) -> Value:
    dividing = operator in (Op.FLOOR_DIVIDE, Op.REMAINDER, Op.TRUE_DIVIDE)
    if operator in (Op.MINIMUM, Op.MAXIMUM):
        left, right = _without_bfloat16(s, left), _without_bfloat16(s, right)
    shifts_by_sign = operator is Op.SHIFT_RIGHT and _shift_is_arithmetic(left, right)
    unified = unify(s, left, right, division=dividing)
    if unified is None:
        return _rejected(s, operator, left if is_node(left) else right)
    a, b, kind = unified
    if operator in COMPARISONS:
        return nodes.comparison(s, operator, a, b)
    if operator is Op.TRUE_DIVIDE:
        return _true_divide(s, a, b, kind)
    if operator in _BITWISE or operator is Op.FLOOR_DIVIDE:
        if not kind.is_integer:
            s.reject(f"`{operator.value}` does not take {kind.name}")
            return Unknown(f"`{operator.value}` of {kind.name}")
        if operator is Op.SHIFT_LEFT and kind.bits == 1:
            nodes.binary(s, operator, a, b, kind)  # an operation of the kernel all the same
            return nodes.opaque(s, kind, a.shape, "a shift of conditions", (a, b))
        if operator is Op.SHIFT_RIGHT and shifts_by_sign == is_unsigned(kind):
            return _shift_as_other_sign(s, a, b, kind)
    return nodes.binary(s, operator, a, b, kind)


def _rejected(s: State, operator: BinaryOperator, operand: Value) -> Value:
    """What stands for the result of an operation that does not compile, so that the rest can still be read."""
    assert is_node(operand)
    kind = INT1 if operator in COMPARISONS else operand.type
    return nodes.opaque(s, kind, operand.shape, f"`{operator.value}` of operands that Triton rejects", (operand,))


def _shift_is_arithmetic(left: Value, right: Value) -> bool:
    operand = left if is_node(left) else right
    assert is_node(operand) and isinstance(operand.type, ScalarType)
    return not is_unsigned(operand.type)


def _shift_as_other_sign(s: State, left: Node, right: Node, kind: ScalarType) -> Node:
    """A shift whose kind follows its first operand, not the type that both were promoted to."""
    if kind.bits == 1:
        return nodes.opaque(s, kind, left.shape, "a shift of conditions", (left, right))
    other = BY_NAME[kind.name.removeprefix("u") if is_unsigned(kind) else f"u{kind.name}"]
    shifted = nodes.binary(
        s, Op.SHIFT_RIGHT, nodes.cast(s, left, other, implicit=True), nodes.cast(s, right, other, implicit=True), other
    )
    return nodes.cast(s, shifted, kind, implicit=True)


def _without_bfloat16(s: State, value: Value) -> Value:
    if is_node(value) and value.type is BFLOAT16:
        return nodes.cast(s, value, FLOAT32, implicit=True)
    return value


def _true_divide(s: State, left: Node, right: Node, kind: ScalarType) -> Node:
    if kind.is_integer:
        left, right = nodes.cast(s, left, FLOAT32, implicit=True), nodes.cast(s, right, FLOAT32, implicit=True)
        kind = FLOAT32
    return nodes.binary(s, Op.TRUE_DIVIDE, left, right, kind)


def choose(s: State, condition: Value, if_true: Value, if_false: Value) -> Value:
    """`tl.where(condition, if_true, if_false)`."""
    test = to_node(s, condition)
    for value in (if_true, if_false, condition):
        if isinstance(value, Unknown):
            return value
    if test is None or not (is_node(if_true) or is_number(if_true)) or not (is_node(if_false) or is_number(if_false)):
        s.reject("tl.where takes tensors")
        return Unknown("tl.where of something else than tensors")
    test = nodes.cast(s, test, INT1, implicit=True)
    pair = _choices(s, if_true, if_false)
    if pair is None:
        return Unknown("tl.where of operands that Triton rejects")
    a, b = pair
    if test.shape:
        test, a = nodes.align(s, test, a)
        a, b = nodes.align(s, a, b)
    else:
        test = nodes.broadcast(s, test, a.shape)
    return nodes.where(s, test, a, b)


def _choices(s: State, left: Value, right: Value) -> tuple[Node, Node] | None:
    a, b = to_node(s, left), to_node(s, right)
    if a is not None and b is not None and (is_pointer(a) or is_pointer(b)):
        if a.type != b.type:
            s.reject("tl.where of different pointer types")
            return None
        return nodes.align(s, a, b)
    if is_number(left) and is_number(right):
        assert a is not None and b is not None
        left, right = a, b
        kind = _literal_pair_type(a, b)
        return nodes.cast(s, a, kind, implicit=True), nodes.cast(s, b, kind, implicit=True)
    unified = unify(s, left, right)
    return None if unified is None else (unified[0], unified[1])


def _literal_pair_type(left: Node, right: Node) -> ScalarType:
    assert isinstance(left.type, ScalarType) and isinstance(right.type, ScalarType)
    kind = computation_type(left.type, True, right.type, True, division=False)
    return kind or left.type


def as_scalar_type(s: State, value: Value, kind: ScalarType) -> Node:
    """A size, stride or coordinate as a scalar of an exact type."""
    node = to_node(s, value)
    if node is None:
        return nodes.opaque(s, kind, (), value.detail if isinstance(value, Unknown) else "not an integer")
    if not (isinstance(node.type, ScalarType) and node.type.is_integer):
        s.reject("expected an integer")
        return nodes.opaque(s, kind, (), "not an integer")
    while node.shape:
        node = nodes.squeeze(s, node, 0)
    return nodes.cast(s, node, kind, implicit=True)


def loop_type(*bounds: Node) -> ScalarType:
    """The type of a loop counter with these bounds."""
    kind = bounds[0].type
    assert isinstance(kind, ScalarType)
    for bound in bounds[1:]:
        assert isinstance(bound.type, ScalarType)
        kind = promote_integers(kind, bound.type)
    return kind


def unary_minus(s: State, value: Value) -> Value:
    if is_number(value):
        return -value
    if is_node(value) and isinstance(value.type, ScalarType):
        return nodes.negate(s, value)
    return value if isinstance(value, Unknown) else _bad_unary(s, "-", value)


def bitwise_not(s: State, value: Value) -> Value:
    if is_node(value) and isinstance(value.type, ScalarType) and value.type.is_integer:
        return nodes.invert(s, value)
    if isinstance(value, int):
        return ~value
    return value if isinstance(value, Unknown) else _bad_unary(s, "~", value)


def logical_not(s: State, value: Value) -> Value:
    if not is_node(value):
        return value if isinstance(value, Unknown) else not value
    if value.type is not INT1:
        if getattr(value.type, "bits", 0) != 1:
            s.reject("`not` takes an int1")
        return nodes.opaque(s, INT1, value.shape, "`not` of something else than a condition", (value,))
    return nodes.invert(s, value)


def logical(s: State, operator: BinaryOperator, left: Value, right: Value) -> Value:
    """`and` and `or` of tensors."""
    a, b = to_node(s, left), to_node(s, right)
    if a is None or b is None:
        return Unknown("`and`/`or` of something else than conditions")
    for node in (a, b):
        if node.type is not INT1:
            s.reject("`and` and `or` take int1")
            return nodes.opaque(s, INT1, a.shape, "`and`/`or` of something else than conditions", (a, b))
    a, b = nodes.align(s, a, b)
    return nodes.binary(s, operator, a, b, INT1)


def _bad_unary(s: State, sign: str, value: Value) -> Value:
    s.reject(f"`{sign}` does not take a {type(value).__name__}")
    return Unknown(f"`{sign}` of a {type(value).__name__}")


def is_pointer_type(kind: Value) -> bool:
    return isinstance(kind, PointerType)


__all__ = ["INT32", "apply", "as_scalar_type", "choose", "logical", "logical_not", "loop_type", "to_node", "unify"]
