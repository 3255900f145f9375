"""The inputs of a model as its caller sees them: their place in the call, and which dimensions are dynamic."""

from __future__ import annotations

import re

from kernelscope.cpp_wrapper.function_slices import slice_wrapper
from kernelscope.cpp_wrapper.input_checks import has_ranges, read_input_check
from kernelscope.launches.input_signature import InputShape, InputSignature

_CALL_SPEC = re.compile(r'^    in_spec_ = R"\((.*)\)";$', re.MULTILINE)
_INPUT = re.compile(r'^    inputs_info_\[(\d+)\]\.name = "(\w*)";', re.MULTILINE)


def read_input_signature(text: str, file: str) -> InputSignature:
    """The inputs of the model in a wrapper's text. A dimension that the wrapper's check neither fixes nor bounds is not
    known to be dynamic."""
    slices = slice_wrapper(text, file)
    shapes: list[InputShape] = []
    for number, name in sorted((int(found.group(1)), found.group(2)) for found in _INPUT.finditer(text)):
        function = slices.input_check_by_index.get(number)
        check = read_input_check(function) if function is not None and has_ranges(function) else None
        dynamic = {*check.minimum, *check.maximum} - set(check.sizes) if check is not None else set()
        maximum = {d: v for d, v in check.maximum.items() if d in dynamic} if check is not None else {}
        shapes.append(InputShape(number, name, frozenset(dynamic), maximum))
    spec = _CALL_SPEC.search(text)
    return InputSignature(tuple(shapes), spec.group(1) if spec else None)
