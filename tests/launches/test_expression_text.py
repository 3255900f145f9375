from __future__ import annotations

import pytest

from kernelscope.launches.expression_text import host_expression_text, tensor_text
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
from kernelscope.launches.launch import Tensor

S10, S25 = HostSymbol("s10"), HostSymbol("s25")


def constant(value: int) -> HostConstant:
    return HostConstant(value)


def binary(operator: HostOperator, left: HostExpression, right: HostExpression) -> HostBinary:
    return HostBinary(operator, left, right)


PRODUCT = binary(HostOperator.MULTIPLY, S10, S25)
BLOCKS = binary(HostOperator.TRUNCATED_DIVIDE, binary(HostOperator.ADD, PRODUCT, constant(31)), constant(32))


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (BLOCKS, "(s10*s25 + 31)//32"),
        (HostCast(BLOCKS, HostType.UINT32), "(s10*s25 + 31)//32"),
        (binary(HostOperator.ADD, HostCast(PRODUCT, HostType.INT32), constant(1)), "int32(s10*s25) + 1"),
        (binary(HostOperator.MULTIPLY, constant(2), binary(HostOperator.ADD, S10, S25)), "2*(s10 + s25)"),
        (binary(HostOperator.MULTIPLY, S10, binary(HostOperator.MULTIPLY, S25, S25)), "s10*s25*s25"),
        (binary(HostOperator.MULTIPLY, S10, binary(HostOperator.FLOOR_DIVIDE, S25, S10)), "s10*(s25//s10)"),
        (binary(HostOperator.SUBTRACT, S10, binary(HostOperator.SUBTRACT, S25, constant(1))), "s10 - (s25 - 1)"),
        (binary(HostOperator.ADD, S10, constant(-3)), "s10 + (-3)"),
        (binary(HostOperator.MAXIMUM, S10, constant(1)), "max(s10, 1)"),
        (binary(HostOperator.FLOOR_REMAINDER, S10, constant(4)), "s10 % 4"),
        (HostSelect(binary(HostOperator.EQUAL, S10, constant(0)), constant(0), S25), "(0 if s10 == 0 else s25)"),
        (HostUnknown("f(\n  x)", "a call"), "unknown(f( x))"),
    ],
)
def test_text_has_the_parentheses_it_needs_and_no_more(expression: HostExpression, text: str) -> None:
    assert host_expression_text(expression) == text


def test_text_evaluates_in_python_to_the_same_value() -> None:
    assert eval(host_expression_text(BLOCKS), {"s10": 7, "s25": 11}) == (7 * 11 + 31) // 32


def test_strides_are_told_only_where_a_tensor_is_not_contiguous() -> None:
    sizes = (S10, S25, constant(64))
    strides = (binary(HostOperator.MULTIPLY, constant(64), S25), constant(64), constant(1))
    assert tensor_text(Tensor("arg0_1", "arg0_1", "fp32", sizes, strides)) == "arg0_1: fp32[s10, s25, 64]"
    turned = tensor_text(Tensor("arg0_1", "arg0_1", "fp32", sizes, strides[::-1]))
    assert turned == "arg0_1: fp32[s10, s25, 64] strides [1, 64, 64*s25]"


def test_a_deep_expression_is_cut_and_does_not_overflow_the_stack() -> None:
    deep: HostExpression = S10
    for _ in range(5000):
        deep = binary(HostOperator.ADD, constant(1), deep)
    assert "..." in host_expression_text(deep)
