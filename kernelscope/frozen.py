"""Frozen dataclasses of which an audit makes very many.

To the type checker `frozen_dataclass` is `dataclasses.dataclass`, so that an assignment to a field is an error there. At
run time it leaves out `frozen`, whose guard makes an object five times as slow to build."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from dataclasses import dataclass as frozen_dataclass
else:
    from dataclasses import dataclass

    T = TypeVar("T")

    def frozen_dataclass(*, frozen: bool, slots: bool, eq: bool = True) -> Callable[[type[T]], type[T]]:
        """A slotted dataclass, hashable where it compares by value."""
        assert frozen
        return dataclass(slots=slots, eq=eq, unsafe_hash=eq)


__all__ = ["frozen_dataclass"]
