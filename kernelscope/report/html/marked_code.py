"""Source as lines of HTML: a few token classes, and marks around pieces of a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape
from pygments.token import Comment, Keyword, Name, Number, String

from kernelscope.report.highlighting import lexer_of

#: Only what is coloured gets an element: a page with a hundred kernels stays small.
_CLASSES: tuple[tuple[Any, str], ...] = (
    (Comment, "c"), (Keyword.Type, "t"), (Keyword, "k"), (Name.Namespace, "n"), (Name.Variable, "v"),
    (Name.Builtin, "b"), (Name.Decorator, "f"), (Name.Function, "f"), (Name.Label, "f"), (Number, "m"), (String, "s"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mark:
    """Columns `start` to `end` (exclusive) of a line: a class, and the id of what explains it (None: no link)."""

    start: int
    end: int
    css_class: str
    target: str | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class CodeLine:
    number: int
    text: str
    html: Markup
    marked: bool


def marked_lines(
    text: str, language: str, marks: Mapping[int, Sequence[Mark]], first_number: int = 1
) -> list[CodeLine]:
    """The lines of `text`; `marks` by number of line within it, from 0."""
    return [
        CodeLine(
            number + first_number,
            "".join(text for text, _ in runs),
            _line(runs, marks.get(number, ())),
            number in marks,
        )
        for number, runs in enumerate(_runs(text, language))
    ]


def marked_line(text: str, language: str, marks: Sequence[Mark] = ()) -> Markup:
    """One line of source."""
    return next((line.html for line in marked_lines(text, language, {0: marks})), Markup(""))


def _runs(text: str, language: str) -> Iterator[list[tuple[str, str]]]:
    """Per line, pieces of it with their class."""
    runs: list[tuple[str, str]] = []
    for kind, value in lexer_of(language).get_tokens(text):
        css_class = _class(kind)
        for place, piece in enumerate(value.split("\n")):
            if place:
                yield runs
                runs = []
            if piece:
                runs.append((piece, css_class))
    if runs:
        yield runs


def _class(kind: Any) -> str:  # noqa: ANN401  pygments' token types
    return next((css_class for parent, css_class in _CLASSES if kind in parent), "")


def _line(runs: Sequence[tuple[str, str]], marks: Sequence[Mark]) -> Markup:
    """Marks are put around whole pieces: runs are cut where a mark starts or ends; overlapping marks become one."""
    parts: list[Markup] = []
    column = 0
    length = sum(len(text) for text, _ in runs)
    for start, end, mark in _cuts(marks, length):
        inner = Markup("").join(_between(runs, start, end))
        parts.append(inner if mark is None else _wrapped(inner, mark))
        column = end
    assert column == length
    return Markup("").join(parts)


def _cuts(marks: Sequence[Mark], length: int) -> Iterator[tuple[int, int, Mark | None]]:
    column = 0
    for mark in sorted(marks, key=lambda m: (m.start, -m.end)):
        start, end = max(mark.start, column), min(mark.end, length)
        if start >= end:
            continue
        if start > column:
            yield column, start, None
        yield start, end, mark
        column = end
    if column < length:
        yield column, length, None


def _between(runs: Sequence[tuple[str, str]], start: int, end: int) -> Iterator[Markup]:
    column = 0
    for text, css_class in runs:
        piece = text[max(0, start - column) : max(0, end - column)]
        column += len(text)
        if piece:
            yield Markup('<i class="{}">{}</i>').format(css_class, piece) if css_class else escape(piece)


def _wrapped(inner: Markup, mark: Mark) -> Markup:
    if mark.target is None:
        return Markup('<mark class="{}">{}</mark>').format(mark.css_class, inner)
    return Markup('<a class="{}" href="#{}" title="{}">{}</a>').format(mark.css_class, mark.target, mark.label, inner)
