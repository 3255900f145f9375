"""A kernel's source with its index expressions and findings beneath their lines, as wide as the terminal."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from kernelscope.audit.results import Finding, KernelSource, Note, UnknownFinding, UnsafeFinding
from kernelscope.python_syntax import parse_module
from kernelscope.report.annotations import Annotation, LineNotes, flattened
from kernelscope.report.console import TextStyle
from kernelscope.report.expression_tree import GUIDES
from kernelscope.report.highlighting import highlighted
from kernelscope.report.layout import Unbroken
from kernelscope.report.quantities import sizes_text

_HANGING = 8
_LEAST_ROOM = 24
_GAP = 2


def annotated_source(
    source: KernelSource, notes: Mapping[int, LineNotes], style: TextStyle, preamble: bool
) -> Iterator[RenderableType]:
    """Every line with its number in the file. `preamble`: imports and metadata above the functions too."""
    code = highlighted(source.text).split("\n")
    hidden = frozenset() if preamble else _metadata(source.text)
    page = _Page(style, max(4, len(str(source.first_line + len(code)))))
    waiting, skipping = 0, not preamble  # blank lines around what is left out are left out as well
    for number, line in enumerate(code, 1):
        if number in hidden or (skipping and not line.plain.strip()):
            waiting += number in hidden
            skipping = True
            continue
        skipping = False
        if waiting:
            yield from page.note(Text(f"{waiting} lines of imports and metadata: --preamble shows them", "quiet"))
            waiting = 0
        yield from page.code(source.first_line + number - 1, line)
        if number in notes:
            yield from page.notes(notes[number])


def _metadata(text: str) -> frozenset[int]:
    """Lines, from 1, of imports, of calls beside the functions, and of decorators that are called."""
    try:
        statements = parse_module(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return frozenset()
    hidden: set[int] = set()
    for statement in statements:
        parts: list[ast.stmt | ast.expr] = []
        if isinstance(statement, ast.FunctionDef):
            parts = [d for d in statement.decorator_list if isinstance(d, ast.Call)]
        elif isinstance(statement, ast.Import | ast.ImportFrom | ast.Expr):
            parts = [statement]
        for part in parts:
            hidden.update(range(part.lineno, (part.end_lineno or part.lineno) + 1))
    return frozenset(hidden)


class _Page:
    def __init__(self, style: TextStyle, digits: int) -> None:
        self._style = style
        self._digits = digits
        self._room = max(_LEAST_ROOM, style.width - digits - 3)
        self._lines_told: dict[tuple[str, str], int] = {}

    def code(self, number: int, line: Text) -> Iterator[RenderableType]:
        """The line, continued below a margin without a number where it is too long."""
        indent = len(line.plain) - len(line.plain.lstrip())
        hanging = min(indent + _HANGING, self._room // 2)
        start = 0
        while True:
            room = self._room - (hanging if start else 0)
            end = _break(line.plain, start, room)
            gutter = f"{number:>{self._digits}} | " if start == 0 else " " * self._digits + " | " + " " * hanging
            yield Unbroken(Text.assemble((gutter, "quiet"), line[start:end]))
            if end >= len(line.plain):
                return
            start = end

    def notes(self, notes: LineNotes) -> Iterator[RenderableType]:
        """The expressions as a table, the findings as sentences."""
        rows = list(flattened(notes.expressions, GUIDES[self._style.ascii_only]))
        kinds = max((len(note.type) for _, note in rows), default=0)
        names = self._room_for_names(rows, kinds)
        for guide, note in rows:
            yield from self._row(guide, note, names, kinds)
        for finding in notes.findings:
            word = {UnsafeFinding: "unsafe", UnknownFinding: "unknown", Note: ""}[type(finding)]
            yield from self.note(Text.assemble((finding.code, word), f" {self._told(finding)}"))

    def _room_for_names(self, rows: Sequence[tuple[str, Annotation]], kinds: int) -> int:
        """Columns for names: what values and remarks leave; where that is too little, remarks stand on lines of their own."""
        longest = max((len(guide) + len(note.name) for guide, note in rows), default=0)
        left = self._room - 1 - kinds - 2 * _GAP - max((len(note.values) for _, note in rows), default=0)
        remarks = max((len(note.remark) + _GAP for _, note in rows if note.remark), default=0)
        return min(longest, left - remarks if left - remarks >= _LEAST_ROOM else max(_LEAST_ROOM // 2, left))

    def _told(self, finding: Finding) -> str:
        """The finding in a sentence; one that another line had as well points there."""
        sentence = _sentence(finding)
        line = self._lines_told.setdefault((finding.code, sentence), finding.location.line)
        return sentence if line == finding.location.line else f"{finding.expression}: as at line {line}"

    def _row(self, guide: str, note: Annotation, names: int, kinds: int) -> Iterator[RenderableType]:
        name = _shortened(guide + note.name, names)
        text = Text.assemble(
            name.ljust(names + _GAP), (note.type.ljust(kinds + _GAP), "quiet"), (note.values, "fault" if note.remark else ""),
        )  # fmt: skip
        if not note.remark:
            yield from self.note(text)
        elif len(text.plain) + _GAP + len(note.remark) <= self._room - 1:
            yield from self.note(Text.assemble(text, " " * _GAP, (note.remark, "fault")))
        else:
            yield from self.note(text)
            yield from self.note(Text.assemble(" " * (names + _GAP), (note.remark, "fault")), mark=" ")

    def note(self, text: Text, mark: str = "=") -> Iterator[RenderableType]:
        """A remark that is no line of the source, wrapped at words."""
        margin = " " * (self._digits + 1)
        for line in _wrapped(text, self._room - 1):
            yield Unbroken(Text.assemble((f"{margin}{mark} ", "quiet"), line))
            mark = " "


def _sentence(finding: Finding) -> str:
    match finding:
        case UnsafeFinding():
            where = sizes_text(finding.witness.symbols)
            safe = f"; safe when {finding.condition}" if finding.condition else ""
            return f"{finding.expression}: {finding.consequence.value}{' at ' + where if where else ''}{safe}"
        case UnknownFinding():
            return f"{finding.expression}: unknown, because {finding.reason.value}: {finding.detail}"
        case Note():
            return f"{finding.expression}: {finding.detail}"


def _shortened(name: str, room: int) -> str:
    return name if len(name) <= room else f"{name[: room - 3]}..."


def _break(text: str, start: int, room: int) -> int:
    """Where to go on in the next line: after a blank or a comma in the second half of this one, else where it ends."""
    if len(text) - start <= room:
        return len(text)
    for end in range(start + room, start + room // 2, -1):
        if text[end - 1] == " " or (text[end - 1] == "," and text[end] != " "):
            return end
    return start + room


def _wrapped(text: Text, room: int) -> Sequence[Text]:
    lines: list[Text] = []
    start = 0
    while len(text.plain) - start > room:
        end = _break(text.plain, start, room)
        lines.append(text[start:end])
        start = end
    return [*lines, text[start:]]
