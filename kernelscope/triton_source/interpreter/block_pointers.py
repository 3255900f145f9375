"""Block pointers and tensor descriptors, lowered to pointers and masks.

Triton widens every offset to int64 before the lane is added and before it is multiplied by its stride."""

from __future__ import annotations

from collections.abc import Sequence

from kernelscope.triton_source.index_program import BinaryOperator, Node
from kernelscope.triton_source.interpreter import memory, nodes
from kernelscope.triton_source.interpreter.operators import apply, as_scalar_type
from kernelscope.triton_source.interpreter.state import State
from kernelscope.triton_source.interpreter.values import (
    BlockPointer,
    Descriptor,
    Unknown,
    Value,
    is_node,
    is_number,
    is_pointer,
)
from kernelscope.triton_source.scalar_types import INT1, INT32, INT64

_MOST_RANK = 8


def as_items(value: Value) -> tuple[Value, ...]:
    """A tuple or list of values, or one value as a tuple."""
    return value if isinstance(value, tuple) else (value,)


def static_sizes(s: State, value: Value) -> tuple[int, ...] | None:
    """A compile-time shape; None (and a note) when it is not one."""
    sizes = [int(item) for item in as_items(value) if isinstance(item, int)]
    if len(sizes) != len(as_items(value)):
        return None
    return tuple(sizes)


def make_block_pointer(
    s: State, base: Value, shape: Value, strides: Value, offsets: Value, block_shape: Value
) -> Value:
    """`tl.make_block_ptr(base, shape, strides, offsets, block_shape, order)`."""
    block = static_sizes(s, block_shape)
    if not is_node(base) or not is_pointer(base) or block is None:
        s.give_up_on("a block pointer that is not followed")
        return Unknown("a block pointer that is not followed")
    parts = [tuple(as_scalar_type(s, item, INT64) for item in as_items(v)) for v in (shape, strides, offsets)]
    if any(len(part) != len(block) for part in parts) or not 0 < len(block) <= _MOST_RANK:
        s.reject("the parts of a block pointer have different lengths")
        return Unknown("a block pointer that Triton rejects")
    nodes.check_shape(s, block)
    return BlockPointer(base, parts[0], parts[1], parts[2], block)


def advance(s: State, pointer: Value, offsets: Value) -> Value:
    """`tl.advance(pointer, offsets)`."""
    if not isinstance(pointer, BlockPointer):
        s.give_up_on("tl.advance of a pointer that is not followed")
        return Unknown("tl.advance")
    deltas = [as_scalar_type(s, item, INT64) for item in as_items(offsets)]
    if len(deltas) != len(pointer.offsets):
        s.reject("tl.advance takes an offset for each dimension")
        return pointer
    moved: list[Node] = []
    for old, delta in zip(pointer.offsets, deltas, strict=True):
        total = nodes.binary(s, BinaryOperator.ADD, old, delta, INT64)
        unmoved = getattr(delta, "value", None) == 0
        moved.append(old if unmoved else total)
    return BlockPointer(pointer.base, pointer.shape, pointer.strides, tuple(moved), pointer.block_shape)


def materialize(
    s: State, base: Node, offsets: Sequence[Node], strides: Sequence[Node], shape: Sequence[Node],
    block: tuple[int, ...], checked: frozenset[int],
) -> tuple[Node, Node | None]:  # fmt: skip
    """The pointers of a block and the mask that its boundary checks make."""
    pointers: Value = base
    mask: Value = None
    for axis, extent in enumerate(block):
        lanes = apply(s, BinaryOperator.ADD, offsets[axis], nodes.arange(s, 0, extent))
        assert is_node(lanes)
        coordinate: Node = lanes
        for _ in range(axis):
            coordinate = nodes.expand_dims(s, coordinate, 0)
        for _ in range(axis + 1, len(block)):
            coordinate = nodes.expand_dims(s, coordinate, len(coordinate.shape))
        whole = nodes.broadcast(s, coordinate, block)
        pointers = apply(s, BinaryOperator.ADD, pointers, apply(s, BinaryOperator.MULTIPLY, whole, strides[axis]))
        if axis in checked:
            valid = apply(
                s, BinaryOperator.AND,
                apply(s, BinaryOperator.GREATER_EQUAL, whole, nodes.constant(s, 0, INT64)),
                apply(s, BinaryOperator.LESS, whole, shape[axis]),
            )  # fmt: skip
            mask = valid if mask is None else apply(s, BinaryOperator.AND, mask, valid)
    assert is_node(pointers)
    return pointers, mask if is_node(mask) else None


def _checked_axes(s: State, pointer: BlockPointer, boundary_check: Value) -> frozenset[int]:
    if boundary_check is None:
        return frozenset()
    axes = [axis for axis in as_items(boundary_check) if isinstance(axis, int)]
    if any(not 0 <= axis < len(pointer.block_shape) for axis in axes):
        s.reject("boundary_check names a dimension that the block pointer lacks")
    return frozenset(axes)


def load_block(s: State, pointer: BlockPointer, boundary_check: Value, padding: Value) -> Value:
    """`tl.load(block_pointer, boundary_check=…)`."""
    address, mask = _pointers(s, pointer, boundary_check)
    other = 0 if padding == "zero" and mask is not None else None
    return memory.load(s, address, mask, other)


def store_block(s: State, pointer: BlockPointer, value: Value, boundary_check: Value) -> None:
    """`tl.store(block_pointer, value, boundary_check=…)`."""
    address, mask = _pointers(s, pointer, boundary_check)
    memory.store(s, address, value, mask)


