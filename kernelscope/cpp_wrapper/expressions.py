"""C++ integer expressions as host expressions, with the types of C's usual arithmetic conversions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from kernelscope.cpp_wrapper.syntax import Node, ParsedFunction, argument_nodes, field, unwrapped
from kernelscope.frozen import frozen_dataclass
from kernelscope.launches.host_arithmetic import apply, negation
from kernelscope.launches.host_expression import (
    HostCast,
    HostConstant,
    HostExpression,
    HostOperator,
    HostSelect,
    HostType,
    HostUnknown,
)
from kernelscope.launches.scaled_sizes import scaled

MAX_DEPTH = 200
#: Expressions larger than this are not followed: they come from no wrapper that Inductor writes.
MAX_SIZE = 4000


@frozen_dataclass(frozen=True, slots=True)
class TypedExpression:
    """A value and the C type that it has; `type` None: not an integer, or not known. `size` counts its nodes."""

    value: HostExpression
    type: HostType | None
    size: int = 1


C_TYPES = {
    "int": HostType.INT32, "int32_t": HostType.INT32, "unsigned": HostType.UINT32, "unsigned int": HostType.UINT32,
    "uint32_t": HostType.UINT32, "long": HostType.INT64, "long long": HostType.INT64, "int64_t": HostType.INT64,
    "std::int64_t": HostType.INT64, "std::int32_t": HostType.INT32, "size_t": HostType.UINT64,
    "uint64_t": HostType.UINT64, "unsigned long": HostType.UINT64, "bool": HostType.INT32,
}  # fmt: skip

_BINARY = {
    "+": HostOperator.ADD, "-": HostOperator.SUBTRACT, "*": HostOperator.MULTIPLY,
    "/": HostOperator.TRUNCATED_DIVIDE, "%": HostOperator.TRUNCATED_REMAINDER,
    "<": HostOperator.LESS, "<=": HostOperator.LESS_EQUAL, "==": HostOperator.EQUAL, "!=": HostOperator.NOT_EQUAL,
    "&&": HostOperator.AND, "||": HostOperator.OR,
}  # fmt: skip
_SWAPPED = {">": HostOperator.LESS, ">=": HostOperator.LESS_EQUAL}
_LOGICAL = frozenset(
    {HostOperator.LESS, HostOperator.LESS_EQUAL, HostOperator.EQUAL, HostOperator.NOT_EQUAL, HostOperator.AND,
     HostOperator.OR}
)  # fmt: skip
_EXTREMA = {"std::min": HostOperator.MINIMUM, "std::max": HostOperator.MAXIMUM}
_ROUNDING = {"std::trunc": "trunc", "std::floor": "floor", "std::ceil": "ceil"}
_DOUBLE = re.compile(r"[0-9]{1,18}\.[0-9]{0,18}")
_LONGEST_LITERAL = 100
_LITERAL = re.compile(r"(-?)(0[xX][0-9a-fA-F']+|[0-9']+)([uUlL]*)$")


def unknown(text: str, reason: str) -> TypedExpression:
    """An expression that is not followed."""
    return TypedExpression(HostUnknown(" ".join(text.split())[:200], reason), None)


class ExpressionReader:
    """Reads expression nodes of one function; `names` holds the values of its variables at that point."""

    def __init__(self, function: ParsedFunction, names: Mapping[str, TypedExpression]) -> None:
        self._function = function
        self._names = names

    def read(self, node: Node, depth: int = 0) -> TypedExpression:
        """The value of an expression; anything not understood becomes a HostUnknown."""
        if depth > MAX_DEPTH:
            return self._unknown(node, "the expression is nested too deeply")
        node = unwrapped(node)
        extended = self.extension(node) if node.type in ("subscript_expression", "call_expression") else None
        if extended is not None:
            return extended
        match node.type:
            case "number_literal":
                return _literal(self._function.text(node))
            case "true" | "false":
                return TypedExpression(HostConstant(int(node.type == "true")), HostType.INT32)
            case "identifier":
                name = self._function.text(node)
                return self._names.get(name) or self._unknown(node, "the variable is not followed")
            case "binary_expression":
                return self._binary(node, depth)
            case "unary_expression":
                return self._unary(node, depth)
            case "conditional_expression":
                return self._conditional(node, depth)
            case "cast_expression":
                return self._cast(field(node, "type"), field(node, "value"), node, depth)
            case "call_expression":
                return self._call(node, depth)
        return self._unknown(node, "the expression is not modelled")

    def extension(self, node: Node) -> TypedExpression | None:
        """A subclass's reading of a subscript or call that means more in its place."""
        return None

    def _unknown(self, node: Node, reason: str) -> TypedExpression:
        return unknown(self._function.text(node), reason)

    def _binary(self, node: Node, depth: int) -> TypedExpression:
        sign = self._function.text(field(node, "operator"))
        left = self.read(field(node, "left"), depth + 1)
        right = self.read(field(node, "right"), depth + 1)
        if sign in _SWAPPED:
            return combined(_SWAPPED[sign], right, left)
        if sign == "<<":
            return self._shift(node, left, right)
        if sign not in _BINARY:
            return self._unknown(node, f"the operator {sign} is not modelled")
        return combined(_BINARY[sign], left, right)

    def _shift(self, node: Node, left: TypedExpression, right: TypedExpression) -> TypedExpression:
        if isinstance(right.value, HostConstant) and 0 <= right.value.value < 63 and left.type is not None:
            factor = TypedExpression(HostConstant(1 << right.value.value), left.type)
            return combined(HostOperator.MULTIPLY, left, factor)
        return self._unknown(node, "a shift by an amount that is not constant")

    def _unary(self, node: Node, depth: int) -> TypedExpression:
        sign = self._function.text(field(node, "operator"))
        operand = self.read(field(node, "argument"), depth + 1)
        zero = TypedExpression(HostConstant(0), HostType.INT32)
        match sign:
            case "+":
                return operand
            case "-":
                return combined(HostOperator.SUBTRACT, zero, operand)
            case "!":
                return negated(operand)
        return self._unknown(node, f"the operator {sign} is not modelled")

    def _conditional(self, node: Node, depth: int) -> TypedExpression:
        condition = self.read(field(node, "condition"), depth + 1)
        if_true = self.read(field(node, "consequence"), depth + 1)
        if_false = self.read(field(node, "alternative"), depth + 1)
        return select(condition, if_true, if_false)

    def _cast(self, type_node: Node, value: Node, node: Node, depth: int) -> TypedExpression:
        target = C_TYPES.get(self._function.text(type_node).strip())
        if target is None:
            return self._unknown(node, "not an integer type")
        rounded = self._rounded(unwrapped(value), depth) if value.type == "call_expression" else None
        if rounded is not None:
            return converted(rounded, target)
        return converted(self.read(value, depth + 1), target)

    def _rounded(self, node: Node, depth: int) -> TypedExpression | None:
        """`std::trunc(1.5*static_cast<double>(s0))`."""
        rounding = _ROUNDING.get(self._function.text(field(node, "function")))
        arguments = argument_nodes(node)
        if rounding is None or len(arguments) != 1:
            return None
        product = unwrapped(arguments[0])
        if product.type != "binary_expression" or self._function.text(field(product, "operator")) != "*":
            return None
        factor, size = unwrapped(field(product, "left")), unwrapped(field(product, "right"))
        made_double = _DOUBLE.fullmatch(self._function.text(factor)) and size.type == "call_expression"
        if not made_double or self._function.text(field(size, "function")) != "static_cast<double>":
            return None
        operand = self.read(argument_nodes(size)[0], depth + 1)
        if operand.type is None:
            return None
        value = scaled(float(self._function.text(factor)), operand.value, rounding)
        return None if value is None else TypedExpression(value, HostType.INT64, operand.size + 4)

    def _call(self, node: Node, depth: int) -> TypedExpression:
        callee = field(node, "function")
        arguments = argument_nodes(node)
        if callee.type == "template_function" and self._function.text(field(callee, "name")) == "static_cast":
            types = field(callee, "arguments").named_children
            if len(types) == 1 and len(arguments) == 1:
                return self._cast(types[0], arguments[0], node, depth)
        name = self._function.text(callee).partition("<")[0]
        if name in _EXTREMA:
            return self._extremum(_EXTREMA[name], node, arguments, depth)
        if name in C_TYPES and len(arguments) == 1:
            return converted(self.read(arguments[0], depth + 1), C_TYPES[name])
        if name in ("c10::div_floor_integer", "c10::div_mod") and len(arguments) == 2:
            operator = HostOperator.FLOOR_DIVIDE if name.endswith("integer") else HostOperator.FLOOR_REMAINDER
            return combined(operator, *(self.read(argument, depth + 1) for argument in arguments))
        return self._unknown(node, f"the function {name} is not modelled")

    def _extremum(
        self, operator: HostOperator, node: Node, arguments: tuple[Node, ...], depth: int
    ) -> TypedExpression:
        if len(arguments) == 1 and arguments[0].type == "initializer_list":
            arguments = tuple(arguments[0].named_children)
        values = [self.read(argument, depth + 1) for argument in arguments]
        if not values:
            return self._unknown(node, "no operands")
        result = values[0]
        for value in values[1:]:
            result = combined(operator, result, value)
        return result


