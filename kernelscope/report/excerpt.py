"""A source line with an underline below the faulty expression, cut to the width at hand."""

from __future__ import annotations

from rich.text import Text

from kernelscope.audit.results import Location
from kernelscope.report.highlighting import highlighted
from kernelscope.report.layout import Unbroken

_TAB = 4


def excerpt(location: Location, width: int) -> list[Unbroken]:
    """The line with its number, and `^^^^` below the expression; nothing where the line is not known."""
    if not location.text.strip():
        return []
    line, start, end = _without_tabs(location)
    gutter = f"  {location.line} | "
    room = max(20, width - len(gutter))
    line, start, end, left, right = _cut(line, start, end, room)
    code = Text("..." if left else "") + highlighted(line) + Text("..." if right else "")
    margin = " " * (len(gutter) - 2) + "| " + " " * (start + 3 * left)
    below = Text.assemble((margin, "quiet"), ("^" * max(1, end - start), "fault"))
    return [Unbroken(Text.assemble((gutter, "quiet"), code)), Unbroken(below)]


def _without_tabs(location: Location) -> tuple[str, int, int]:
    """The line without its indentation and tabs, and the columns of the expression in it."""
    line = location.text.rstrip()
    indent = len(line) - len(line.lstrip())
    expanded = line.expandtabs(_TAB)[len(line[:indent].expandtabs(_TAB)) :]

    def column(old: int) -> int:
        return len(line[:old].expandtabs(_TAB)) - len(line[:indent].expandtabs(_TAB))

    start = min(max(column(location.column), 0), len(expanded))
    return expanded, start, min(max(column(location.end_column), start), len(expanded))


def _cut(line: str, start: int, end: int, room: int) -> tuple[str, int, int, bool, bool]:
    """A window of the line that shows the expression's start, and whether something is missing on either side."""
    if len(line) <= room:
        return line, start, end, False, False
    inner = room - 6
    first = max(0, min(start - max(0, (inner - (end - start)) // 2), len(line) - inner))
    if first <= 3:
        first = 0
    last = min(len(line), first + inner)
    return line[first:last], start - first, min(end, last) - first, first > 0, last < len(line)
