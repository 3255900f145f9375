"""Expressions: the value of a syntax node."""

from __future__ import annotations

import ast
from collections.abc import Callable

from kernelscope.triton_source.index_program import BinaryOperator, Constant
from kernelscope.triton_source.interpreter import attributes, nodes, operators
from kernelscope.triton_source.interpreter.calls import call
from kernelscope.triton_source.interpreter.constexpr_arithmetic import MOST_BITS, power
from kernelscope.triton_source.interpreter.names import member
from kernelscope.triton_source.interpreter.shape_functions import as_single
from kernelscope.triton_source.interpreter.state import State
from kernelscope.triton_source.interpreter.values import (
    MissingParameter,
    Namespace,
    Unknown,
    Value,
    is_node,
    is_pointer,
)
from kernelscope.triton_source.missing import MissingConstexpr
from kernelscope.triton_source.scalar_types import INT1

Op = BinaryOperator

BINARY = {
    ast.Add: Op.ADD, ast.Sub: Op.SUBTRACT, ast.Mult: Op.MULTIPLY, ast.Div: Op.TRUE_DIVIDE,
    ast.FloorDiv: Op.FLOOR_DIVIDE, ast.Mod: Op.REMAINDER, ast.LShift: Op.SHIFT_LEFT, ast.RShift: Op.SHIFT_RIGHT,
    ast.BitAnd: Op.AND, ast.BitOr: Op.OR, ast.BitXor: Op.XOR,
}  # fmt: skip
_ABSENT = object()
_COMPARE = {
    ast.Lt: Op.LESS, ast.LtE: Op.LESS_EQUAL, ast.Gt: Op.GREATER, ast.GtE: Op.GREATER_EQUAL, ast.Eq: Op.EQUAL,
    ast.NotEq: Op.NOT_EQUAL,
}  # fmt: skip


def evaluate(s: State, node: ast.expr) -> Value:
    """The value of an expression."""
    kind = type(node)
    if kind is ast.Name:
        value = s.scope.get(node.id, _ABSENT)  # type: ignore[attr-defined]
        if value is not _ABSENT and type(value) is not MissingParameter:
            return value
    handler = _HANDLERS.get(kind)
    if handler is None:
        s.at = node
        s.give_up_on(f"the expression {type(node).__name__}")
        return Unknown(f"the expression {type(node).__name__}")
    return handler(s, node)


def _constant(s: State, node: ast.Constant) -> Value:
    value = node.value
    if isinstance(value, int):
        if value.bit_length() > MOST_BITS:
            s.at = node
            raise s.failure("a number is absurdly large")
        return value
    if value is None or isinstance(value, (float, str)):
        return value
    return Unknown("a constant")


def read_name(s: State, node: ast.Name) -> Value:
    """The value of a variable, whether `node` reads it or (in `x += 1`) sets it."""
    value = s.scope.get(node.id, _ABSENT)
    if value is _ABSENT:
        return _global(s, node)
    if type(value) is MissingParameter:
        raise MissingConstexpr(value.name)
    return value


def _global(s: State, node: ast.Name) -> Value:
    try:
        value = s.globals[node.id]
    except KeyError:
        s.at = node
        s.give_up_on(f"the name {node.id} is not known here")
        return Unknown(node.id)
    return evaluate_global(s, node.id, value)


def evaluate_global(s: State, name: str, value: Value) -> Value:
    """A module-level constant is evaluated where it is first used."""
    if isinstance(value, ast.expr):
        if name in s.global_values:
            return s.global_values[name]
        s.global_values[name] = Unknown(name)
        scope, s.scope = s.scope, {}
        s.global_values[name] = result = evaluate(s, value)
        s.scope = scope
        return result
    return value


def _attribute(s: State, node: ast.Attribute) -> Value:
    base = node.value
    if type(base) is ast.Name and base.id not in s.scope:
        namespace = s.globals.get(base.id)
        if type(namespace) is Namespace:
            s.at = node
            return member(namespace.name, node.attr)
    value = evaluate(s, base)
    s.at = node
    return attributes.attribute(s, value, node.attr)


