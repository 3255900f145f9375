"""What a patch returns: an edit of a text, or the reason why there is none."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from kernelscope.triton_source.index_program import Span


@dataclass(frozen=True, slots=True)
class Replacement:
    """The characters of `span` become `text`; an empty span inserts."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """One cast. `site` is the expression that it changes the meaning of; `widened`: kernel arguments that become 64
    bits wide, so that the wrapper has to pass them so."""

    replacements: tuple[Replacement, ...]
    site: Span
    widened: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Declined:
    """A place that looks like one for the patch and must not be changed: why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Example:
    """A text before, and after every edit that the patch makes in it (in DECLINES: the reason, in full or in part).

    types: signature types of parameters; without it those that end in `ptr` or a digit are `*fp32`, others `i32`."""

    before: str
    after: str
    types: Mapping[str, str] = field(default_factory=dict)


class OverlappingEdits(Exception):
    """Two edits change the same characters."""


def insertion(line: int, column: int, text: str) -> Replacement:
    return Replacement(Span(line, column, line, column), text)


def applied(text: str, edits: Iterable[Edit]) -> str:
    """The text after the edits, in which all else is as it was; raises OverlappingEdits."""
    distinct = dict.fromkeys(edit.replacements for edit in edits)
    return with_replacements(text, [r for replacements in distinct for r in replacements])


def with_replacements(text: str, replacements: Iterable[Replacement]) -> str:
    """The text after the replacements. Of several insertions at one place those of shorter expressions come first."""
    starts = line_starts(text)
    located = sorted(((_offset(starts, r.span), _end(starts, r.span), r.text) for r in replacements), key=_order)
    parts: list[str] = []
    position = 0
    for start, end, new in located:
        if start < position:
            raise OverlappingEdits(text[start:end])
        parts += [text[position:start], new]
        position = end
    return "".join([*parts, text[position:]])


def _order(item: tuple[int, int, str]) -> tuple[int, int, int, str]:
    start, end, new = item
    return start, end, 0 if new.startswith(".") else 1, new


def line_starts(text: str) -> list[int]:
    """Offset of the start of every line; lines end as Python's source lines do."""
    return list(accumulate((len(line) for line in python_lines(text)), initial=0))


def python_lines(text: str) -> list[str]:
    """The lines of a source with their ends: `\\n`, `\\r\\n` or `\\r`, and no other."""
    lines = text.replace("\r\n", "\0\n").replace("\r", "\r\n").split("\n")
    restored = [line[:-1] + "\r\n" if line.endswith("\0") else line if line.endswith("\r") else line + "\n"
                for line in lines[:-1]]  # fmt: skip
    return [*restored, lines[-1]] if lines[-1] else restored


def _offset(starts: list[int], span: Span) -> int:
    return starts[min(span.line, len(starts)) - 1] + span.column


def _end(starts: list[int], span: Span) -> int:
    return starts[min(span.end_line, len(starts)) - 1] + span.end_column


def position_of(starts: list[int], offset: int) -> tuple[int, int]:
    """Line from 1 and column from 0 of an offset."""
    line = bisect_right(starts, offset)
    return line, offset - starts[line - 1]
