"""Building, evaluating and substituting host expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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


def reduced(value: int, kind: HostType) -> int:
    """`value` reduced to a C type."""
    if kind.bits is None:
        return value
    value &= (1 << kind.bits) - 1
    return value - (1 << kind.bits) if kind.signed and value >> (kind.bits - 1) else value


def compute(operator: HostOperator, left: int, right: int) -> int | None:
    """The mathematical value of an operation; None for a division by zero."""
    match operator:
        case HostOperator.ADD:
            return left + right
        case HostOperator.SUBTRACT:
            return left - right
        case HostOperator.MULTIPLY:
            return left * right
        case HostOperator.MINIMUM:
            return min(left, right)
        case HostOperator.MAXIMUM:
            return max(left, right)
        case HostOperator.LESS:
            return int(left < right)
        case HostOperator.LESS_EQUAL:
            return int(left <= right)
        case HostOperator.EQUAL:
            return int(left == right)
        case HostOperator.NOT_EQUAL:
            return int(left != right)
        case HostOperator.AND:
            return int(bool(left) and bool(right))
        case HostOperator.OR:
            return int(bool(left) or bool(right))
        case _:
            return _divide(operator, left, right)


def _divide(operator: HostOperator, left: int, right: int) -> int | None:
    if right == 0:
        return None
    if operator is HostOperator.FLOOR_DIVIDE:
        return left // right
    if operator is HostOperator.FLOOR_REMAINDER:
        return left % right
    quotient = abs(left) // abs(right)
    quotient = quotient if (left < 0) == (right < 0) else -quotient
    return quotient if operator is HostOperator.TRUNCATED_DIVIDE else left - quotient * right


def apply(
    operator: HostOperator, left: HostExpression, right: HostExpression, kind: HostType = HostType.INT64
) -> HostExpression:
    """`left operator right`, folded when both are constants; a comparison compared with 0 is itself or its negation."""
    is_truth = right == HostConstant(0) and isinstance(left, HostBinary) and left.operator in COMPARISONS
    if is_truth and operator in _NEGATED:
        return left if operator is HostOperator.NOT_EQUAL else negation(left)
    if isinstance(left, HostConstant) and isinstance(right, HostConstant):
        value = compute(operator, left.value, right.value)
        if value is not None:
            return HostConstant(reduced(value, kind))
    return HostBinary(operator, left, right, kind)


COMPARISONS = frozenset({HostOperator.EQUAL, HostOperator.NOT_EQUAL, HostOperator.LESS, HostOperator.LESS_EQUAL})
_NEGATED = {HostOperator.EQUAL: HostOperator.NOT_EQUAL, HostOperator.NOT_EQUAL: HostOperator.EQUAL}
_REVERSED = {HostOperator.LESS: HostOperator.LESS_EQUAL, HostOperator.LESS_EQUAL: HostOperator.LESS}


def negation(condition: HostExpression) -> HostExpression:
    """The condition that holds exactly where `condition` does not."""
    match condition:
        case HostBinary(operator, left, right, kind) if operator in _NEGATED:
            return HostBinary(_NEGATED[operator], left, right, kind)
        case HostBinary(operator, left, right, kind) if operator in _REVERSED:
            return HostBinary(_REVERSED[operator], right, left, kind)
        case HostUnknown():
            return condition
    return apply(HostOperator.EQUAL, condition, HostConstant(0))


def evaluate(expression: HostExpression, values: Mapping[str, int]) -> int | None:
    """The value that the host computes; None where it is not known or divides by zero."""
    match expression:
        case HostConstant(value):
            return value
        case HostSymbol(name):
            return values.get(name)
        case HostCast(operand, kind):
            inner = evaluate(operand, values)
            return None if inner is None else reduced(inner, kind)
        case HostSelect(condition, if_true, if_false):
            test = evaluate(condition, values)
            return None if test is None else evaluate(if_true if test else if_false, values)
        case HostBinary(operator, left, right, kind):
            a, b = evaluate(left, values), evaluate(right, values)
            result = None if a is None or b is None else compute(operator, a, b)
            return None if result is None else reduced(result, kind)
        case HostUnknown():
            return None


def substitute(expression: HostExpression, values: Mapping[str, HostExpression]) -> HostExpression:
    """`expression` with each symbol in `values` replaced; other symbols stay."""
    match expression:
        case HostSymbol(name):
            return values.get(name, expression)
        case HostCast(operand, kind):
            inner = substitute(operand, values)
            if isinstance(inner, HostConstant):
                return HostConstant(reduced(inner.value, kind))
            return HostCast(inner, kind)
        case HostSelect(condition, if_true, if_false):
            test = substitute(condition, values)
            if isinstance(test, HostConstant):
                return substitute(if_true if test.value else if_false, values)
            return HostSelect(test, substitute(if_true, values), substitute(if_false, values))
        case HostBinary(operator, left, right, kind):
            return apply(operator, substitute(left, values), substitute(right, values), kind)
        case HostConstant() | HostUnknown():
            return expression


def parts(expression: HostExpression) -> Iterator[HostExpression]:
    """The expression and everything below it."""
    stack = [expression]
    while stack:
        current = stack.pop()
        yield current
        match current:
            case HostCast(operand, _):
                stack.append(operand)
            case HostSelect(condition, if_true, if_false):
                stack.extend((if_false, if_true, condition))
            case HostBinary(_, left, right, _):
                stack.extend((right, left))
            case HostConstant() | HostSymbol() | HostUnknown():
                pass


def symbols_of(expression: HostExpression) -> frozenset[str]:
    """Names of the symbols in an expression."""
    return frozenset(part.name for part in parts(expression) if isinstance(part, HostSymbol))


def first_unknown(expression: HostExpression) -> HostUnknown | None:
    """The first part of an expression that is not understood."""
    return next((part for part in parts(expression) if isinstance(part, HostUnknown)), None)


def contiguous_strides(sizes: Sequence[HostExpression], kind: HostType = HostType.INT64) -> tuple[HostExpression, ...]:
    """Strides of a contiguous tensor."""
    strides: list[HostExpression] = []
    step: HostExpression = HostConstant(1)
    for size in reversed(sizes):
        strides.append(step)
        step = size if step == HostConstant(1) else apply(HostOperator.MULTIPLY, step, size, kind)
    return tuple(reversed(strides))
