"""What a witness did when it was run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from kernelscope.audit.results import UnsafeFinding


class ReplayState(Enum):
    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    NOT_REPLAYABLE = "not replayable"


@dataclass(frozen=True, slots=True)
class ReplayedAccess:
    """One load, store or atomic of the witness's program: what its lane does exactly and on the hardware.

    `line` counts in the kernel's text from 1. Offsets are in elements of `buffer`, None where the lane is masked off (or
    the access has no such lane); `elements` is the buffer's size (None: not known)."""

    line: int
    kind: str
    buffer: str
    exact: int | None
    hardware: int | None
    elements: int | None

    @property
    def agrees(self) -> bool:
        return self.exact == self.hardware

    @property
    def beyond(self) -> int | None:
        """How far the hardware's offset lies outside of the buffer: negative before its start, positive past its end, 0
        inside; None where that is not known."""
        if self.hardware is None:
            return None
        if self.hardware < 0:
            return self.hardware
        return None if self.elements is None else max(0, self.hardware - self.elements + 1)


@dataclass(frozen=True, slots=True)
class Replay:
    """`accesses` in the order of the program; `detail` says why it is not replayable."""

    path: str
    kernel: str
    finding: UnsafeFinding
    state: ReplayState
    detail: str
    arguments: Mapping[str, tuple[int, int]]  # exact, and as the launch passes it
    grid: tuple[int, int, int] | None
    accesses: tuple[ReplayedAccess, ...]
