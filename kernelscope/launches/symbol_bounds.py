"""Bounds on one symbol that a condition states."""

from __future__ import annotations

from kernelscope.launches.host_expression import HostBinary, HostConstant, HostExpression, HostOperator, HostSymbol


def bound_of(fact: HostExpression) -> tuple[str, int | None, int | None] | None:
    """(symbol, minimum, maximum) that a comparison of one symbol with a constant states."""
    match fact:
        case HostBinary(HostOperator.LESS_EQUAL, HostConstant(low), HostSymbol(name)):
            return name, low, None
        case HostBinary(HostOperator.LESS, HostConstant(low), HostSymbol(name)):
            return name, low + 1, None
        case HostBinary(HostOperator.LESS_EQUAL, HostSymbol(name), HostConstant(high)):
            return name, None, high
        case HostBinary(HostOperator.LESS, HostSymbol(name), HostConstant(high)):
            return name, None, high - 1
    return None
