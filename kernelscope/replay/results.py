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
    the access has no such lane); `elements` is the buffer's size (None: not known). `values`: of an integer that is
    stored, exact and on the hardware, as bits of the element."""

    line: int
    kind: str
    buffer: str
    exact: int | None
    hardware: int | None
    elements: int | None
    values: tuple[int | None, int | None] = (None, None)

    @property
    def agrees(self) -> bool:
        return self.exact == self.hardware and self.values[0] == self.values[1]

    @property
    def beyond(self) -> int | None:
        """How far the hardware's offset lies outside of the buffer: negative before its start, positive past its end, 0
        inside; None where that is not known."""
        if self.hardware is None:
            return None
        if self.hardware < 0:
            return self.hardware
        return None if self.elements is None else max(0, self.hardware - self.elements + 1)


class PatchedState(Enum):
    """What the patched kernel does at the same point."""

    SETTLED = "settled by the patch"
    NOT_SETTLED = "not settled by the patch"
    NO_PATCH = "no patch"
    NOT_REPLAYABLE = "patched, but not replayable"


@dataclass(frozen=True, slots=True)
class PatchedReplay:
    """The same point in the kernel as `kernelscope patch` rewrites it: of each access, where exact arithmetic puts it in
    the original kernel, and where the hardware would in the patched one. `detail`: why there is none."""

    state: PatchedState
    detail: str
    accesses: tuple[ReplayedAccess, ...] = ()


@dataclass(frozen=True, slots=True)
class Replay:
    """`accesses` in the order of the program; `detail` says why it is not replayable, or what a launch or loop did.
    `patched` is None where it was not asked for."""

    path: str
    kernel: str
    finding: UnsafeFinding
    state: ReplayState
    detail: str
    arguments: Mapping[str, tuple[int, int]]  # exact, and as the launch passes it
    grid: tuple[int, int, int] | None
    accesses: tuple[ReplayedAccess, ...]
    patched: PatchedReplay | None = None


#: By artifact path and id of a finding, what its witness did.
Replayed = Mapping[tuple[str, str], Replay]
