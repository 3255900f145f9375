"""What must be exact: a value that something reads in full, and for what."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kernelscope.audit.coordinates import Coordinates
from kernelscope.bounds.polynomial import Polynomial
from kernelscope.bounds.space import Space
from kernelscope.triton_source.index_program import Node, UnknownReason
from kernelscope.triton_source.scalar_types import ScalarType


class Use(Enum):
    """What an observed value is for; the first that applies names the finding."""

    ADDRESS = "address"
    VALUE = "stored value"
    LOOP = "loop bound"
    CONDITION = "branch condition"
    MASK = "mask"


@dataclass(frozen=True, slots=True, eq=False)
class Obligation:
    """`node`'s exact value, `exact`, must lie in the range of its type where `observer` reads it. `lanes` are the
    coordinates at which it is read."""

    node: Node
    observer: Node | None
    exact: Polynomial
    type: ScalarType
    use: Use
    space: Space
    coordinates: Coordinates
    limits: tuple[int, int] | None = None

    @property
    def minimum(self) -> int:
        """Least exact value that is read as it is."""
        return self.type.minimum if self.limits is None else self.limits[0]

    @property
    def maximum(self) -> int:
        """Largest exact value that is read as it is."""
        return self.type.maximum if self.limits is None else self.limits[1]


@dataclass(frozen=True, slots=True, eq=False)
class NotFollowed:
    """A value that an address, mask, bound or condition depends on and that is not followed: why."""

    node: Node
    reason: UnknownReason
    detail: str


class NeedsCase(Exception):
    """The value depends on a condition that is not decided in this context: split on it."""

    def __init__(self, condition: Node, coordinates: Coordinates) -> None:
        super().__init__("undecided condition")
        self.condition = condition
        self.coordinates = coordinates
