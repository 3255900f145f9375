"""What `run_impl` has computed so far: variables, arrays, tensors, symbols and launches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from kernelscope.cpp_wrapper.expressions import TypedExpression, select, unknown
from kernelscope.launches.host_expression import (
    HostBinary,
    HostConstant,
    HostExpression,
    HostOperator,
    HostSymbol,
    HostType,
)
from kernelscope.launches.launch import BoundOrigin, DamagedPart, Launch, Symbol, Tensor
from kernelscope.launches.tensors import same_layout, unknown_tensor

T = TypeVar("T")
#: Bounds from here on are no bounds: Inductor writes its infinity as the largest C integer.
NO_BOUND = 2**62

Dimension = tuple[int, int]  # (input, dimension)


@dataclass(slots=True)
class Scope:
    """The variables that are visible at one point."""

    names: dict[str, TypedExpression] = field(default_factory=dict)
    arrays: dict[str, tuple[HostExpression, ...]] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    accessors: dict[str, tuple[str, str]] = field(default_factory=dict)  # `x_size` -> ("x", "sizes")
    declared: set[str] = field(default_factory=set)

    def copy(self) -> Scope:
        return Scope(dict(self.names), dict(self.arrays), dict(self.tensors), dict(self.accessors))

    def leave(self, outer: Scope) -> None:
        """Forgets what a block declared, as at its closing brace; assignments to outer variables stay."""
        for name in self.declared:
            _restore(self.names, outer.names, name)
            _restore(self.arrays, outer.arrays, name)
            _restore(self.tensors, outer.tensors, name)
            _restore(self.accessors, outer.accessors, name)
        self.declared = outer.declared


def _restore(inner: dict[str, T], outer: dict[str, T], name: str) -> None:
    if name in outer:
        inner[name] = outer[name]
    else:
        inner.pop(name, None)


@dataclass(slots=True)
class HostState:
    """The symbolic state of one execution of `run_impl`; two functions tell about an input by its index."""

    file: str
    input_layout: Callable[[int], Tensor | None]
    input_dtype: Callable[[int], str | None]
    scope: Scope = field(default_factory=Scope)
    storages: set[str] = field(default_factory=set)
    inputs: dict[str, int] = field(default_factory=dict)  # storage name -> input index
    symbols: dict[str, Symbol] = field(default_factory=dict)
    #: Which symbol names an input's size, and by which factor the size is a multiple of it.
    dimensions: dict[Dimension, tuple[str, int]] = field(default_factory=dict)
    conditions: list[HostExpression] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    damaged: list[DamagedPart] = field(default_factory=list)
    comment: str = ""
    #: Launchers whose launches nothing is asked about, and how many of them there were.
    left_out: frozenset[str] = frozenset()
    skipped: int = 0

    @property
    def launched(self) -> int:
        """Launches so far, those that are left out included."""
        return len(self.launches) + self.skipped

    def declare(self, name: str) -> None:
        self.scope.declared.add(name)

    def define_symbol(
        self, name: str, source: str, kind: HostType = HostType.INT64, minimum: int | None = None
    ) -> TypedExpression:
        """A new symbol; a name that is already taken by another source gets a suffix."""
        unique, count = name, 2
        while unique in self.symbols and self.symbols[unique].source != source:
            unique, count = f"{name}_{count}", count + 1
        self.symbols.setdefault(unique, Symbol(unique, source, minimum, None, origin=BoundOrigin.WRAPPER))
        return TypedExpression(HostSymbol(unique), kind)

    def bound_symbol(self, name: str, minimum: int | None, maximum: int | None) -> None:
        """Narrows a symbol's range by what the wrapper checks at run time."""
        symbol = self.symbols[name]
        maximum = None if maximum is not None and maximum >= NO_BOUND else maximum
        low = minimum if symbol.minimum is None or minimum is None else max(minimum, symbol.minimum)
        high = maximum if symbol.maximum is None or maximum is None else min(maximum, symbol.maximum)
        self.symbols[name] = replace(
            symbol,
            minimum=symbol.minimum if low is None else low,
            maximum=symbol.maximum if high is None else high,
        )

    def rename_multiple(self, name: str, value: HostExpression) -> bool:
        """`s = size / k` names a size that is always a multiple of `k`: the symbol is `s` then, the size `k * s`."""
        match value:
            case HostBinary(HostOperator.FLOOR_DIVIDE, HostSymbol(size), HostConstant(factor)) if factor > 1:
                dimension = next((key for key, known in self.dimensions.items() if known == (size, 1)), None)
            case _:
                return False
        if dimension is None or self.launched or not size.endswith(f"_size_{dimension[1]}"):
            return False
        del self.symbols[size]
        symbol = self.define_symbol(name, f"input{dimension[0]}[{dimension[1]}] / {factor}", minimum=0)
        self.scope.names[name] = symbol
        multiple = HostBinary(HostOperator.MULTIPLY, HostConstant(factor), symbol.value)
        self.scope.names[size] = TypedExpression(multiple, HostType.INT64)
        if isinstance(symbol.value, HostSymbol):
            self.dimensions[dimension] = (symbol.value.name, factor)
        return True

    def tensor(self, name: str) -> Tensor | None:
        """The tensor in a variable, with an input's layout filled in from its checks where nothing else told it."""
        tensor = self.scope.tensors.get(name)
        if tensor is None or tensor.sizes is not None and tensor.dtype is not None:
            return tensor
        index = self.inputs.get(tensor.storage)
        if index is None:
            return tensor
        dtype = tensor.dtype or self.input_dtype(index)
        layout = self.input_layout(index) if tensor.sizes is None and tensor.offset is not None else None
        if layout is None:
            return replace(tensor, dtype=dtype)
        return replace(tensor, sizes=layout.sizes, strides=layout.strides, dtype=dtype)


def merged(condition: TypedExpression, before: Scope, if_true: Scope, if_false: Scope) -> Scope:
    """The variables after an `if`: what differs between its branches is selected by the condition, or unknown."""
    after = before.copy()
    after.declared = before.declared
    for name in before.names:
        left, right = if_true.names.get(name), if_false.names.get(name)
        if left is None or right is None:
            after.names[name] = unknown(name, "assigned under a condition")
        else:
            after.names[name] = left if left == right else select(condition, left, right)
    for name in before.tensors:
        after.tensors[name] = _merged_tensor(name, if_true.tensors.get(name), if_false.tensors.get(name))
    after.arrays = {k: v for k, v in if_true.arrays.items() if k in before.arrays and if_false.arrays.get(k) == v}
    return after


def _merged_tensor(name: str, left: Tensor | None, right: Tensor | None) -> Tensor:
    if left is None or right is None:
        return unknown_tensor(name)
    if left == right:
        return left
    if same_layout(left, right):
        return replace(left, name=name, storage=name, offset=None)
    return unknown_tensor(name)
