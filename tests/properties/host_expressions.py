"""Host expressions of random launches."""

from __future__ import annotations

from kernelscope.launches.host_expression import HostBinary, HostConstant, HostExpression, HostOperator, HostSelect


def plus(left: HostExpression, right: HostExpression) -> HostExpression:
    return HostBinary(HostOperator.ADD, left, right)


def minus(left: HostExpression, right: HostExpression) -> HostExpression:
    return HostBinary(HostOperator.SUBTRACT, left, right)


def times(left: HostExpression, right: HostExpression) -> HostExpression:
    return HostBinary(HostOperator.MULTIPLY, left, right)


def ceiling(value: HostExpression, divisor: int) -> HostExpression:
    """cdiv as wrappers write it."""
    if divisor == 1:
        return value
    raised = plus(value, HostConstant(divisor - 1))
    return HostBinary(HostOperator.TRUNCATED_DIVIDE, raised, HostConstant(divisor))


def split_y(size: HostExpression, block: int, most: int) -> tuple[HostExpression, HostExpression]:
    """Rows spread over y and z where y holds at most `most`, as Inductor's grids do with 65535."""
    raw = ceiling(size, block)
    depth = ceiling(raw, most)
    rows = HostBinary(HostOperator.TRUNCATED_DIVIDE, plus(raw, minus(depth, HostConstant(1))), depth)
    none = HostBinary(HostOperator.EQUAL, depth, HostConstant(0))
    return HostSelect(none, HostConstant(0), rows), depth
