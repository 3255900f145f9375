"""Lines and tokens that changed between two texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from kernelscope.diffing.results import DiffLine, Hunk, LineKind

CONTEXT = 3
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
#: Below this share of common tokens two lines are another line each, and marks in them say nothing.
_LEAST_ALIKE = 0.4

Marks = tuple[tuple[int, int], ...]


def hunks_of(before: str, after: str, context: int = CONTEXT) -> tuple[Hunk, ...]:
    """The changes with `context` lines around them, in order."""
    old, new = before.splitlines(), after.splitlines()
    matcher = SequenceMatcher(a=old, b=new, autojunk=False)
    return tuple(Hunk(tuple(_lines(group, old, new))) for group in matcher.get_grouped_opcodes(context))


def _lines(
    group: Sequence[tuple[str, int, int, int, int]], old: Sequence[str], new: Sequence[str]
) -> Iterator[DiffLine]:
    for tag, a, a_end, b, b_end in group:
        if tag == "equal":
            for step, text in enumerate(old[a:a_end]):
                yield DiffLine(LineKind.SAME, text, a + step + 1, b + step + 1)
            continue
        left, right = old[a:a_end], new[b:b_end]
        marks = _paired_marks(left, right)
        yield from (
            DiffLine(LineKind.REMOVED, text, a + n + 1, None, marks[0].get(n, ())) for n, text in enumerate(left)
        )
        yield from (
            DiffLine(LineKind.ADDED, text, None, b + n + 1, marks[1].get(n, ())) for n, text in enumerate(right)
        )


def _paired_marks(left: Sequence[str], right: Sequence[str]) -> tuple[dict[int, Marks], dict[int, Marks]]:
    """The changed tokens of lines that are a version of each other, by place in either block."""
    marks: tuple[dict[int, Marks], dict[int, Marks]] = ({}, {})
    taken = 0
    for number, text in enumerate(left):
        best = max(range(taken, len(right)), key=lambda n: _alike(text, right[n]), default=None)
        if best is not None and _alike(text, right[best]) >= _LEAST_ALIKE:
            marks[0][number], marks[1][best] = changed_tokens(text, right[best])
            taken = best + 1
    return marks


def _alike(left: str, right: str) -> float:
    return SequenceMatcher(a=_TOKEN.findall(left), b=_TOKEN.findall(right), autojunk=False).ratio()


def changed_tokens(before: str, after: str) -> tuple[Marks, Marks]:
    """The columns of the tokens that differ, on either side; neighbouring ones as one span, blanks at its ends left out."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    removed: list[tuple[int, int]] = []
    added: list[tuple[int, int]] = []
    for tag, a, a_end, b, b_end in SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        if tag != "equal":
            _add(removed, old, a, a_end)
            _add(added, new, b, b_end)
    return tuple(removed), tuple(added)


def _add(spans: list[tuple[int, int]], tokens: Sequence[str], first: int, last: int) -> None:
    while first < last and tokens[first].isspace():
        first += 1
    while last > first and tokens[last - 1].isspace():
        last -= 1
    if first == last:
        return
    start = sum(map(len, tokens[:first]))
    end = start + sum(map(len, tokens[first:last]))
    if spans and spans[-1][1] == start:
        spans[-1] = (spans[-1][0], end)
    else:
        spans.append((start, end))
