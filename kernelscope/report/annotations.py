"""What is told beneath the lines of a kernel: its index expressions, named as the text names them, and its findings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from kernelscope.audit.index_ranges import IndexRange
from kernelscope.audit.kernel_text import KernelText
from kernelscope.audit.results import Finding, KernelResult, UnsafeFinding, Verdict
from kernelscope.report.quantities import range_text
from kernelscope.triton_source.index_program import Span

#: Told where it stands alone; within a larger expression it is plain what it is.
_PLAIN = re.compile(r"tl\.(?:arange|program_id|num_programs)\([^()]*\)(?:\[[^\[\]]*\])?")
_ASSIGNED = re.compile(r"\s*(\w+)\s*=\s*")
#: A call of a function that is not Triton's own: what is computed inside it has the place of the call.
_OTHER_CALL = re.compile(r"(?!tl\.)[\w.]+\(.*\)")
_CHAINS = frozenset({"+", "*"})


@dataclass(slots=True)
class Annotation:
    """An index expression: `name` as the text has it, `values` that it reaches, `remark` where they are beyond its type."""

    name: str
    type: str
    values: str
    remark: str = ""
    children: list[Annotation] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LineNotes:
    """What stands beneath one line: expressions as trees, then findings."""

    expressions: tuple[Annotation, ...]
    findings: tuple[Finding, ...]


def notes_by_line(kernel: KernelResult, ranges: Sequence[IndexRange]) -> dict[int, LineNotes]:
    """By number of line within the kernel's text, from 1. An expression of several lines is told beneath its last one."""
    source = kernel.source
    if source is None:
        return {}
    text = KernelText.of(source)
    trees = _trees(ranges, _Namer(text, kernel))
    findings: dict[int, list[Finding]] = {}
    for finding in kernel.findings:
        if finding.location.file == source.file:
            findings.setdefault(finding.location.line - source.first_line + 1, []).append(finding)
    lines = sorted({*trees, *findings})
    return {n: LineNotes(tuple(trees.get(n, ())), tuple(findings.get(n, ()))) for n in lines}


def _trees(ranges: Iterable[IndexRange], namer: _Namer) -> dict[int, list[Annotation]]:
    """Expressions by the line that they end on, each below the one that it is part of."""
    trees: dict[int, list[Annotation]] = {}
    open_: list[tuple[IndexRange, Annotation]] = []  # the whole before its parts
    for one in ranges:
        while open_ and not _holds(open_[-1][0].span, one.span):
            open_.pop()
        if one.fits and namer.is_other_function(one.span):
            continue
        parent = open_[-1] if open_ else None
        if parent is not None and _is_part(namer.text, one, parent[0]):
            continue
        note = namer.annotation(one)
        (trees.setdefault(one.span.end_line, []) if parent is None else parent[1].children).append(note)
        open_.append((one, note))
    return trees


def _holds(outer: Span, inner: Span) -> bool:
    first = (outer.line, outer.column) <= (inner.line, inner.column)
    return first and (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column)


def _is_part(text: KernelText, one: IndexRange, whole: IndexRange) -> bool:
    """Is it told by the whole: a plain lane or program id, the start of the same sum or product, the same values reshaped?"""
    if one.fits and _PLAIN.fullmatch(text.slice(one.span)):
        return True
    starts_alike = (one.span.line, one.span.column) == (whole.span.line, whole.span.column)
    if one.type == whole.type and one.operator == whole.operator and one.operator in _CHAINS and starts_alike:
        return True
    return starts_alike and (one.type, one.minimum, one.maximum) == (whole.type, whole.minimum, whole.maximum)


class _Namer:
    """Names expressions as their line does: by the variable that a whole line assigns, else by their text."""

    def __init__(self, text: KernelText, kernel: KernelResult) -> None:
        self.text = text
        self._verdict = kernel.verdict
        self._codes: dict[tuple[int, int, int], str] = {}
        for finding in kernel.findings:
            place = finding.location
            if isinstance(finding, UnsafeFinding):
                self._codes[place.line, place.column, place.end_column] = finding.code

    def annotation(self, one: IndexRange) -> Annotation:
        if one.compared:
            left, right = (_values(side) for side in one.compared)
            remark = next((r for r in (self._remark(side) for side in one.compared) if r), "")
            return Annotation(self._name(one.span), one.type, f"{left} {one.operator} {right}", remark)
        return Annotation(self._name(one.span), one.type, _values(one), self._remark(one))

    def is_other_function(self, span: Span) -> bool:
        return _OTHER_CALL.fullmatch(self.text.slice(span)) is not None

    def _name(self, span: Span) -> str:
        whole = self.text.lines[span.line - 1] if span.line <= len(self.text.lines) else ""
        assigned = _ASSIGNED.match(whole)
        rest = whole[span.end_column :] if span.line == span.end_line else ""
        begins = assigned is not None and assigned.end() <= span.column
        if assigned is not None and begins and not whole[assigned.end() : span.column].strip("( ") and not rest.strip(") "):
            return assigned.group(1)
        return " ".join(self.text.slice(span).split())

    def _remark(self, one: IndexRange) -> str:
        """Values beyond the type do no harm where only sums and products of them are read, which the verdict tells."""
        if one.fits or one.minimum is None or one.maximum is None:
            return ""
        place = self.text.location(one.span)
        code = self._codes.get((place.line, place.column, place.end_column))
        if code is not None:
            return f"does not fit: {code}"
        return "beyond its type, harmless" if self._verdict is Verdict.SAFE else "does not fit"


def _values(one: IndexRange) -> str:
    """A range, or the only value."""
    if one.minimum is not None and one.minimum == one.maximum:
        return str(one.minimum)
    return range_text(one.minimum, one.maximum)


def flattened(notes: Iterable[Annotation], guides: tuple[str, str, str, str]) -> Iterator[tuple[str, Annotation]]:
    """The rows of trees, each with the guides that lead to it."""
    for note in notes:
        yield "", note
        yield from _below(note, "", guides)


def _below(note: Annotation, margin: str, guides: tuple[str, str, str, str]) -> Iterator[tuple[str, Annotation]]:
    branch, last_branch, line, blank = guides
    for child in note.children:
        last = child is note.children[-1]
        yield margin + (last_branch if last else branch), child
        yield from _below(child, margin + (blank if last else line), guides)
