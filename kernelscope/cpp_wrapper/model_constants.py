"""Layouts of a model's weights, as its constructor declares them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernelscope.cpp_wrapper.natural_numbers import natural_number, whole_number
from kernelscope.cpp_wrapper.syntax import FunctionSlice
from kernelscope.launches.dtypes import signature_name
from kernelscope.launches.host_expression import HostConstant
from kernelscope.launches.launch import Tensor
from kernelscope.launches.tensors import new_tensor

_ENTRY = re.compile(r"^\s*constants_info_\[(\d+)\]\.(shape|stride|dtype) = (.*);", re.MULTILINE)
_DTYPE = re.compile(r"\w*dtype_(\w+)")


def read_constants(constructors: Sequence[FunctionSlice]) -> dict[int, Tensor]:
    """The constants by index."""
    entries: dict[int, dict[str, str]] = {}
    for constructor in constructors:
        for index, key, value in _ENTRY.findall(constructor.text):
            number = natural_number(index)
            if number is not None:
                entries.setdefault(number, {})[key] = value
    return {index: _tensor(index, entry) for index, entry in entries.items()}


def _tensor(index: int, entry: dict[str, str]) -> Tensor:
    dtype = _DTYPE.match(entry.get("dtype", ""))
    sizes, strides = _numbers(entry.get("shape")), _numbers(entry.get("stride"))
    return new_tensor(f"constant{index}", sizes, strides, signature_name(dtype.group(1)) if dtype else None)


def _numbers(text: str | None) -> tuple[HostConstant, ...] | None:
    if text is None:
        return None
    numbers = [whole_number(part.strip().rstrip("L")) for part in text.strip("{} ").split(",") if part.strip()]
    constants = tuple(HostConstant(number) for number in numbers if number is not None)
    return constants if len(constants) == len(numbers) else None
