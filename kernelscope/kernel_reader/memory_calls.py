"""Calls that touch memory: loads, stores, atomics, block pointers, tensor descriptors.

Block pointers and descriptors are lowered to plain pointers as triton's RewriteTensorPointer and
RewriteTensorDescriptorToPointer passes do (triton 3.8): offsets are sign-extended to int64, then multiplied by the strides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelscope.kernel_reader.arithmetic import NotUnderstood, binary, broadcast_to, cast, opaque, tensor, truth
from kernelscope.kernel_reader.calls import Call, Handler, shape_of
from kernelscope.triton_source.index_program import (
    Arange,
    Binary,
    BinaryOperator,
    Broadcast,
    ExpandDims,
    Node,
    PointerAdd,
    Shape,
    Span,
)
from kernelscope.triton_source.scalar_types import INT1, INT32, INT64, PointerType, ScalarType
from kernelscope.kernel_reader.values import BlockPointer, Descriptor, Items, Static, Value

if TYPE_CHECKING:
    from kernelscope.kernel_reader.expressions import Expressions


def _optional_node(reader: Expressions, one: Call, position: int, name: str) -> Node | None:
    value = one.get(position, name)
    return None if value is None else reader.node(value, one.span)


def _mask(reader: Expressions, one: Call, position: int) -> Node | None:
    node = _optional_node(reader, one, position, "mask")
    return None if node is None else truth(node, one.span)


def _load(reader: Expressions, one: Call) -> Value:
    pointer = one.need(0, "pointer")
    if isinstance(pointer, BlockPointer):
        return _block_load(reader, pointer, _checked_axes(one, 3), one.span)
    if isinstance(pointer, Descriptor):
        raise NotUnderstood("a load of a descriptor")
    node = reader.node(pointer, one.span)
    _need_pointer(node)
    other = _optional_node(reader, one, 2, "other")
    return reader.recorder.load(node, _mask(reader, one, 1), other, one.span)


def _store(reader: Expressions, one: Call) -> Value:
    pointer = one.need(0, "pointer")
    value = reader.node(one.need(1, "value"), one.span)
    if isinstance(pointer, BlockPointer):
        address, mask = block_address(pointer, _checked_axes(one, 3), one.span)
        reader.recorder.store(address, value, mask, one.span)
        return Static(None)
    node = reader.node(pointer, one.span)
    _need_pointer(node)
    reader.recorder.store(node, value, _mask(reader, one, 2), one.span)
    return Static(None)


def _need_pointer(node: Node) -> None:
    if not isinstance(node.type, PointerType):
        raise NotUnderstood("a memory access through something that is no pointer")


def _checked_axes(one: Call, position: int) -> tuple[int, ...]:
    value = one.get(position, "boundary_check")
    return () if value is None else shape_of(value, "boundary_check")


def _atomic(values: int) -> Handler:
    """An atomic with `values` value arguments before its mask."""

    def handler(reader: Expressions, one: Call) -> Value:
        node = one.node(reader, 0, "pointer")
        _need_pointer(node)
        value = _optional_node(reader, one, values, "val")
        mask = _mask(reader, one, values + 1) if values == 1 else None
        return reader.recorder.atomic(node, value, mask, one.span)

    return handler


# -- block pointers -----------------------------------------------------------------------------------------------------


def _wide(reader: Expressions, value: Value, span: Span) -> tuple[Node, ...]:
    """Each item as int64: a literal directly, others by extension of what they are."""
    items = value.items if isinstance(value, Items) else (value,)
    return tuple(cast(tensor(reader.scalar(i, span), span), INT64, span, implicit=True) for i in items)


def _offsets(reader: Expressions, value: Value, span: Span) -> tuple[Node, ...]:
    """Offsets of block pointers and coordinates of descriptors: int32 first (semantic._convert_to_ir_values)."""
    items = value.items if isinstance(value, Items) else (value,)
    result: list[Node] = []
    for item in items:
        node = tensor(reader.scalar(item, span), span)
        if isinstance(node.type, ScalarType) and node.type.bits > 32:
            node = cast(node, INT32, span)
        result.append(cast(cast(node, INT32, span, implicit=True), INT64, span, implicit=True))
    return tuple(result)


def _make_block_ptr(reader: Expressions, one: Call) -> Value:
    base = one.node(reader, 0, "base")
    _need_pointer(base)
    return BlockPointer(
        base, _wide(reader, one.need(1, "shape"), one.span), _wide(reader, one.need(2, "strides"), one.span),
        _offsets(reader, one.need(3, "offsets"), one.span), one.shape(4, "block_shape"),
    )  # fmt: skip


def _advance(reader: Expressions, one: Call) -> Value:
    pointer = one.need(0, "base")
    if not isinstance(pointer, BlockPointer):
        raise NotUnderstood("advance of something that is no block pointer")
    steps = _offsets(reader, one.need(1, "offsets"), one.span)
    offsets = tuple(
        binary(BinaryOperator.ADD, old, step, one.span) for old, step in zip(pointer.offsets, steps, strict=True)
    )
    return BlockPointer(pointer.base, pointer.shape, pointer.strides, offsets, pointer.block_shape)


def block_address(pointer: BlockPointer, checked: tuple[int, ...], span: Span) -> tuple[Node, Node | None]:
    """Pointers and boundary mask of a block: base + sum of (offset + lane) * stride."""
    rank = len(pointer.block_shape)
    address = broadcast_to(pointer.base, pointer.block_shape, span)
    mask: Node | None = None
    for axis in range(rank):
        lanes = _lanes(pointer.block_shape, axis, span)
        index = binary(BinaryOperator.ADD, pointer.offsets[axis], lanes, span)
        offset = binary(BinaryOperator.MULTIPLY, index, pointer.strides[axis], span)
        address = PointerAdd(
            address, broadcast_to(offset, pointer.block_shape, span), address.type, pointer.block_shape, span
        )
        if axis in checked:
            for limit in (
                binary(BinaryOperator.GREATER_EQUAL, index, Static(0), span),
                binary(BinaryOperator.LESS, index, pointer.shape[axis], span),
            ):
                limit = broadcast_to(limit, pointer.block_shape, span)
                mask = limit if mask is None else Binary(BinaryOperator.AND, mask, limit, INT1, pointer.block_shape, span)
    return address, mask


def _lanes(shape: Shape, axis: int, span: Span) -> Node:
    node: Node = cast(Arange(0, shape[axis], span, (shape[axis],)), INT64, span, implicit=True)
    for position in range(len(shape)):
        if position != axis:
            expanded = (*node.shape[:position], 1, *node.shape[position:])
            node = ExpandDims(node, position, node.type, expanded, span)
    return node


def _block_load(reader: Expressions, pointer: BlockPointer, checked: tuple[int, ...], span: Span) -> Value:
    address, mask = block_address(pointer, checked, span)
    return reader.recorder.load(address, mask, None, span)


# -- descriptors --------------------------------------------------------------------------------------------------------


def _make_descriptor(reader: Expressions, one: Call) -> Value:
    base = one.node(reader, 0, "base")
    _need_pointer(base)
    return Descriptor(
        base, _wide(reader, one.need(1, "shape"), one.span), _wide(reader, one.need(2, "strides"), one.span),
        one.shape(3, "block_shape"),
    )  # fmt: skip


def _descriptor_block(reader: Expressions, descriptor: Descriptor, coordinates: Value, span: Span) -> BlockPointer:
    offsets = _offsets(reader, coordinates, span)
    if len(offsets) != len(descriptor.block_shape):
        raise NotUnderstood("descriptor coordinates of another rank")
    return BlockPointer(descriptor.base, descriptor.shape, descriptor.strides, offsets, descriptor.block_shape)


def _descriptor_load(reader: Expressions, one: Call) -> Value:
    pointer = one.need(0, "desc")
    if isinstance(pointer, BlockPointer):
        return _block_load(reader, pointer, _checked_axes(one, 3), one.span)
    if not isinstance(pointer, Descriptor):
        raise NotUnderstood("a descriptor load of something that is no descriptor")
    block = _descriptor_block(reader, pointer, one.need(1, "offsets"), one.span)
    return _block_load(reader, block, tuple(range(len(block.block_shape))), one.span)


def _descriptor_store(reader: Expressions, one: Call) -> Value:
    pointer = one.need(0, "desc")
    if not isinstance(pointer, Descriptor):
        raise NotUnderstood("a descriptor store of something that is no descriptor")
    block = _descriptor_block(reader, pointer, one.need(1, "offsets"), one.span)
    address, mask = block_address(block, tuple(range(len(block.block_shape))), one.span)
    value = one.node(reader, 2, "value")
    if value.shape != block.block_shape:
        value = opaque(value.type, block.block_shape, one.span, "a reshaped value", (value,))
    reader.recorder.store(address, value, mask, one.span)
    return Static(None)


MEMORY: dict[str, Handler] = {
    "load": _load, "store": _store, "atomic_add": _atomic(1), "atomic_max": _atomic(1), "atomic_min": _atomic(1),
    "atomic_and": _atomic(1), "atomic_or": _atomic(1), "atomic_xor": _atomic(1), "atomic_xchg": _atomic(1),
    "atomic_cas": _atomic(2), "make_block_ptr": _make_block_ptr, "advance": _advance,
    "make_tensor_descriptor": _make_descriptor, "_experimental_make_tensor_descriptor": _make_descriptor,
    "load_tensor_descriptor": _descriptor_load, "store_tensor_descriptor": _descriptor_store,
}  # fmt: skip

METHODS: dict[str, Handler] = {
    "load": _descriptor_load, "store": _descriptor_store, "atomic_add": _descriptor_store,
    "atomic_min": _descriptor_store, "atomic_max": _descriptor_store, "advance": _advance,
}  # fmt: skip

__all__ = ["MEMORY", "METHODS", "Broadcast", "block_address"]
