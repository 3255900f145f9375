"""`check_input_N`: the declared range, static sizes, strides and dtype of each input."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kernelscope.cpp_wrapper.natural_numbers import natural_number, whole_number
from kernelscope.cpp_wrapper.syntax import FunctionSlice, parse_function, unwrapped
from kernelscope.cpp_wrapper.syntax import field as child
from kernelscope.launches.dtypes import signature_name

_ELEMENT = re.compile(r"\w+_(size|stride)\[(\d+)\]$")
_DTYPE = re.compile(r"expected_dtype = aoti_torch_dtype_(\w+)\(\)")
#: What a failed check throws: deeper lines of the body, which say nothing that the condition does not.
_ERROR_MESSAGE = re.compile(r"^        .*$\n", re.MULTILINE)
_RANGE_COMPARISON = re.compile(r"_size\[\d+\] [<>]")


@dataclass(frozen=True, slots=True)
class InputCheck:
    """What a wrapper demands of one input, by dimension."""

    minimum: Mapping[int, int] = field(default_factory=dict)
    maximum: Mapping[int, int] = field(default_factory=dict)
    sizes: Mapping[int, int] = field(default_factory=dict)
    strides: Mapping[int, int] = field(default_factory=dict)
    dtype: str | None = None


def has_ranges(check: FunctionSlice) -> bool:
    """Whether the check bounds any size: only then is it worth parsing."""
    return _RANGE_COMPARISON.search(check.text) is not None


def read_input_check(check: FunctionSlice) -> InputCheck | None:
    """The facts of one `check_input_N`, or None where its C++ has syntax errors."""
    parsed = parse_function(replace(check, text=_ERROR_MESSAGE.sub("", check.text)))
    if parsed is None:
        return None
    tables: dict[str, dict[int, int]] = {"<": {}, ">": {}, "size": {}, "stride": {}}
    for statement in parsed.body.named_children:
        if statement.type != "if_statement":
            continue
        condition = unwrapped(child(statement, "condition"))
        if condition.type == "binary_expression":
            _comparison(parsed.text(child(condition, "left")), parsed.text(child(condition, "right")),
                        parsed.text(child(condition, "operator")), tables)  # fmt: skip
    return InputCheck(tables["<"], tables[">"], tables["size"], tables["stride"], checked_dtype(check))


def checked_dtype(check: FunctionSlice) -> str | None:
    """The element type that the check expects."""
    dtype = _DTYPE.search(check.text)
    return signature_name(dtype.group(1)) if dtype else None


def _comparison(left: str, right: str, operator: str, tables: Mapping[str, dict[int, int]]) -> None:
    """Files `x_size[d] < 2` as a minimum, `>` as a maximum, `4096 != x_size[d]` as a static size."""
    if operator == "!=":
        left, right = right, left
    element, number = _ELEMENT.match(left), _integer(right)
    if element is None or number is None:
        return
    kind, dimension = element.group(1), natural_number(element.group(2))
    if dimension is None:
        return
    if operator == "!=":
        tables[kind][dimension] = number
    elif operator in ("<", ">") and kind == "size":
        tables[operator][dimension] = number


def _integer(text: str) -> int | None:
    return whole_number(text.rstrip("lLuU"))
