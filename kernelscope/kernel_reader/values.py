"""What a name or expression stands for while a kernel is read: a node, a compile-time value, or a compound of them."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from kernelscope.triton_source.index_program import Node


@dataclass(frozen=True, slots=True)
class Static:
    """A compile-time value (constexpr): a number, bool, string, None, or a ScalarType / PointerType as a dtype."""

    value: object


@dataclass(frozen=True, slots=True)
class Items:
    """A tuple or list of values."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function defined in the same text."""

    definition: ast.FunctionDef


@dataclass(frozen=True, slots=True)
class External:
    """A name of triton's or Inductor's, canonical: `triton.language.load`."""

    path: str


@dataclass(frozen=True, slots=True)
class Method:
    """An attribute of a value that will be called: `x.to`."""

    receiver: Value
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class BlockPointer:
    """`tl.make_block_ptr(…)`: shape, strides and offsets are int64 nodes (offsets widened from int32)."""

    base: Node
    shape: tuple[Node, ...]
    strides: tuple[Node, ...]
    offsets: tuple[Node, ...]
    block_shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Descriptor:
    """A tensor descriptor: loads and stores through it are clipped to `shape`."""

    base: Node
    shape: tuple[Node, ...]
    strides: tuple[Node, ...]
    block_shape: tuple[int, ...]


Value = Node | Static | Items | Function | External | Method | BlockPointer | Descriptor
