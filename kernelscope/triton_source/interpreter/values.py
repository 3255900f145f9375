"""What a name in a kernel can stand for: an index-program node, a compile-time value, or one of these."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Final, TypeGuard

from kernelscope.triton_source.index_program import (
    Absolute,
    Arange,
    Argument,
    Binary,
    Broadcast,
    Carried,
    Cast,
    Constant,
    ExpandDims,
    Invert,
    Loaded,
    LoopCounter,
    Negate,
    Node,
    NumPrograms,
    Opaque,
    Permute,
    PointerAdd,
    ProgramId,
    Reduce,
    Where,
)
from kernelscope.triton_source.scalar_types import PointerType, ScalarType

#: A node, or a compile-time Python value (number, string, None, type, tuple), or one of the classes below.
Value = object

_NODE_CLASSES: Final = frozenset(
    {
        Absolute, Arange, Argument, Binary, Broadcast, Carried, Cast, Constant, ExpandDims, Invert, Loaded, LoopCounter,
        Negate, NumPrograms, Opaque, Permute, PointerAdd, ProgramId, Reduce, Where,
    }
)  # fmt: skip
_NUMBERS: Final = frozenset({int, float, bool})


@dataclass(frozen=True, slots=True, eq=False)
class BlockPointer:
    """`tl.make_block_ptr(...)`; shape, strides and offsets are int64 scalars."""

    base: Node
    shape: tuple[Node, ...]
    strides: tuple[Node, ...]
    offsets: tuple[Node, ...]
    block_shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Descriptor:
    """`tl.make_tensor_descriptor(...)`; shape entries are int32 scalars, strides int64."""

    base: Node
    shape: tuple[Node, ...]
    strides: tuple[Node, ...]
    block_shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Namespace:
    """A module by its normal name: `tl`, `tl.math`, `triton_helpers`, `libdevice`."""

    name: str


@dataclass(frozen=True, slots=True)
class LibraryFunction:
    """A function of a known module by its normal name: `tl.load`."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class JitFunction:
    """A jitted function defined in the kernel's text."""

    definition: ast.FunctionDef


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """`receiver.name`, not called yet."""

    receiver: Value
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Unknown:
    """A value of which not even the type is known."""

    detail: str


@dataclass(frozen=True, slots=True)
class MissingParameter:
    """A compile-time parameter that was given no value; an error only when it is read."""

    name: str


def is_node(value: Value) -> TypeGuard[Node]:
    """Whether a value is an index-program node."""
    return type(value) in _NODE_CLASSES


def is_number(value: Value) -> TypeGuard[int | float]:
    """Whether a value is a compile-time number or boolean."""
    return type(value) in _NUMBERS


def is_type(value: Value) -> TypeGuard[ScalarType | PointerType]:
    """Whether a value is a Triton type."""
    return isinstance(value, (ScalarType, PointerType))


def is_pointer(node: Node) -> bool:
    """Whether a node is a pointer or a block of pointers."""
    return isinstance(node.type, PointerType)


def touches_memory(value: Value) -> bool:
    """Whether memory could be reached through a value."""
    return is_node(value) and is_pointer(value) or isinstance(value, (BlockPointer, Descriptor))


def is_integer(node: Node) -> bool:
    """Whether a node is an integer or a block of integers."""
    return isinstance(node.type, ScalarType) and node.type.is_integer
