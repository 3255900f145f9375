"""What the execution of a Python wrapper has found so far."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kernelscope.launches.host_expression import HostExpression, HostSymbol
from kernelscope.launches.launch import BoundOrigin, DamagedPart, Launch, Symbol, Tensor
from kernelscope.launches.python_launches import PythonKernel

#: Bounds from here on are no bounds: Inductor writes its infinity as the largest C integer.
NO_BOUND = 2**62


_BACKED = re.compile(r"s\d+")


@dataclass(frozen=True, slots=True)
class Accessor:
    """`x.size()` or `x.stride()` kept in a variable."""

    tensor: str
    extents: str


Value = HostExpression | Tensor | Accessor | tuple["Value", ...] | None


@dataclass(slots=True)
class ProgramState:
    """What has been found so far."""

    file: str
    lines: Sequence[str]
    kernels: Mapping[str, tuple[PythonKernel, ...]]
    functions: Mapping[str, ast.FunctionDef]
    storages: set[str] = field(default_factory=set)
    inputs: dict[str, int] = field(default_factory=dict)  # storage -> input index
    symbols: dict[str, Symbol] = field(default_factory=dict)
    launches: list[Launch] = field(default_factory=list)
    damaged: list[DamagedPart] = field(default_factory=list)
    conditions: list[HostExpression] = field(default_factory=list)

    def define(self, name: str, source: str, minimum: int | None = None) -> HostSymbol:
        """A symbol; a name that another source has taken gets a suffix."""
        unique, count = name, 2
        while unique in self.symbols and self.symbols[unique].source != source:
            unique, count = f"{name}_{count}", count + 1
        if _BACKED.fullmatch(name):  # torch.compile specialises sizes 0 and 1, so that a symbolic one is at least 2
            minimum = max(2, minimum or 0)
        self.symbols.setdefault(unique, Symbol(unique, source, minimum, None, origin=BoundOrigin.WRAPPER))
        return HostSymbol(unique)

    def bound(self, name: str, low: int | None, high: int | None) -> None:
        """Narrows a symbol's range by what the wrapper checks."""
        symbol = self.symbols[name]
        lows = [bound for bound in (symbol.minimum, low) if bound is not None]
        highs = [bound for bound in (symbol.maximum, high) if bound is not None and bound < NO_BOUND]
        self.symbols[name] = replace(symbol, minimum=max(lows, default=None), maximum=min(highs, default=None))

    def storage(self, name: str) -> str:
        """A storage name that no other tensor has."""
        unique, count = name, 2
        while unique in self.storages:
            unique, count = f"{name}_{count}", count + 1
        self.storages.add(unique)
        return unique