def _binary(s: State, node: ast.BinOp) -> Value:
    chain = [node]
    left = node.left
    while isinstance(left, ast.BinOp):
        chain.append(left)
        left = left.left
    value = evaluate(s, left)
    for current in reversed(chain):
        right = evaluate(s, current.right)
        s.at = current
        value = operate(s, type(current.op), value, right)
    return value


def operate(s: State, operator: type[ast.operator], left: Value, right: Value) -> Value:
    """`left operator right`."""
    kind = BINARY.get(operator)
    if kind is not None:
        return operators.apply(s, kind, left, right)
    if operator is ast.Pow and not is_node(left) and not is_node(right):
        return power(s, left, right)
    s.reject(f"the operator {operator.__name__} of tensors")
    return Unknown(f"the operator {operator.__name__}")


def _unary(s: State, node: ast.UnaryOp) -> Value:
    value = evaluate(s, node.operand)
    s.at = node
    match node.op:
        case ast.USub():
            return operators.unary_minus(s, value)
        case ast.Invert():
            return operators.bitwise_not(s, value)
        case ast.Not():
            return operators.logical_not(s, value)
        case _:
            return value


def _compare(s: State, node: ast.Compare) -> Value:
    left = evaluate(s, node.left)
    right = evaluate(s, node.comparators[0])
    s.at = node
    if len(node.ops) > 1:
        s.reject("a chain of comparisons")
        return Unknown("a chain of comparisons")
    operator = type(node.ops[0])
    if operator in (ast.Is, ast.IsNot):
        return _identical(left, right) is (operator is ast.Is)
    if operator in (ast.In, ast.NotIn):
        return _contained(left, right, operator is ast.In)
    if (left is None or right is None) and operator in (ast.Eq, ast.NotEq):
        return (left is right) is (operator is ast.Eq)
    return operators.apply(s, _COMPARE[operator], left, right)


def _identical(left: Value, right: Value) -> bool:
    if left is None or right is None:
        return left is right
    return left is right or (not is_node(left) and not is_node(right) and type(left) is type(right) and left == right)


def _contained(left: Value, right: Value, wanted: bool) -> Value:
    if not isinstance(right, tuple) or is_node(left) or any(is_node(item) for item in right):
        return Unknown("`in`")
    return (left in right) is wanted


def _bool(s: State, node: ast.BoolOp) -> Value:
    """Compile-time operands decide at once or have no effect; tensors are combined from the last."""
    is_and = isinstance(node.op, ast.And)
    tensors: list[Value] = []
    value: Value = None
    for operand in node.values:
        value = evaluate(s, operand)
        if is_node(value) or isinstance(value, Unknown):
            tensors.append(value)
        elif bool(value) is not is_and:
            return value
    if not tensors:
        return value
    s.at = node
    while len(tensors) > 1:
        right, left = tensors.pop(), tensors.pop()
        tensors.append(operators.logical(s, Op.AND if is_and else Op.OR, left, right))
    return tensors[0]


def condition_of(s: State, value: Value) -> Value:
    """A condition for branching: True, False, or a scalar int1."""
    if isinstance(value, Unknown):
        s.give_up_on(f"a branch on {value.detail}")
        return nodes.opaque(s, INT1, (), value.detail)
    if not is_node(value):
        return bool(value)
    if is_pointer(value):
        return nodes.opaque(s, INT1, (), "a pointer as a condition", (value,))
    test = as_single(s, value) if value.shape else value
    test = nodes.cast(s, test, INT1)
    return bool(test.value) if isinstance(test, Constant) else test


def _if_expression(s: State, node: ast.IfExp) -> Value:
    test = evaluate(s, node.test)
    s.at = node.test
    condition = condition_of(s, test)
    if not is_node(condition):
        return evaluate(s, node.body if condition else node.orelse)
    s.observe(condition)
    guards = s.guards
    s.guards = (*guards, condition)
    if_true = evaluate(s, node.body)
    s.guards = (*guards, nodes.opposite(s, condition))
    if_false = evaluate(s, node.orelse)
    s.guards = guards
    s.at = node
    a, b = operators.to_node(s, if_true), operators.to_node(s, if_false)
    if a is None or b is None:
        return None if if_true is None and if_false is None else Unknown("a conditional expression")
    if a.type != b.type or a.shape != b.shape:
        s.reject("a conditional expression with two types")
        return Unknown("a conditional expression with two types")
    return nodes.where(s, nodes.broadcast(s, condition, a.shape), a, b)


