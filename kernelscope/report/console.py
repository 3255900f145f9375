"""Rendering with rich into a string that any stream can take: width, colour, and no character that does harm."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TextIO

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.segment import Segment
from rich.theme import Theme

from kernelscope.collection import rare_collection

_PRINTED_AT_ONCE = 500
_MIN_WIDTH, _MAX_WIDTH, _PLAIN_WIDTH = 40, 120, 80

_THEME = Theme(
    {
        "safe": "bold green",
        "unsafe": "bold red",
        "unknown": "bold yellow",
        "heading": "bold",
        "name": "cyan",
        "fault": "bold red",
        "quiet": "dim",
    }
)


@dataclass(frozen=True, slots=True)
class TextStyle:
    """How text is written: columns, with colour or not, in ASCII only or not."""

    width: int = _PLAIN_WIDTH
    color: bool = False
    ascii_only: bool = False

    @staticmethod
    def of(stream: TextIO) -> TextStyle:
        """What suits a stream; `NO_COLOR`, `FORCE_COLOR`, `TERM=dumb` and `COLUMNS` are heeded."""
        encoding = (getattr(stream, "encoding", None) or "ascii").lower().replace("-", "")
        columns = shutil.get_terminal_size((_PLAIN_WIDTH, 24)).columns
        is_terminal = stream.isatty()
        width = columns if is_terminal or os.environ.get("COLUMNS", "").isdigit() else _PLAIN_WIDTH
        return TextStyle(
            max(_MIN_WIDTH, min(_MAX_WIDTH, width)), _wants_color(is_terminal), not encoding.startswith("utf")
        )


def _wants_color(is_terminal: bool) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return is_terminal and os.environ.get("TERM") != "dumb"


class _AsciiBuffer(io.StringIO):
    """Makes rich choose line-drawing characters that are ASCII."""

    encoding = "ascii"


class _UnicodeBuffer(io.StringIO):
    encoding = "utf-8"


class _ReportConsole(Console):
    """Shows control characters in names and sources as escapes, so that what is audited cannot drive the terminal."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control or text.isprintable() else Segment(printable(text), style)


def printable(text: str) -> str:
    """`text` with everything but line ends that is not printable as `\\x1b` or alike."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def _batches(parts: Iterable[RenderableType]) -> Iterator[list[RenderableType]]:
    """The parts, many at a time: to print takes longer than to render a line of source."""
    waiting = iter(parts)
    while batch := list(islice(waiting, _PRINTED_AT_ONCE)):
        yield batch


def render(parts: Iterable[RenderableType], style: TextStyle) -> str:
    """The parts one below the other, without trailing blanks."""
    buffer = _AsciiBuffer() if style.ascii_only else _UnicodeBuffer()
    console = _ReportConsole(
        file=buffer,
        width=style.width,
        force_terminal=style.color,
        color_system="standard" if style.color else None,
        no_color=not style.color,
        legacy_windows=False,
        theme=_THEME,
        highlight=False,
        markup=False,
        emoji=False,
    )
    with rare_collection():
        for batch in _batches(parts):
            console.print(Group(*batch), crop=False)
    text = "\n".join(line.rstrip() for line in buffer.getvalue().split("\n"))
    return text.encode("ascii", "backslashreplace").decode("ascii") if style.ascii_only else text