def _pointers(s: State, pointer: BlockPointer, boundary_check: Value) -> tuple[Node, Node | None]:
    checked = _checked_axes(s, pointer, boundary_check)
    return materialize(
        s, pointer.base, pointer.offsets, pointer.strides, pointer.shape, pointer.block_shape, checked
    )


# -- descriptors ----------------------------------------------------------------------------------------------------


def make_descriptor(s: State, base: Value, shape: Value, strides: Value, block_shape: Value) -> Value:
    """`tl.make_tensor_descriptor(base, shape, strides, block_shape)`."""
    block = static_sizes(s, block_shape)
    if not is_node(base) or not is_pointer(base) or block is None:
        s.give_up_on("a tensor descriptor that is not followed")
        return Unknown("a tensor descriptor that is not followed")
    sizes = tuple(as_scalar_type(s, item, INT32) for item in as_items(shape))
    steps = tuple(
        nodes.constant(s, item, INT64) if isinstance(item, int) and INT64.wrap(item) == item
        else as_scalar_type(s, item, INT64) for item in as_items(strides)
    )  # fmt: skip
    if len(sizes) != len(block) or len(steps) != len(block) or not 0 < len(block) <= _MOST_RANK:
        s.reject("the parts of a tensor descriptor have different lengths")
        return Unknown("a tensor descriptor that Triton rejects")
    return Descriptor(base, sizes, steps, block)


def _coordinates(s: State, offsets: Value, rank: int) -> list[Node] | None:
    items = as_items(offsets)
    if len(items) != rank:
        s.reject(f"expected {rank} coordinates")
        return None
    result: list[Node] = []
    for item in items:
        if is_node(item) and item.type is INT64 or is_number(item) and not -(2**31) <= item < 2**31:
            s.reject("descriptor coordinates are 32 bits wide")
        narrow = item if is_node(item) else as_scalar_type(s, item, INT32)
        result.append(as_scalar_type(s, narrow, INT64))
    return result


def _descriptor_block(s: State, descriptor: Descriptor, offsets: Value) -> tuple[Node, Node | None] | None:
    rank = len(descriptor.block_shape)
    recording, s.recording = s.recording, False
    try:
        coordinates = _coordinates(s, offsets, rank)
        if coordinates is None:
            return None
        sizes = [as_scalar_type(s, size, INT64) for size in descriptor.shape]
        everything = frozenset(range(rank))
        return materialize(
            s, descriptor.base, coordinates, descriptor.strides, sizes, descriptor.block_shape, everything
        )
    finally:
        s.recording = recording


def load_descriptor(s: State, descriptor: Value, offsets: Value) -> Value:
    """`descriptor.load(offsets)`: zero outside the tensor."""
    if not isinstance(descriptor, Descriptor):
        s.give_up_on("a load through a tensor descriptor that is not followed")
        return Unknown("a load through a tensor descriptor")
    block = _descriptor_block(s, descriptor, offsets)
    return Unknown("a descriptor load that Triton rejects") if block is None else memory.load(s, *block, 0)


def store_descriptor(s: State, descriptor: Value, offsets: Value, value: Value) -> None:
    """`descriptor.store(offsets, value)`: nothing outside the tensor."""
    if not isinstance(descriptor, Descriptor):
        s.give_up_on("a store through a tensor descriptor that is not followed")
        return
    block = _descriptor_block(s, descriptor, offsets)
    if block is not None:
        memory.store(s, block[0], value, block[1])


def reduce_into_descriptor(s: State, descriptor: Value, offsets: Value, value: Value) -> None:
    """`descriptor.atomic_add(offsets, value)` and its like."""
    if not isinstance(descriptor, Descriptor):
        s.give_up_on("an atomic operation through a tensor descriptor that is not followed")
        return
    block = _descriptor_block(s, descriptor, offsets)
    if block is not None:
        memory.atomic(s, block[0], value, block[1])


def gather_rows(s: State, descriptor: Value, rows: Value, column: Value, value: Value = None) -> Value:
    """`descriptor.gather(rows, column)`, or `scatter` where `value` is given: whole rows by their numbers."""
    if not isinstance(descriptor, Descriptor) or not is_node(rows) or len(rows.shape) != 1:
        s.give_up_on("a gather through a tensor descriptor that is not followed")
        return Unknown("a gather through a tensor descriptor")
    if len(descriptor.block_shape) != 2:
        s.reject("descriptor gather and scatter are two-dimensional")
        return Unknown("a gather that Triton rejects")
    recording, s.recording = s.recording, False
    width = descriptor.block_shape[1]
    shape = (rows.shape[0], width)
    row = nodes.broadcast(s, nodes.expand_dims(s, nodes.cast(s, rows, INT64, implicit=True), 1), shape)
    lanes = apply(s, BinaryOperator.ADD, as_scalar_type(s, column, INT64), nodes.arange(s, 0, width))
    assert is_node(lanes)
    place = nodes.broadcast(s, nodes.expand_dims(s, lanes, 0), shape)
    address: Value = descriptor.base
    mask: Value = nodes.constant(s, 1, INT1, shape)
    for coordinate, stride, size in zip((row, place), descriptor.strides, descriptor.shape, strict=True):
        address = apply(s, BinaryOperator.ADD, address, apply(s, BinaryOperator.MULTIPLY, coordinate, stride))
        wide = as_scalar_type(s, size, INT64)
        low = apply(s, BinaryOperator.GREATER_EQUAL, coordinate, 0)
        high = apply(s, BinaryOperator.LESS, coordinate, wide)
        mask = apply(s, BinaryOperator.AND, mask, apply(s, BinaryOperator.AND, low, high))
    s.recording = recording
    if value is None:
        return memory.load(s, address, mask, 0)
    memory.store(s, address, value, mask)
    return None
