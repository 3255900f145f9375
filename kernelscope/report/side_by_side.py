"""Lines of a hunk as pairs: what was removed beside what was added for it."""

from __future__ import annotations

from collections.abc import Iterator

from kernelscope.diffing.results import DiffLine, Hunk, LineKind


def paired_lines(hunk: Hunk) -> Iterator[tuple[DiffLine | None, DiffLine | None]]:
    """Removed lines beside the added ones that follow them; an unchanged line is on both sides."""
    removed: list[DiffLine] = []
    added: list[DiffLine] = []
    for line in (*hunk.lines, None):
        if line is not None and line.kind is LineKind.REMOVED and not added:
            removed.append(line)
        elif line is not None and line.kind is LineKind.ADDED:
            added.append(line)
        else:
            for number in range(max(len(removed), len(added))):
                yield (
                    (removed[number] if number < len(removed) else None),
                    (added[number] if number < len(added) else None),
                )
            removed, added = [], []
            if line is not None and line.kind is LineKind.REMOVED:
                removed.append(line)
            elif line is not None:
                yield line, line
