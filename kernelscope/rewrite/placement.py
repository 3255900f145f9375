"""Edits of a kernel text, carried to the file that quotes it: indented, perhaps with other line ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kernelscope.errors import KernelscopeError
from kernelscope.launches.launch import EmbeddedKernel
from kernelscope.rewrite.edits import Edit, Replacement, python_lines
from kernelscope.triton_source.index_program import Span


def placed(kernel: EmbeddedKernel, edits: Iterable[Edit], file_text: str) -> list[Replacement]:
    """The replacements in the file; KernelscopeError where the file does not hold the kernel's lines."""
    own, lines = python_lines(kernel.source), python_lines(file_text)
    found: dict[tuple[Replacement, ...], list[Replacement]] = {}
    for edit in edits:
        found.setdefault(edit.replacements, [_placed(kernel, r, own, lines) for r in edit.replacements])
    return [replacement for replacements in found.values() for replacement in replacements]


def _placed(kernel: EmbeddedKernel, replacement: Replacement, own: list[str], lines: list[str]) -> Replacement:
    span = replacement.span
    for number in range(span.line, span.end_line + 1):
        there = kernel.first_line + number - 2
        quoted = lines[there] if there < len(lines) else ""
        if quoted.rstrip("\r\n") != " " * kernel.indent + own[number - 1].rstrip("\r\n"):
            raise KernelscopeError(
                "the file quotes the kernel in another form than was read", where=f"{kernel.file}: line {there + 1}"
            )
    moved = Span(
        span.line + kernel.first_line - 1, span.column + kernel.indent,
        span.end_line + kernel.first_line - 1, span.end_column + kernel.indent,
    )  # fmt: skip
    return replace(replacement, span=moved)


def changed_lines(before: str, after: str) -> Iterator[tuple[int, str, str]]:
    """Line number, old and new text of every line that differs; edits never change the number of lines."""
    for number, (old, new) in enumerate(zip(before.splitlines(), after.splitlines(), strict=True), 1):
        if old != new:
            yield number, old, new
