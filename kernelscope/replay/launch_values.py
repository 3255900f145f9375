"""What a launch passes at given sizes: exact values, values as they arrive, and what its buffers span."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelscope.launches.host_arithmetic import evaluate, reduced
from kernelscope.launches.host_expression import (
    HostBinary,
    HostCast,
    HostConstant,
    HostExpression,
    HostSelect,
    HostType,
)
from kernelscope.launches.launch import Launch, ScalarArgument, TensorArgument
from kernelscope.triton_source.index_program import IndexProgram
from kernelscope.triton_source.scalar_types import PointerType, ScalarType


def arguments_of(program: IndexProgram, launch: Launch, sizes: Mapping[str, int]) -> list[dict[str, Any]] | str:
    """Every parameter with its type and value; a sentence where one is not known."""
    given = {a.name: a for a in launch.arguments}
    result: list[dict[str, Any]] = []
    for name in program.parameters:
        kind = program.types.get(name)
        argument = given.get(name)
        if name in program.constexprs:
            result.append({"name": name, "kind": "constexpr", "value": _plain(program.constexprs[name])})
        elif isinstance(kind, PointerType):
            result.append({"name": name, "kind": "pointer", "type": f"*{_signature(kind.element)}"})
        elif isinstance(kind, ScalarType) and isinstance(argument, ScalarArgument):
            value = exact_value(argument.value, sizes)
            if value is None:
                return f"the argument {name} is not known"
            passed = evaluate(argument.value, sizes)
            passed = value if passed is None else passed
            if argument.c_type is not None and argument.c_type is not HostType.PYTHON:
                passed = reduced(passed, argument.c_type)
            result.append(
                {
                    "name": name,
                    "kind": "scalar",
                    "type": _signature(kind),
                    "exact": value,
                    "hardware": kind.wrap(passed),
                }
            )
        else:
            return f"the argument {name} is not known"
    return result


def _plain(value: object) -> object:
    return value if isinstance(value, int | float | str | type(None)) else str(value)


def _signature(kind: ScalarType) -> str:
    """The type as a kernel's signature names it: `i32`, `fp32`."""
    name = kind.name
    for long, short in (("uint", "u"), ("int", "i"), ("bfloat16", "bf16"), ("float", "fp")):
        if name.startswith(long):
            return short + name[len(long) :] if long != "bfloat16" else short
    return name


def exact_value(expression: HostExpression, sizes: Mapping[str, int]) -> int | None:
    """The mathematical value: without the C types that the host computes in."""
    match expression:
        case HostCast(operand, _):
            return exact_value(operand, sizes)
        case HostBinary(operator, left, right):
            a, b = exact_value(left, sizes), exact_value(right, sizes)
            if a is None or b is None:
                return None
            return evaluate(HostBinary(operator, HostConstant(a), HostConstant(b), HostType.PYTHON), sizes)
        case HostSelect(condition, if_true, if_false):
            test = exact_value(condition, sizes)
            return None if test is None else exact_value(if_true if test else if_false, sizes)
        case _:
            return evaluate(expression, sizes)


def elements_of(launch: Launch, sizes: Mapping[str, int]) -> dict[str, int]:
    """Elements that each buffer spans, where its layout is known."""
    result: dict[str, int] = {}
    for argument in launch.arguments:
        if not isinstance(argument, TensorArgument):
            continue
        tensor = argument.tensor
        if tensor.sizes is None or tensor.strides is None:
            continue
        extents = [evaluate(s, sizes) for s in tensor.sizes]
        strides = [evaluate(s, sizes) for s in tensor.strides]
        if any(v is None for v in (*extents, *strides)):
            continue
        pairs = list(zip(extents, strides, strict=True))
        result[argument.name] = 1 + sum((e - 1) * s for e, s in pairs if e is not None and s is not None)
    return result
