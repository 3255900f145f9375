"""Lines of a hunk as pairs: what was removed beside what was added for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from kernelscope.diffing.results import DiffLine, Hunk, LineKind

Pair = tuple[DiffLine | None, DiffLine | None]


def paired_lines(hunk: Hunk) -> Iterator[Pair]:
    """Removed lines beside the added ones that they became; an unchanged line is on both sides."""
    removed: list[DiffLine] = []
    added: list[DiffLine] = []
    for line in (*hunk.lines, None):
        if line is not None and line.kind is LineKind.REMOVED and not added:
            removed.append(line)
        elif line is not None and line.kind is LineKind.ADDED:
            added.append(line)
        else:
            yield from _beside(removed, added)
            removed, added = [], []
            if line is not None and line.kind is LineKind.REMOVED:
                removed.append(line)
            elif line is not None:
                yield line, line


def _beside(removed: Sequence[DiffLine], added: Sequence[DiffLine]) -> Iterator[Pair]:
    """Of lines in a row only the last removed and the first added one may be versions of each other, which marks tell."""
    if removed and added and (removed[-1].marks or added[0].marks):
        yield from ((line, None) for line in removed[:-1])
        yield removed[-1], added[0]
        yield from ((None, line) for line in added[1:])
    else:
        yield from zip_longest(removed, added)
