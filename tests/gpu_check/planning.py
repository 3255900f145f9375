"""Which sizes a GPU's memory allows: at the largest safe size, one beyond, and for timing."""

from __future__ import annotations

from dataclasses import dataclass

#: Of the free memory, for the caching allocator's rounding and what eager needs for a chunk.
_RESERVE = 0.9


@dataclass(frozen=True, slots=True)
class Planned:
    """`safe` and `beyond`: the largest safe size and the next, None where they don't fit; `timed`: the size for timing.
    `reason`: why something is left out, else empty."""

    safe: int | None
    beyond: int | None
    timed: int
    reason: str


def planned(largest_safe: int, bytes_each: int, fixed_bytes: int, free: int) -> Planned:
    """The plan for a case whose tensors take `bytes_each` for every step of its size, on top of `fixed_bytes`."""
    most = (int(free * _RESERVE) - fixed_bytes) // bytes_each
    if most > largest_safe:
        return Planned(largest_safe, largest_safe + 1, largest_safe, "")
    needed = (fixed_bytes + (largest_safe + 1) * bytes_each) / _RESERVE / 2**30
    reason = f"{largest_safe + 1} needs {needed:.0f} GiB of free memory, there are {free / 2**30:.0f}"
    return Planned(None, None, max(2, most), reason)


def chunks(size: int, most: int) -> list[tuple[int, int]]:
    """The range [0, size) in pieces of at most `most`."""
    return [(start, min(size, start + most)) for start in range(0, size, most)]
