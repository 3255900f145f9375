"""The command line's own parameter types: ranges, sizes, and amounts of memory."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    _ParameterType = click.ParamType[object]
else:  # generic since click 8.4 only
    _ParameterType = click.ParamType

_UNITS = {
    "": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40,
    "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40, "pib": 1 << 50,
    "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "pb": 10**15,
}  # fmt: skip
_AMOUNT = re.compile(r"(\d{1,18})(?:\.(\d{1,9}))?\s*([a-z]*)", re.IGNORECASE | re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+(?:_\d+)*", re.ASCII)
_MAX_DIGITS = 40

#: The values of `--strategy`, as `rewrite.rewriting.Strategy` names them; a blanket rewrite is for comparison only.
STRATEGIES = ("auto", "minimal", "inductor")

SizeRange = tuple[str, int | None, int | None]


class MemoryType(_ParameterType):
    """`80GiB`, `80GB`, a number of bytes, or `none`."""

    name = "memory"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        if isinstance(value, int):
            return value
        text = str(value).strip()
        if text.lower() == "none":
            return None
        match = _AMOUNT.fullmatch(text)
        if match is None or match[3].lower() not in _UNITS:
            self.fail(f"{text!r} is no amount of memory: write 80GiB, a number of bytes, or none", param, ctx)
        fraction = match[2] or ""
        scaled = int(match[1] + fraction) * _UNITS[match[3].lower()]
        amount: int = scaled // 10 ** len(fraction)
        if amount < 1:
            self.fail("no memory at all fits nothing: write 80GiB, or none for no assumption", param, ctx)
        return amount


class RangeType(_ParameterType):
    """`NAME=LO:HI`, both ends included; an end left out is not bounded."""

    name = "range"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> SizeRange:
        if isinstance(value, tuple):
            return value
        text = str(value)
        name, equals, ends = text.rpartition("=")
        low_text, colon, high_text = ends.partition(":")
        if not name.strip() or not equals or not colon:
            self.fail(f"{text!r} is no range: write NAME=LO:HI, for example s10=2:4096", param, ctx)
        low, high = (self._end(end.strip(), text, param, ctx) for end in (low_text, high_text))
        if low is not None and high is not None and low > high:
            self.fail(f"{text!r} is empty: its lower end is above its upper end", param, ctx)
        return name.strip(), low, high

    def _end(self, end: str, text: str, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        if not end:
            return None
        number = integer(end)
        if number is None:
            self.fail(f"{text!r} is no range: its ends must be integers", param, ctx)
        return number


class FixedSizeType(_ParameterType):
    """`NAME=VALUE`."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        if isinstance(value, tuple):
            return value
        name, equals, number_text = str(value).rpartition("=")
        number = integer(number_text.strip())
        if not name.strip() or not equals or number is None:
            self.fail(f"{value!r} fixes no size: write NAME=VALUE, for example s21=64", param, ctx)
        return name.strip(), number


def integer(text: str) -> int | None:
    """A decimal integer of sensible length."""
    return int(text) if len(text) <= _MAX_DIGITS and _INTEGER.fullmatch(text) else None


def once(names: Iterable[str], option: str) -> None:
    """Refuse a name that is given twice, since one of the two would be ignored."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise click.UsageError(f"{option} is given twice for {name}")
        seen.add(name)
