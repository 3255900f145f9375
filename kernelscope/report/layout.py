"""Paragraphs, labels and headings, indented alike in every report."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

INDENT = 2
_LABEL = 12


@dataclass(frozen=True, slots=True)
class Unbroken:
    """A line that is left in one piece, however long: a path or source that is there to be copied."""

    text: Text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if console.color_system is None:  # nothing to style, in what a long report has most of
            yield Segment(f"{self.text.plain}\n")
        else:
            yield from console.render(self.text, options.update(no_wrap=True, overflow="ignore"))


def indented(part: RenderableType) -> Padding:
    return Padding(part, (0, 0, 0, INDENT))


def paragraph(text: str, style: str = "") -> Padding:
    """Text that is indented on each of its lines; a long word is broken, never cut."""
    return indented(Text(text, style, overflow="fold"))


def labelled(label: str, value: str) -> Padding:
    """A label, and its value wrapped within a column of its own."""
    grid = Table.grid()
    grid.add_column(width=_LABEL, no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(label, "quiet"), Text(value))
    return indented(grid)


def bullet(text: str) -> Padding:
    grid = Table.grid()
    grid.add_column(width=2)
    grid.add_column(overflow="fold")
    grid.add_row(Text("-"), Text(text))
    return indented(grid)


def heading(text: str) -> Text:
    return Text(text, "heading")
