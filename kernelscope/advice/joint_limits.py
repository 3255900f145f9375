"""Largest sizes that are safe together: what one size may reach depends on what the others are allowed to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernelscope.advice.options import SizeBound, TradeOff, TradeOffRow
from kernelscope.audit.launch_analysis import full_ranges
from kernelscope.audit.results import keep_least
from kernelscope.audit.size_limits import SizeLimits
from kernelscope.bounds.space import Range
from kernelscope.launches.launch import Symbol

_MOST_DOUBLINGS = 40
_MOST_ROWS = 8


class JointLimits:
    """The sizes of one model. `wanted`: largest values that the user needs, by symbol or input dimension."""

    def __init__(
        self, limits: Sequence[SizeLimits], wanted: Mapping[str, int], device_memory: int | None = None
    ) -> None:
        self._limits = limits
        symbols = {s.name: s for part in limits for s in part.symbols}
        self._symbols = symbols
        self._full = full_ranges(list(symbols.values()), device_memory)
        for symbol in symbols.values():
            value = wanted.get(symbol.name, wanted.get(symbol.source))
            if value is not None:
                self._full[symbol.name] = (self._full[symbol.name][0], value)
        self._wanted = {s.name for s in symbols.values() if {s.name, s.source} & set(wanted)}
        self.unknown: str | None = None

    def largest(self, symbol: Symbol, others: Mapping[str, Range]) -> int | None:
        """The largest safe value of a size, the others in their ranges; None: no limit."""
        best: dict[str, int | None] = {}
        for part in self._limits:
            if any(s.name == symbol.name for s in part.symbols):
                found = part.largest(symbol, {s.name: others[s.name] for s in part.symbols})
                self.unknown = self.unknown or found.unknown
                keep_least(best, {symbol.name: found.largest})
        return best.get(symbol.name)

    def recommended(self) -> tuple[SizeBound, ...] | None:
        """A largest value for every size that needs one, then those that the user needs. All share the largest power of
        two that is safe for all of them, then each in turn, in the order of the inputs, takes what is left. None: not
        even the least sizes are safe."""
        limited = sorted(self._limited(), key=lambda s: s.name in self._wanted)
        if not limited:
            return ()
        shared = self._shared_power(limited)
        if shared is None:
            return None
        chosen = self._capped(limited, 1 << shared)
        for symbol in limited:
            found = self.largest(symbol, chosen)
            low, high = self._full[symbol.name]
            chosen[symbol.name] = (low, high if found is None else min(high, found))
        kept = [s for s in self._symbols.values() if s.name in self._wanted and s not in limited]
        return tuple(SizeBound(s, *chosen[s.name]) for s in (*limited, *kept))

    def trade_off(self, bounds: Sequence[SizeBound]) -> TradeOff | None:
        """How large the first size may be for a falling bound on the others; None where they do not depend on each other."""
        free = [b.symbol for b in bounds if b.symbol.name not in self._wanted]
        if len(free) < 2:
            return None
        first, *rest = free
        low = max(1, max(self._full[s.name][0] for s in rest).bit_length() - 1)
        high = self._last_power(first, rest, low)
        rows = []
        for exponent in _spread(low, high):
            rows.append(TradeOffRow(1 << exponent, self.largest(first, self._capped(rest, 1 << exponent))))
        return TradeOff(first, tuple(rest), tuple(rows)) if len({row.largest for row in rows}) > 1 else None

    def _last_power(self, first: Symbol, rest: Sequence[Symbol], low: int) -> int:
        """The largest exponent at which `rest` may reach that power of two with `first` at its least."""
        least = (self._full[first.name][0],) * 2
        high = min(_MOST_DOUBLINGS, max(self._full[s.name][1] for s in rest).bit_length())
        while high - low > 1:
            middle = (low + high) // 2
            if self._proves({**self._capped(rest, 1 << middle), first.name: least}):
                low = middle
            else:
                high = middle
        return low

    def _limited(self) -> list[Symbol]:
        """The sizes that break something within their range when all others are at their least."""
        least = {name: (low, low) for name, (low, _) in self._full.items()}
        found = []
        for symbol in self._symbols.values():
            largest = self.largest(symbol, least)
            if largest is not None and largest < self._full[symbol.name][1]:
                found.append(symbol)
        return found

    def _shared_power(self, limited: Sequence[Symbol]) -> int | None:
        """The largest exponent at which all limited sizes may reach that power of two together, by bisection: what is
        proved for a range is proved for each part of it."""
        low, high = 0, _MOST_DOUBLINGS
        if not self._holds(limited, 1):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            if self._holds(limited, 1 << middle):
                low = middle
            else:
                high = middle
        return low

    def _holds(self, limited: Sequence[Symbol], bound: int) -> bool:
        return self._proves(self._capped(limited, bound))

    def _proves(self, ranges: Mapping[str, Range]) -> bool:
        return all(part.proves({s.name: ranges[s.name] for s in part.symbols}) for part in self._limits)

    def _capped(self, limited: Sequence[Symbol], bound: int) -> dict[str, Range]:
        """All ranges, those of `limited` (but for what the user needs) up to `bound` or their least value."""
        names = {s.name for s in limited} - self._wanted
        return {
            name: (low, min(high, max(low, bound)) if name in names else high)
            for name, (low, high) in self._full.items()
        }


def _spread(low: int, high: int) -> list[int]:
    """At most eight whole numbers from `low` to `high`, evenly spread, with both ends."""
    steps = min(_MOST_ROWS - 1, high - low)
    return [low + round(place * (high - low) / max(1, steps)) for place in range(steps + 1)]
