"""Merging what two branches made of the same variables."""

from __future__ import annotations

from collections.abc import Iterable

from kernelscope.triton_source.index_program import Node, Opaque
from kernelscope.triton_source.interpreter import nodes, operators
from kernelscope.triton_source.interpreter.state import State
from kernelscope.triton_source.interpreter.values import (
    BlockPointer,
    Descriptor,
    Unknown,
    Value,
    is_integer,
    is_node,
    is_number,
)

_MISSING = object()


def merge_scopes(
    s: State, condition: Node, if_true: dict[str, Value], if_false: dict[str, Value], names: Iterable[str]
) -> dict[str, Value]:
    """The variables after a branch: those set in it hold one value or the other."""
    scope = if_false
    for name in names:
        a, b = if_true.get(name, _MISSING), if_false.get(name, _MISSING)
        if a is b:
            continue
        if a is _MISSING or b is _MISSING:
            scope[name] = Unknown(f"{name}, which is set on one path only")
        else:
            scope[name] = merged(s, condition, a, b, name)
    return scope


def merged(s: State, condition: Node, a: Value, b: Value, name: str = "the result") -> Value:
    """`a` where the scalar `condition` holds, else `b`."""
    if a is b or (not is_node(a) and not is_node(b) and type(a) is type(b) and a == b):
        return a
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return tuple(merged(s, condition, x, y, name) for x, y in zip(a, b, strict=True))
    if isinstance(a, BlockPointer) and isinstance(b, BlockPointer) and a.block_shape == b.block_shape:
        return _merged_pointers(s, condition, a, b)
    if isinstance(a, Descriptor) and isinstance(b, Descriptor) and a.block_shape == b.block_shape:
        return _merged_descriptors(s, condition, a, b)
    if (is_node(a) or is_number(a)) and (is_node(b) or is_number(b)):
        return _merged_tensors(s, condition, a, b, name)
    return Unknown(f"{name}, which differs between two paths")


def _merged_tensors(s: State, condition: Node, a: Value, b: Value, name: str) -> Value:
    left, right = operators.to_node(s, a), operators.to_node(s, b)
    assert left is not None and right is not None
    if left.type != right.type or left.shape != right.shape:
        exact = not isinstance(left, Opaque) and not isinstance(right, Opaque)
        if exact and (is_integer(left) or is_integer(right)):
            s.reject(f"{name} has two types on two paths: {left.type.name} and {right.type.name}")
        return Unknown(f"{name}, whose type differs between two paths")
    return nodes.where(s, nodes.broadcast(s, condition, left.shape), left, right)


def _merged_each(s: State, condition: Node, a: tuple[Node, ...], b: tuple[Node, ...]) -> tuple[Node, ...]:
    return tuple(nodes.where(s, condition, x, y) for x, y in zip(a, b, strict=True))


def _merged_pointers(s: State, condition: Node, a: BlockPointer, b: BlockPointer) -> Value:
    if a.base.type != b.base.type:
        return Unknown("a block pointer that differs between two paths")
    return BlockPointer(
        nodes.where(s, condition, a.base, b.base), _merged_each(s, condition, a.shape, b.shape),
        _merged_each(s, condition, a.strides, b.strides), _merged_each(s, condition, a.offsets, b.offsets),
        a.block_shape,
    )  # fmt: skip


def _merged_descriptors(s: State, condition: Node, a: Descriptor, b: Descriptor) -> Value:
    if a.base.type != b.base.type:
        return Unknown("a tensor descriptor that differs between two paths")
    return Descriptor(
        nodes.where(s, condition, a.base, b.base), _merged_each(s, condition, a.shape, b.shape),
        _merged_each(s, condition, a.strides, b.strides), a.block_shape,
    )  # fmt: skip
