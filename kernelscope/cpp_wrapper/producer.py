"""Which torch wrote a wrapper, as far as its text tells (torch 2.8, 2.11 and 2.14 were compared)."""

from __future__ import annotations

from enum import Enum


class Producer(Enum):
    """Versions that write the same: between two that were measured, either may be meant."""

    TO_2_10 = "2.8"  # up to 2.10
    FROM_2_11 = "2.11"  # up to 2.13
    FROM_2_14 = "2.14"

    @property
    def words(self) -> str:
        return _WORDS[self]


_WORDS = {
    Producer.TO_2_10: "torch 2.8, or another before 2.11",
    Producer.FROM_2_11: "torch 2.11, or another before 2.14",
    Producer.FROM_2_14: "torch 2.14 or newer",
}


def producer_of(text: str) -> Producer | None:
    """From the arguments that launchers and `loadKernel` take; None where the wrapper launches nothing."""
    if "loadKernel(" not in text or "launchKernel(" not in text:
        return None
    if "&kernels_.loaded_modules_" in text:
        return Producer.FROM_2_14
    return Producer.FROM_2_11 if "global_scratch_scratch_" in text else Producer.TO_2_10