@lru_cache(maxsize=4096)
def _literal(text: str) -> TypedExpression:
    match = _LITERAL.match(text)
    if match is None or len(text) > _LONGEST_LITERAL:
        return unknown(text, "not an integer")
    digits = match.group(2).replace("'", "")
    if digits.isdigit() and len(digits) > 1 and digits[0] == "0":
        return unknown(text, "an octal literal")
    value = int(digits, 16 if digits[:2].lower() == "0x" else 10)
    suffix = match.group(3).lower()
    wide = "l" in suffix or value > 0x7FFFFFFF
    kind = {(False, False): HostType.INT32, (True, False): HostType.INT64, (False, True): HostType.UINT32,
            (True, True): HostType.UINT64}[(wide, "u" in suffix)]  # fmt: skip
    literal = TypedExpression(HostConstant(value), kind)
    zero = TypedExpression(HostConstant(0), HostType.INT32)
    return combined(HostOperator.SUBTRACT, zero, literal) if match.group(1) else literal


def common_type(left: HostType, right: HostType) -> HostType:
    """The type of C's usual arithmetic conversions."""
    if left is right:
        return left
    bits = max(left.bits or 64, right.bits or 64)
    wide = [kind for kind in (left, right) if (kind.bits or 64) == bits]
    unsigned = any(not kind.signed for kind in wide)
    if bits == 64:
        return HostType.UINT64 if unsigned else HostType.INT64
    return HostType.UINT32 if unsigned else HostType.INT32


