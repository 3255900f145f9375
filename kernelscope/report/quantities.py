"""Numbers as a person reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def bytes_text(count: int) -> str:
    """A number of bytes in the largest unit that leaves at least 1: `8 GiB`, `1.5 GiB`."""
    power = 0
    while power + 1 < len(_UNITS) and count >= 1 << 10 * (power + 1):
        power += 1
    number = f"{count / (1 << 10 * power):.1f}".removesuffix(".0")
    return f"{number} {_UNITS[power] if count != 1 or power else 'byte'}"


def counted(count: int, noun: str) -> str:
    """`1 kernel`, `2 kernels`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def range_text(low: int | None, high: int | None) -> str:
    """An inclusive range: `[2, no limit]`."""
    return f"[{'no limit' if low is None else low}, {'no limit' if high is None else high}]"


def sizes_text(sizes: Mapping[str, int]) -> str:
    """`s10 = 2, s21 = 64`."""
    return ", ".join(f"{name} = {value}" for name, value in sizes.items())


def listed(names: Sequence[str], limit: int) -> str:
    """The first `limit` names, and how many more there are."""
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def share_text(value: int, limit: int) -> str:
    """How much of a limit a value reaches, in per cent, never rounded up to all of it."""
    if limit <= 0:
        return "-"
    share = 100 * value / limit
    if share < 1:
        return "< 1 %"
    return f"{min(99, int(share)) if value < limit else 100} %"
