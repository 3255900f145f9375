"""What differs between two artifacts: pairs of kernels, hunks of lines, marks on tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from kernelscope.audit.results import UnsafeFinding, Verdict
from kernelscope.build.cost import KernelCost


class Language(Enum):
    TRITON = "python"
    CPP = "cpp"
    TTIR = "ttir"
    PTX = "ptx"
    SASS = "sass"


class LineKind(Enum):
    SAME = " "
    REMOVED = "-"
    ADDED = "+"


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a hunk: its number on either side (from 1; None on the side that lacks it), and the columns of the tokens
    that changed within a changed line."""

    kind: LineKind
    text: str
    before: int | None
    after: int | None
    marks: tuple[tuple[int, int], ...] = ()


class Outcome(Enum):
    """What became of a finding on the second side."""

    SETTLED = "settled"
    STAYS = "stays"
    OPEN = ""  # the second side was not audited, or fails in a like way elsewhere


@dataclass(frozen=True, slots=True)
class SizeChange:
    """A size whose declared range differs (None: no bound)."""

    name: str
    source: str
    before: tuple[int | None, int | None]
    after: tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Hunk:
    """Neighbouring changes with lines around them; `findings` are those of the first side that lie in it."""

    lines: tuple[DiffLine, ...]
    findings: tuple[UnsafeFinding, ...] = ()


@dataclass(frozen=True, slots=True)
class TextDiff:
    """One text of a kernel: its Triton source, its launcher, or what the compiler made of it."""

    title: str
    language: Language
    hunks: tuple[Hunk, ...]


class PairKind(Enum):
    SAME = "unchanged"
    CHANGED = "changed"
    RENAMED = "renamed"
    MOVED = "renamed and changed"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class CostChange:
    """What a patch cost: None where the tools to measure it are missing."""

    before: KernelCost | None
    after: KernelCost | None


@dataclass(frozen=True, slots=True)
class KernelDiff:
    """A kernel on both sides, or on one; `similarity` of the texts from 0 to 1. `findings`: those of the first side that lie
    in no hunk; `outcomes`: what became of findings, by id. `verdict_after`: the second side's, where it was audited."""

    kind: PairKind
    before: str | None
    after: str | None
    similarity: float
    texts: tuple[TextDiff, ...]
    cost: CostChange | None = None
    findings: tuple[UnsafeFinding, ...] = ()
    verdict_after: Verdict | None = None
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ArtifactDiff:
    """`files`: text members by path on both sides, for a patch that can be applied (None: not on that side)."""

    before: str
    after: str
    kernels: tuple[KernelDiff, ...]
    files: Mapping[str, tuple[str | None, str | None]]
    notes: tuple[str, ...] = ()
    sizes: tuple[SizeChange, ...] = ()

    @property
    def differs(self) -> bool:
        return any(k.kind is not PairKind.SAME for k in self.kernels) or any(a != b for a, b in self.files.values())
