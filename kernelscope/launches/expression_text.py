"""Host expressions as a person writes them, in Python's syntax: `(s10*s25 + 31)//32`."""

from __future__ import annotations

from kernelscope.launches.host_expression import (
    HostBinary,
    HostCast,
    HostConstant,
    HostExpression,
    HostOperator,
    HostSelect,
    HostSymbol,
    HostType,
    HostUnknown,
)
from kernelscope.launches.launch import KernelArgument, ScalarArgument, Tensor, TensorArgument

_OR, _AND, _COMPARISON, _SUM, _PRODUCT, _ATOM = range(6)
_MAX_DEPTH = 100

#: Sizes are not negative, so C's division and remainder read as Python's.
_SPELLING = {
    HostOperator.OR: (" or ", _OR),
    HostOperator.AND: (" and ", _AND),
    HostOperator.LESS: (" < ", _COMPARISON),
    HostOperator.LESS_EQUAL: (" <= ", _COMPARISON),
    HostOperator.EQUAL: (" == ", _COMPARISON),
    HostOperator.NOT_EQUAL: (" != ", _COMPARISON),
    HostOperator.ADD: (" + ", _SUM),
    HostOperator.SUBTRACT: (" - ", _SUM),
    HostOperator.MULTIPLY: ("*", _PRODUCT),
    HostOperator.TRUNCATED_DIVIDE: ("//", _PRODUCT),
    HostOperator.FLOOR_DIVIDE: ("//", _PRODUCT),
    HostOperator.TRUNCATED_REMAINDER: (" % ", _PRODUCT),
    HostOperator.FLOOR_REMAINDER: (" % ", _PRODUCT),
}
_ASSOCIATIVE = {HostOperator.ADD, HostOperator.MULTIPLY, HostOperator.AND, HostOperator.OR}
_NARROW_CASTS = {HostType.INT32: "int32", HostType.UINT32: "uint32", HostType.UINT64: "uint64"}


def host_expression_text(expression: HostExpression) -> str:
    """The expression in Python's syntax; the casts of a whole value to its variable's type are left out."""
    while isinstance(expression, HostCast):
        expression = expression.operand
    return _text(expression, 0)[0]


def argument_text(argument: KernelArgument) -> str:
    """What a launch passes for one kernel argument, in sizes."""
    match argument:
        case ScalarArgument(_, value, _):
            return host_expression_text(value)
        case TensorArgument(_, tensor):
            return tensor_text(tensor)


def tensor_text(tensor: Tensor) -> str:
    """A tensor's host variable, dtype, sizes and, unless contiguous, strides: `arg0_1: fp32[s10, 4096]`."""
    dtype = tensor.dtype or "unknown dtype"
    if tensor.sizes is None or tensor.strides is None:
        return f"{tensor.name}: {dtype}, layout not known"
    text = f"{tensor.name}: {dtype}[{_list(tensor.sizes)}]"
    return text if _is_contiguous(tensor.sizes, tensor.strides) else f"{text} strides [{_list(tensor.strides)}]"


def _list(expressions: tuple[HostExpression, ...]) -> str:
    return ", ".join(host_expression_text(expression) for expression in expressions)


def _is_contiguous(sizes: tuple[HostExpression, ...], strides: tuple[HostExpression, ...]) -> bool:
    """Whether each stride is, factor by factor, the product of the sizes after it."""
    after: list[HostExpression] = []
    for size, stride in zip(reversed(sizes), reversed(strides), strict=False):
        if _factors([stride]) != _factors(after):
            return False
        after.append(size)
    return True


def _factors(expressions: list[HostExpression]) -> tuple[int, tuple[str, ...]]:
    constant, others, pending = 1, [], list(expressions)
    while pending:
        match pending.pop():
            case HostCast(operand, _):
                pending.append(operand)
            case HostConstant(value):
                constant *= value
            case HostBinary(HostOperator.MULTIPLY, left, right, _):
                pending += [left, right]
            case other:
                others.append(host_expression_text(other))
    return constant, tuple(sorted(others))


def _text(expression: HostExpression, depth: int) -> tuple[str, int]:
    """The text and how tightly its outermost operator binds."""
    if depth > _MAX_DEPTH:
        return "...", _ATOM
    match expression:
        case HostConstant(value):
            return str(value), _ATOM if value >= 0 else _SUM
        case HostSymbol(name):
            return name, _ATOM
        case HostCast(operand, kind) if kind in _NARROW_CASTS:
            return f"{_NARROW_CASTS[kind]}({_text(operand, depth + 1)[0]})", _ATOM
        case HostCast(operand, _):
            return _text(operand, depth + 1)
        case HostSelect(condition, if_true, if_false):
            parts = [_text(part, depth + 1)[0] for part in (if_true, condition, if_false)]
            return f"({parts[0]} if {parts[1]} else {parts[2]})", _ATOM
        case HostUnknown(text, _):
            return f"unknown({' '.join(text.split())})", _ATOM
        case HostBinary():
            return _binary(expression, depth)


def _binary(expression: HostBinary, depth: int) -> tuple[str, int]:
    operator = expression.operator
    left, left_binds = _text(expression.left, depth + 1)
    right, right_binds = _text(expression.right, depth + 1)
    if operator not in _SPELLING:
        return f"{operator.value}({left}, {right})", _ATOM
    spelling, binds = _SPELLING[operator]
    if left_binds < binds or (binds == _COMPARISON and left_binds == binds):
        left = f"({left})"
    regroup = operator in _ASSOCIATIVE and _is_same_operator(expression.right, operator)
    if right_binds < binds or (right_binds == binds and not regroup):
        right = f"({right})"
    return f"{left}{spelling}{right}", binds


def _is_same_operator(expression: HostExpression, operator: HostOperator) -> bool:
    while isinstance(expression, HostCast) and expression.type not in _NARROW_CASTS:
        expression = expression.operand
    return isinstance(expression, HostBinary) and expression.operator is operator
