"""Cuts a wrapper into the functions that matter, so that only those are parsed.

A wrapper is generated text: every function starts in column 0 and ends with the first `}` in column 0, since bodies and
the Triton sources quoted in them are indented. What does not follow this shape fails to parse later and is reported.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from kernelscope.cpp_wrapper.syntax import FunctionSlice

_HEADER = re.compile(
    r"^(?:AOTI_NOINLINE )?(?:"
    r"static\b[^\n;{}]*\bvoid (?P<launcher>call_\w+)\("
    r"|static\b[^\n;{}]*\bvoid (?P<check>check_input_\d+)\("
    r"|void AOTInductorModel::(?P<run>run_impl|_const_run_impl)\("
    r"|void (?P<entry>inductor_entry_impl)\("
    r"|(?P<constructor>AOTInductorModel::AOTInductorModel)\("
    r')|^(?P<cpu>extern "C"\s+(?:AOTI_\w+\s+)?void\s+\w+\(|static void cpp_fused\w*\()',
    re.MULTILINE,
)

#: Inputs that are not aligned are cloned with the same sizes and strides: nothing that a launch depends on changes.
_ALIGNMENT_CLONE = re.compile(
    r"^    if \(\((?:long|reinterpret_cast<std::uintptr_t>)\(\w+\.data_ptr\(\)\) & \(\d+ -1\)\) != 0\) \{\n"
    r"(?:        .*\n)*    \}$",
    re.MULTILINE,
)


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
    headers = list(_HEADER.finditer(text))
    for i, header in enumerate(headers):
        group = header.lastgroup or ""
        limit = headers[i + 1].start() if i + 1 < len(headers) else len(text)
        end = text.find("\n}", header.start(), limit)
        end = limit if end < 0 else end + 2
        start = header.start() + len("AOTI_NOINLINE ") * header.group().startswith("AOTI_NOINLINE ")
        body = text[start:end]
        if group in ("run", "entry"):
            body = _ALIGNMENT_CLONE.sub(_blank, body)
        name = header.group(group)
        line, counted = line + text.count("\n", counted, start), start
        groups["run" if group == "entry" else group].append(FunctionSlice(name, file, body, line))
    return WrapperSlices(file, text, *(tuple(groups[g]) for g in ("launcher", "check", "run", "constructor", "cpu")))


def _blank(match: re.Match[str]) -> str:
    """As many empty lines, so that what follows keeps its place."""
    return "\n" * match.group().count("\n")
