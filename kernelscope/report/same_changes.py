"""Kernels that change in the same way: a deep network repeats its layers, and a patch its casts."""

from __future__ import annotations

import re
from collections.abc import Hashable

from kernelscope.diffing.results import DiffLine, KernelDiff, LineKind, PairKind

_NUMBERED = re.compile(r"\b(var_)\d+\b")
#: Longer lines are metadata, of which only what is marked counts.
_LONGEST = 200


def change_of(kernel: KernelDiff) -> Hashable | None:
    """What two kernels with the same change have in common; None for one that is on one side only, or unchanged."""
    if kernel.kind not in (PairKind.CHANGED, PairKind.MOVED):
        return None
    return tuple(
        (text.title, tuple(_line(line) for hunk in text.hunks for line in hunk.lines if line.kind is not LineKind.SAME))
        for text in kernel.texts
    )


def _line(line: DiffLine) -> Hashable:
    if len(line.text) > _LONGEST and line.marks:
        return line.kind, tuple(line.text[start:end] for start, end in line.marks)
    return line.kind, _NUMBERED.sub(r"\1", line.text)
