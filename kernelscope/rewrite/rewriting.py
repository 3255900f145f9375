"""What a strategy makes of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kernelscope.rewrite.candidates import Candidate
from kernelscope.rewrite.edits import Edit


class Strategy(Enum):
    """How casts are chosen. `AUTO` compiles the results of MINIMAL and INDUCTOR and keeps the cheapest; `NARROW` goes the
    other way, to 32 bits."""

    MINIMAL = "minimal"
    INDUCTOR = "inductor"
    BLANKET = "blanket"
    AUTO = "auto"
    NARROW = "narrow"


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A kernel text that is proved safe. `widened`: arguments that the wrapper has to pass in 64 bits."""

    strategy: Strategy
    text: str
    casts: tuple[Candidate, ...]
    edits: tuple[Edit, ...]
    widened: frozenset[str]


@dataclass(frozen=True, slots=True)
class NothingToDo:
    """Every launch is proved already."""


@dataclass(frozen=True, slots=True)
class NotRewritten:
    """The strategy found no text that is proved safe: why."""

    strategy: Strategy
    reason: str


RewriteResult = Rewriting | NothingToDo | NotRewritten
