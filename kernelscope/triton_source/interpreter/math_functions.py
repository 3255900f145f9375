"""Elementwise mathematics: types only, since no index depends on the values of floats."""

from __future__ import annotations

from kernelscope.triton_source.index_program import Node
from kernelscope.triton_source.interpreter import nodes
from kernelscope.triton_source.interpreter.operators import to_node
from kernelscope.triton_source.interpreter.state import State
from kernelscope.triton_source.interpreter.values import Unknown, Value, is_node, is_pointer
from kernelscope.triton_source.scalar_types import FLOAT32, INT32, INT64, ScalarType

#: libdevice functions whose result is an int32 (torch._inductor and triton.language.extra.cuda.libdevice).
_INT32_RESULTS = frozenset(
    {
        "isinf", "isnan", "finitef", "isfinited", "signbit", "ilogb", "ffs", "clz", "popc", "float_as_int",
        "float2int_rn", "float2int_rz", "float2int_rd", "float2int_ru", "double2int_rn", "double2int_rz",
        "double2int_rd", "double2int_ru", "double2hiint", "double2loint",
    }
)  # fmt: skip
_INT64_RESULTS = frozenset(
    {
        "llrint", "llround", "float2ll_rn", "float2ll_rz", "float2ll_rd", "float2ll_ru", "double2ll_rn",
        "double2ll_rz", "double2ll_rd", "double2ll_ru", "double_as_longlong",
    }
)  # fmt: skip


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
    return nodes.opaque(s, _result_type(short, operands), shape, name, operands)


def _result_type(short: str, operands: list[Node]) -> ScalarType:
    if short in _INT32_RESULTS:
        return INT32
    if short in _INT64_RESULTS:
        return INT64
    kinds = [node.type for node in operands if isinstance(node.type, ScalarType)]
    floats = [kind for kind in kinds if not kind.is_integer]
    return max(floats or kinds or [FLOAT32], key=lambda kind: kind.bits)