def converted(operand: TypedExpression, target: HostType) -> TypedExpression:
    """`operand` as type `target`: a cast only where it can change the value."""
    if operand.type is None:
        return TypedExpression(operand.value, target if isinstance(operand.value, HostUnknown) else None, operand.size)
    if _keeps_value(operand, target):
        return TypedExpression(operand.value, target, operand.size)
    return TypedExpression(HostCast(operand.value, target), target, operand.size + 1)


def _keeps_value(operand: TypedExpression, target: HostType) -> bool:
    source, bits = operand.type, target.bits or 64
    if isinstance(operand.value, HostConstant):
        low = -(1 << (bits - 1)) if target.signed else 0
        return low <= operand.value.value < (1 << (bits - 1 if target.signed else bits))
    if source is None or source is target:
        return True
    return (source.bits or 64) < bits and (target.signed or not source.signed)


def combined(operator: HostOperator, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """`left operator right` after the usual arithmetic conversions; constants are folded."""
    for side in (left, right):
        if side.type is None:
            cause = side.value if isinstance(side.value, HostUnknown) else HostUnknown("", "not an integer")
            return TypedExpression(cause, None)
    if left.size + right.size > MAX_SIZE:
        return unknown(operator.value, "the expression is too large")
    kind = common_type(left.type or HostType.INT64, right.type or HostType.INT64)
    if operator not in (HostOperator.AND, HostOperator.OR):
        left, right = converted(left, kind), converted(right, kind)
    value = apply(operator, left.value, right.value, kind)
    return TypedExpression(value, HostType.INT32 if operator in _LOGICAL else kind, left.size + right.size + 1)


def negated(condition: TypedExpression) -> TypedExpression:
    """`!condition`."""
    if condition.type is None:
        return condition
    return TypedExpression(negation(condition.value), HostType.INT32, condition.size + 1)


def select(condition: TypedExpression, if_true: TypedExpression, if_false: TypedExpression) -> TypedExpression:
    """`condition ? if_true : if_false` with the branches brought to one type."""
    for part in (condition, if_true, if_false):
        if part.type is None:
            return TypedExpression(part.value, None)
    size = condition.size + if_true.size + if_false.size
    if size > MAX_SIZE:
        return unknown("?:", "the expression is too large")
    if isinstance(condition.value, HostConstant):
        return if_true if condition.value.value else if_false
    kind = common_type(if_true.type or HostType.INT64, if_false.type or HostType.INT64)
    value = HostSelect(condition.value, converted(if_true, kind).value, converted(if_false, kind).value)
    return TypedExpression(value, kind, size + 1)
