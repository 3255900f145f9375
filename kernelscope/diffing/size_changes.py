"""Sizes whose declared ranges differ between two artifacts."""

from __future__ import annotations

from kernelscope.audit.run import read_model
from kernelscope.diffing.results import SizeChange
from kernelscope.diffing.sides import Side
from kernelscope.launches.launch import Symbol


def size_changes(before: Side, after: Side) -> tuple[SizeChange, ...]:
    """By name and source, in the order of the first side. Nothing is read where the checks of the inputs are the same."""
    if before.checks == after.checks:
        return ()
    old, new = _sizes(before), _sizes(after)
    return tuple(
        SizeChange(symbol.name, symbol.source, _range(symbol), _range(new[key]))
        for key, symbol in old.items()
        if key in new and _range(symbol) != _range(new[key])
    )


def _sizes(side: Side) -> dict[tuple[str, str], Symbol]:
    nothing: frozenset[str] = frozenset()
    wrappers = (wrapper for model in side.models for wrapper in read_model(model, None, nothing).wrappers)
    return {(symbol.name, symbol.source): symbol for wrapper in wrappers for symbol in wrapper.symbols}


def _range(symbol: Symbol) -> tuple[int | None, int | None]:
    return symbol.minimum, symbol.maximum
