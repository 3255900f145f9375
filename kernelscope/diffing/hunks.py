"""Lines and tokens that changed between two texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from kernelscope.diffing.line_pairs import TOKEN, matching_lines
from kernelscope.diffing.results import DiffLine, Hunk, LineKind

CONTEXT = 3

Marks = tuple[tuple[int, int], ...]


def hunks_of(before: str, after: str, context: int = CONTEXT) -> tuple[Hunk, ...]:
    """The changes with `context` lines around them, in order."""
    old, new = before.splitlines(), after.splitlines()
    matcher = SequenceMatcher(a=old, b=new, autojunk=False)
    return tuple(Hunk(tuple(_lines(group, old, new))) for group in matcher.get_grouped_opcodes(context))


def _lines(
    group: Sequence[tuple[str, int, int, int, int]], old: Sequence[str], new: Sequence[str]
) -> Iterator[DiffLine]:
    """Lines that are versions of each other stand one below the other, between those on one side only."""
    for tag, a, a_end, b, b_end in group:
        if tag == "equal":
            for step, text in enumerate(old[a:a_end]):
                yield DiffLine(LineKind.SAME, text, a + step + 1, b + step + 1)
            continue
        left, right = a, b
        for first, second in [*matching_lines(old[a:a_end], new[b:b_end]), (a_end - a, b_end - b)]:
            yield from (DiffLine(LineKind.REMOVED, old[n], n + 1, None) for n in range(left, a + first))
            yield from (DiffLine(LineKind.ADDED, new[n], None, n + 1) for n in range(right, b + second))
            left, right = a + first, b + second
            if left < a_end:
                removed, added = changed_tokens(old[left], new[right])
                yield DiffLine(LineKind.REMOVED, old[left], left + 1, None, removed)
                yield DiffLine(LineKind.ADDED, new[right], None, right + 1, added)
                left, right = left + 1, right + 1


def changed_tokens(before: str, after: str) -> tuple[Marks, Marks]:
    """The columns of the tokens that differ, on either side; neighbouring ones as one span, blanks at its ends left out."""
    old, new = TOKEN.findall(before), TOKEN.findall(after)
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
