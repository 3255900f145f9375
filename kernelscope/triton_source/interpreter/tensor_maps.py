"""Tensor maps that a kernel writes into a workspace and loads through (triton 3.2 to 3.4, Inductor's TMA templates)."""

from __future__ import annotations

from kernelscope.triton_source.index_program import BinaryOperator, Node
from kernelscope.triton_source.interpreter import block_pointers, memory, nodes
from kernelscope.triton_source.interpreter.arguments import Handler, bound
from kernelscope.triton_source.interpreter.block_pointers import as_items, static_sizes
from kernelscope.triton_source.interpreter.operators import apply, as_scalar_type
from kernelscope.triton_source.interpreter.state import State
from kernelscope.triton_source.interpreter.values import Descriptor, Unknown, Value, is_node, is_pointer
from kernelscope.triton_source.scalar_types import INT32, INT64, UINT8, PointerType, ScalarType

#: A tensor map is this long.
MAP_BYTES = 128


def _create(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A map of a contiguous tensor, written at `desc_ptr`."""
    place, base, box, sizes, element = bound(
        args, kwargs, "desc_ptr", "global_address", "load_size", "global_size", "element_ty"
    )
    block = static_sizes(s, box)
    if not is_node(place) or not is_node(base) or not is_pointer(base) or block is None:
        s.give_up_on("a tensor map that is not followed")
        return None
    shape = tuple(as_scalar_type(s, size, INT32) for size in as_items(sizes))
    if len(shape) != len(block):
        s.reject("a tensor map's sizes and box have different lengths")
        return None
    if isinstance(element, ScalarType):
        base = nodes.cast(s, base, PointerType(element))
    s.descriptors[id(place)] = Descriptor(base, shape, _contiguous(s, shape), block)
    _write_map(s, place)
    return None


def _contiguous(s: State, shape: tuple[Node, ...]) -> tuple[Node, ...]:
    recording, s.recording = s.recording, False
    strides: list[Node] = []
    step: Value = nodes.constant(s, 1, INT64)
    for size in reversed(shape):
        assert is_node(step)
        strides.insert(0, step)
        step = apply(s, BinaryOperator.MULTIPLY, step, as_scalar_type(s, size, INT64))
    s.recording = recording
    return tuple(strides)


def _write_map(s: State, place: Node) -> None:
    """The bytes of the map itself."""
    recording, s.recording = s.recording, False
    address = apply(s, BinaryOperator.ADD, nodes.cast(s, place, PointerType(UINT8)), nodes.arange(s, 0, MAP_BYTES))
    memory.store(s, address, nodes.opaque(s, UINT8, (), "a tensor map"), None)
    s.recording = recording


def _load(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    place, offsets, box, kind = bound(args, kwargs, "desc_pointer", "offsets", "block_shape", "dtype")
    descriptor = _described(s, place, box, kind)
    return Unknown("a load through a tensor map") if descriptor is None else (
        block_pointers.load_descriptor(s, descriptor, offsets)
    )  # fmt: skip


def _store(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    place, value, offsets = bound(args, kwargs, "desc_pointer", "value", "offsets")
    descriptor = _described(s, place, value.shape if is_node(value) else None, None)
    if descriptor is not None:
        block_pointers.store_descriptor(s, descriptor, offsets, value)
    return None


def _described(s: State, place: Value, box: Value, kind: Value) -> Descriptor | None:
    """The tensor behind a map, with the box and element type of this access."""
    known = s.descriptors.get(id(place))
    block = static_sizes(s, box)
    if not isinstance(known, Descriptor) or block is None or len(block) != len(known.shape):
        s.give_up_on("an access through a tensor map that is not followed")
        return None
    base = nodes.cast(s, known.base, PointerType(kind)) if isinstance(kind, ScalarType) else known.base
    return Descriptor(base, known.shape, known.strides, block)


def _nothing(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return None


FUNCTIONS: dict[str, Handler] = {
    "extra.cuda.experimental_device_tensormap_create1d": _create,
    "extra.cuda.experimental_device_tensormap_create2d": _create,
    "extra.cuda.experimental_tensormap_fenceproxy_acquire": _nothing,
    "extra.cuda.gdc_wait": _nothing, "extra.cuda.gdc_launch_dependents": _nothing,
    "_experimental_descriptor_load": _load, "_experimental_descriptor_store": _store,
}  # fmt: skip