def _tuple(s: State, node: ast.Tuple | ast.List) -> Value:
    items: list[Value] = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            value = evaluate(s, element.value)
            items.extend(value if isinstance(value, tuple) else (Unknown("a starred value"),))
        else:
            items.append(evaluate(s, element))
    return tuple(items)


def _comprehension(s: State, node: ast.ListComp) -> Value:
    loop = node.generators[0]
    values = evaluate(s, loop.iter)
    s.at = node
    if len(node.generators) > 1 or loop.ifs or not isinstance(loop.target, ast.Name) or not isinstance(values, tuple):
        s.give_up_on("a comprehension that is not followed")
        return Unknown("a comprehension")
    results: list[Value] = []
    for value in values:
        s.spend()
        s.scope[loop.target.id] = value
        results.append(evaluate(s, node.elt))
    return tuple(results)


def _subscript(s: State, node: ast.Subscript) -> Value:
    value = evaluate(s, node.value)
    if is_node(value):
        return _index_tensor(s, value, node)
    index = evaluate(s, node.slice)
    s.at = node
    if isinstance(value, tuple):
        if isinstance(index, Constant):
            index = int(index.value)
        if isinstance(index, slice):
            return value[index]
        if isinstance(index, int) and -len(value) <= index < len(value):
            return value[index]
        s.reject("a tuple index out of range")
    return Unknown("an indexed value")


def _index_tensor(s: State, value: Value, node: ast.Subscript) -> Value:
    """`x[:, None]`: new axes of extent 1."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    s.at = node
    assert is_node(value)
    for axis, part in enumerate(parts):
        if isinstance(part, ast.Slice) and part.lower is part.upper is part.step is None:
            continue
        if isinstance(part, ast.Constant) and part.value is None:
            value = nodes.expand_dims(s, value, axis)
            continue
        s.reject("tensors are indexed with `:` and None only")
        return nodes.opaque(s, value.type, value.shape, "an index that Triton rejects", (value,))
    return value


def _slice(s: State, node: ast.Slice) -> Value:
    parts = [evaluate(s, part) if part is not None else None for part in (node.lower, node.upper, node.step)]
    if all(part is None or isinstance(part, int) for part in parts) and parts[2] != 0:
        return slice(*parts)
    return Unknown("a slice")


def _call(s: State, node: ast.Call) -> Value:
    function = evaluate(s, node.func)
    args: list[Value] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            value = evaluate(s, argument.value)
            args.extend(value if isinstance(value, tuple) else (Unknown("a starred value"),))
        else:
            args.append(evaluate(s, argument))
    kwargs: dict[str, Value] = {}
    for keyword in node.keywords:
        value = evaluate(s, keyword.value)
        if keyword.arg is not None:
            kwargs[keyword.arg] = value
        else:
            s.at = node
            s.give_up_on("a call with `**`")
    s.at = node
    s.spend()
    return call(s, function, args, kwargs)


def _text(s: State, node: ast.JoinedStr) -> Value:
    return "a text"


def _named(s: State, node: ast.NamedExpr) -> Value:
    value = evaluate(s, node.value)
    s.at = node
    made = operators.to_node(s, value)
    s.scope[node.target.id] = value if made is None else made
    return s.scope[node.target.id]


_HANDLERS: dict[type, Callable[..., Value]] = {
    ast.Constant: _constant, ast.Name: read_name, ast.Attribute: _attribute, ast.BinOp: _binary, ast.UnaryOp: _unary,
    ast.Compare: _compare, ast.BoolOp: _bool, ast.IfExp: _if_expression, ast.Tuple: _tuple, ast.List: _tuple,
    ast.ListComp: _comprehension, ast.Subscript: _subscript, ast.Slice: _slice, ast.Call: _call,
    ast.JoinedStr: _text, ast.NamedExpr: _named,
}  # fmt: skip
