"""Wrappers of the fixtures, and short ways to say what was read from them."""

from __future__ import annotations

import json
import zipfile
from functools import cache
from pathlib import Path

from kernelscope.cpp_wrapper import read_wrapper
from kernelscope.launches.host_expression import (
    HostBinary,
    HostCast,
    HostConstant,
    HostExpression,
    HostSelect,
    HostSymbol,
    HostUnknown,
)
from kernelscope.launches.launch import Launch, ScalarArgument, Tensor, TensorArgument, WrapperFacts

FIXTURES = Path(__file__).parents[2] / "fixtures"
EXPECTED: dict[str, dict[str, int]] = json.loads((FIXTURES / "expected.json").read_text())


@cache
def wrapper_text(name: str) -> str:
    """The C++ wrapper in a fixture package (`torch28/ext`), or a bare one (`cpp_wrappers/cond`)."""
    bare = FIXTURES / f"{name}.wrapper.cpp"
    if bare.exists():
        return bare.read_text()
    with zipfile.ZipFile(FIXTURES / f"{name}.pt2") as package:
        member = next(member for member in package.namelist() if member.endswith(".wrapper.cpp"))
        return package.read(member).decode()


@cache
def facts(name: str) -> WrapperFacts:
    return read_wrapper(wrapper_text(name), name)


def shown(expression: HostExpression | None) -> str:
    """An expression in short: C types other than int64 are named."""
    match expression:
        case None:
            return "-"
        case HostConstant(value):
            return str(value)
        case HostSymbol(name):
            return name
        case HostBinary(operator, left, right, _):
            return f"({shown(left)} {operator.value} {shown(right)})"
        case HostSelect(condition, if_true, if_false):
            return f"({shown(condition)} ? {shown(if_true)} : {shown(if_false)})"
        case HostCast(operand, kind):
            return f"{kind.value}<{shown(operand)}>"
        case HostUnknown(_, reason):
            return f"?{reason}?"


def scalars(launch: Launch) -> dict[str, str]:
    """Each scalar argument as `value : C type`."""
    arguments = [argument for argument in launch.arguments if isinstance(argument, ScalarArgument)]
    return {a.name: f"{shown(a.value)} : {a.c_type.value if a.c_type else None}" for a in arguments}


def tensors(launch: Launch) -> dict[str, Tensor]:
    return {a.name: a.tensor for a in launch.arguments if isinstance(a, TensorArgument)}


def layout(tensor: Tensor) -> tuple[list[str], list[str]] | None:
    if tensor.sizes is None or tensor.strides is None:
        return None
    return [shown(size) for size in tensor.sizes], [shown(stride) for stride in tensor.strides]
