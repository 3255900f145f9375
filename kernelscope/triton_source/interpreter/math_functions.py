"""Elementwise mathematics: types only, since no index depends on the values of floats."""

from __future__ import annotations

import re

from kernelscope.triton_source.index_program import Node
from kernelscope.triton_source.interpreter import nodes
from kernelscope.triton_source.interpreter.operators import to_node
from kernelscope.triton_source.interpreter.state import State
from kernelscope.triton_source.interpreter.values import Unknown, Value, is_node, is_pointer
from kernelscope.triton_source.scalar_types import FLOAT32, FLOAT64, INT1, INT32, INT64, ScalarType

#: libdevice functions whose result has another type than their operand (triton/language/extra/cuda/libdevice.py).
_RESULTS = (
    (re.compile(r"isnan|isinf|finitef|isfinited"), INT1),
    (re.compile(r"\w+2u?int_\w+|double2(hi|lo)int|ilogb|signbit|ffs|clz|popc|float_as_u?int"), INT32),
    (re.compile(r"\w+2u?ll_\w+|llrint|llround|double_as_longlong"), INT64),
    (re.compile(r"\w+2float_\w+|u?int_as_float"), FLOAT32),
    (re.compile(r"\w+2double(_\w+)?|longlong_as_double"), FLOAT64),
)


def absolute(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`tl.abs`: of unsigned values themselves."""
    value = args[0] if args else kwargs.get("x")
    if isinstance(value, (int, float)):
        return abs(value)
    if not is_node(value) or not isinstance(value.type, ScalarType):
        return Unknown("tl.abs")
    if value.type.is_integer and value.type.minimum == 0:
        return value
    return nodes.absolute(s, value)


def call(s: State, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A function of `tl.math` or `libdevice`."""
    short = name.rpartition(".")[2]
    if short in ("abs", "llabs"):
        return absolute(s, args, kwargs)
    operands = [node for value in (*args, *kwargs.values()) if (node := to_node(s, value)) is not None]
    if any(is_pointer(node) for node in operands):
        s.give_up_on(f"{name} is given a pointer")
        return Unknown(name)
    if not operands:
        return Unknown(name)
    shape = nodes.align_all(s, operands[0], *operands[1:])[0].shape
    kind = _result_type(short, operands)
    if kind is INT1:  # the library gives an int32, which triton compares with 0
        return nodes.cast(s, nodes.opaque(s, INT32, shape, name, operands), INT1)
    return nodes.opaque(s, kind, shape, name, operands)


def _result_type(short: str, operands: list[Node]) -> ScalarType:
    for pattern, kind in _RESULTS:
        if pattern.fullmatch(short):
            return kind
    kinds = [node.type for node in operands if isinstance(node.type, ScalarType)]
    floats = [kind for kind in kinds if not kind.is_integer]
    return max(floats or kinds or [FLOAT32], key=lambda kind: kind.bits)
