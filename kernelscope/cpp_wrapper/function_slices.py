"""Cuts a wrapper into the functions that matter, so that only those are parsed.

A wrapper is generated text: every function starts in column 0 and ends with the first `}` in column 0, since bodies and
the Triton sources quoted in them are indented. What does not follow this shape fails to parse later and is reported.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from kernelscope.cpp_wrapper.syntax import FunctionSlice

#: After a line break, which a search finds faster than the start of a line.
_HEADER = re.compile(
    r"\n(?:(?:AOTI_NOINLINE )?(?:"
    r"static\b[^\n;{}]*\bvoid (?P<launcher>call_\w+)\("
    r"|static\b[^\n;{}]*\bvoid (?P<check>check_input_\d+)\("
    r"|void AOTInductorModel::(?P<run>run_impl|_const_run_impl)\("
    r"|void (?P<entry>inductor_entry_impl)\("
    r"|(?P<constructor>AOTInductorModel::AOTInductorModel)\("
    r')|(?P<cpu>extern "C"\s+(?:AOTI_\w+\s+)?void\s+\w+\(|static void cpp_fused\w*\())'
)

#: Inputs that are not aligned are cloned with the same sizes and strides: nothing that a launch depends on changes.
_ALIGNMENT_CLONE = re.compile(
    r"^    if \(\((?:long|reinterpret_cast<std::uintptr_t>)\(\w+\.data_ptr\(\)\) & \(\d+ -1\)\) != 0\) \{\n"
    r"(?:        .*\n)*    \}$",
    re.MULTILINE,
)
#: A handle is given back: nothing to follow, but a statement.
_RESET = re.compile(r"\n    \w+\.reset\(\);(?=\n)")
#: A layout is asserted with a text that says whose; the condition is one that is always taken to hold.
_ASSERTION = re.compile(
    r"\n    if \(_check_aoti_runtime_check_inputs_env\(\)\) \{ (assert_size_stride\([^;\"\n]*), \"[^\"\n]*\"\); \}(?=\n)"
)
#: The inputs are taken over in the first statements of a function.
_INPUTS = re.compile(
    r"[^{}]*\) \{\n(?:    [^\n{}]*;\n|\n)*?(?P<lines>(?:    auto \w+ = std::move\(inputs\[\d{1,6}\]\);\n)+)"
)
_INPUT = re.compile(r"auto (\w+) = std::move\(inputs\[(\d+)\]\)")


@dataclass(frozen=True)
class WrapperSlices:
    """The functions of one wrapper, in file order within each group."""

    file: str
    text: str
    launchers: tuple[FunctionSlice, ...]
    input_checks: tuple[FunctionSlice, ...]
    runs: tuple[FunctionSlice, ...]
    constructors: tuple[FunctionSlice, ...]
    cpu_kernels: tuple[FunctionSlice, ...]

    @cached_property
    def input_check_by_index(self) -> dict[int, FunctionSlice]:
        return {int(check.name.rpartition("_")[2]): check for check in self.input_checks}


def slice_wrapper(text: str, file: str) -> WrapperSlices:
    """The functions of a wrapper's text that tell about launches."""
    line, counted = 1, 0
    groups: dict[str, list[FunctionSlice]] = {"launcher": [], "check": [], "run": [], "constructor": [], "cpu": []}
    headers = list(_HEADER.finditer("\n" + text))
    for i, header in enumerate(headers):
        group = header.lastgroup or ""
        limit = headers[i + 1].start() if i + 1 < len(headers) else len(text)
        end = text.find("\n}", header.start(), limit)
        end = limit if end < 0 else end + 2
        start = header.start() + len("AOTI_NOINLINE ") * header.group().startswith("\nAOTI_NOINLINE ")
        body = text[start:end]
        if group in ("run", "entry"):
            body = _simplified(body)
        name = header.group(group)
        line, counted = line + text.count("\n", counted, start), start
        groups["run" if group == "entry" else group].append(FunctionSlice(name, file, body, line))
    return WrapperSlices(file, text, *(tuple(groups[g]) for g in ("launcher", "check", "run", "constructor", "cpu")))


def _simplified(run: str) -> str:
    """A function that runs kernels, less what tells nothing; each statement stays one and keeps its line."""
    run = _RESET.sub("\n    ;", _ALIGNMENT_CLONE.sub(_blank, run))
    return _ASSERTION.sub(r"\n    \1);", run)


def without_inputs(run: FunctionSlice) -> tuple[FunctionSlice, tuple[tuple[str, int], ...]]:
    """A function less the statements with which it takes over its inputs, and these: variable and number of each."""
    found = _INPUTS.match(run.text)
    if found is None:
        return run, ()
    start, end = found.span("lines")
    inputs = tuple((name, int(number)) for name, number in _INPUT.findall(found["lines"]))
    text = run.text[:start] + "\n" * len(inputs) + run.text[end:]
    return FunctionSlice(run.name, run.file, text, run.first_line), inputs


def _blank(match: re.Match[str]) -> str:
    """As many empty lines, so that what follows keeps its place."""
    return "\n" * match.group().count("\n")
