"""Binding the arguments of a call to a library function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from kernelscope.triton_source.interpreter.state import State
from kernelscope.triton_source.interpreter.values import Value

Handler: TypeAlias = Callable[[State, "list[Value]", "dict[str, Value]"], Value]


def bound(args: Sequence[Value], kwargs: Mapping[str, Value], *names: str) -> list[Value]:
    """The arguments in the order of `names`; None for those not given."""
    values = list(args[: len(names)])
    values += [kwargs.get(name) for name in names[len(values) :]]
    return values


def flag(value: Value) -> bool:
    """A compile-time boolean argument; anything else counts as not set."""
    return isinstance(value, (bool, int)) and bool(value)
