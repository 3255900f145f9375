"""Functions that change shapes or make blocks."""

from __future__ import annotations

from collections.abc import Sequence

from kernelscope.triton_source.index_program import Constant, Node, Shape
from kernelscope.triton_source.interpreter import nodes
from kernelscope.triton_source.interpreter.arguments import Handler, bound
from kernelscope.triton_source.interpreter.block_pointers import as_items, static_sizes
from kernelscope.triton_source.interpreter.operators import to_node
from kernelscope.triton_source.interpreter.state import State, element_count
from kernelscope.triton_source.interpreter.values import Unknown, Value, is_node, is_number
from kernelscope.triton_source.scalar_types import INT32, PointerType, ScalarType


def _sizes(s: State, values: Sequence[Value]) -> Shape | None:
    """A shape given as one tuple or as separate numbers."""
    flat = as_items(values[0]) if len(values) == 1 else tuple(values)
    return static_sizes(s, tuple(flat))


def arange(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    start, end = bound(args, kwargs, "start", "end")
    if not isinstance(start, int) or not isinstance(end, int):
        s.reject("tl.arange takes compile-time bounds")
        return Unknown("tl.arange with bounds that are not compile-time numbers")
    if end <= start or not -(1 << 31) <= start < (1 << 31) or end > (1 << 31):
        s.reject(f"tl.arange({start}, {end}) is not a range of int32")
        return Unknown("a tl.arange that Triton rejects")
    nodes.check_shape(s, (end - start,))
    return nodes.arange(s, start, end)


def full(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    shape, value, kind = bound(args, kwargs, "shape", "value", "dtype")
    sizes = static_sizes(s, shape)
    if sizes is None or not isinstance(kind, ScalarType):
        return Unknown("tl.full of a shape or type that is not known")
    nodes.check_shape(s, sizes)
    if is_node(value):
        scalar: Node = value
        while scalar.shape:
            scalar = nodes.squeeze(s, scalar, 0)
        return nodes.broadcast(s, nodes.cast(s, scalar, kind), sizes)
    if not is_number(value):
        return nodes.opaque(s, kind, sizes, "tl.full with a value that is not followed")
    if kind.is_integer and (isinstance(value, float) or not kind.minimum <= value <= kind.maximum):
        s.reject(f"{value} is out of range for type {kind.name}")
        return nodes.opaque(s, kind, sizes, "a value out of range")
    return nodes.constant(s, value, kind, sizes)


def zeros(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    shape, kind = bound(args, kwargs, "shape", "dtype")
    return full(s, [shape, 0, kind], {})


def zeros_like(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    (node,) = bound(args, kwargs, "input")
    if not is_node(node) or not isinstance(node.type, ScalarType):
        return Unknown("tl.zeros_like")
    return nodes.constant(s, 0, node.type, node.shape)


def broadcast_to(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    node, sizes = _split(s, args, kwargs)
    if node is None or sizes is None:
        return Unknown("tl.broadcast_to of a shape that is not known")
    if not _spreads(node.shape, sizes):
        s.reject(f"shape {list(node.shape)} cannot be broadcast to {list(sizes)}")
        return nodes.opaque(s, node.type, sizes, "a broadcast that Triton rejects", (node,))
    return nodes.broadcast(s, node, sizes)


def _split(s: State, args: list[Value], kwargs: dict[str, Value]) -> tuple[Node | None, Shape | None]:
    """The tensor and the shape of a call like `f(x, *shape)`."""
    node = to_node(s, args[0] if args else kwargs.get("input"))
    rest = list(args[1:]) or [kwargs.get("shape", ())]
    return node, _sizes(s, rest)


def _spreads(shape: Shape, target: Shape) -> bool:
    if not shape:
        return True
    return len(shape) == len(target) and all(a in (1, b) for a, b in zip(shape, target, strict=True))


def broadcast(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    left, right = (to_node(s, value) for value in bound(args, kwargs, "input", "other"))
    if left is None or right is None:
        return Unknown("tl.broadcast")
    return nodes.align(s, left, right)


def expand_dims(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    value, axis = bound(args, kwargs, "input", "axis")
    node = to_node(s, value)
    axes = [item for item in as_items(axis) if isinstance(item, int)]
    if node is None or not axes:
        return Unknown("tl.expand_dims")
    rank = len(node.shape) + len(axes)
    if any(not -rank <= item < rank for item in axes):
        s.reject("tl.expand_dims of an axis that does not exist")
        return Unknown("tl.expand_dims of an axis that does not exist")
    for item in sorted(item % rank for item in axes):
        node = nodes.expand_dims(s, node, item)
    return node


def permute(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    node = to_node(s, args[0] if args else kwargs.get("input"))
    rest = list(args[1:]) or [kwargs.get("dims", ())]
    order = _sizes(s, rest)
    if node is None or order is None:
        return Unknown("a permutation that is not known")
    rank = len(node.shape)
    if not order and rank >= 2:
        order = (*range(rank - 2), rank - 1, rank - 2)
    if sorted(order) != list(range(rank)):
        s.reject(f"{list(order)} is not a permutation of the {rank} dimensions")
        return Unknown("a permutation that Triton rejects")
    return nodes.permute(s, node, order)


def reshape(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    node, sizes = _split(s, args, kwargs)
    if node is None or sizes is None:
        return Unknown("tl.reshape to a shape that is not known")
    if element_count(sizes) != element_count(node.shape):
        s.reject(f"a block of shape {list(node.shape)} cannot be reshaped to {list(sizes)}")
        return nodes.opaque(s, node.type, sizes, "a reshape that Triton rejects", (node,))
    return reshaped(s, node, sizes)


def reshaped(s: State, node: Node, shape: Shape) -> Node:
    """`node` in another shape of as many elements; exact where only axes of extent 1 come or go."""
    if node.shape == shape:
        return node
    if isinstance(node, Constant):
        return nodes.constant(s, node.value, node.type, shape)
    if [n for n in node.shape if n != 1] != [n for n in shape if n != 1]:
        return nodes.opaque(s, node.type, shape, "a reshape", (node,))
    while 1 in node.shape:
        node = nodes.squeeze(s, node, node.shape.index(1))
    for axis, extent in enumerate(shape):
        if extent == 1:
            node = nodes.expand_dims(s, node, axis) if node.shape else nodes.broadcast(s, node, (1,))
    return node


def ravel(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    (value,) = bound(args, kwargs, "x")
    return reshaped(s, value, (element_count(value.shape),)) if is_node(value) else Unknown("tl.ravel")


def item(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    (value,) = bound(args, kwargs, "input")
    return as_single(s, value) if is_node(value) else value


def as_single(s: State, node: Node) -> Node:
    """The only element of a block, as a scalar."""
    if element_count(node.shape) != 1:
        s.reject("expected a single element")
        return nodes.opaque(s, node.type, (), "one of several elements", (node,))
    return reshaped(s, node, ())


def squeeze(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    value, axis = bound(args, kwargs, "x", "dim")
    if not is_node(value) or not isinstance(axis, int) or not -len(value.shape) <= axis < len(value.shape):
        return Unknown("tl.squeeze")
    axis %= len(value.shape)
    return reshaped(s, value, value.shape[:axis] + value.shape[axis + 1 :])


def join(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    left, right = (to_node(s, value) for value in bound(args, kwargs, "a", "b"))
    if left is None or right is None:
        return Unknown("tl.join")
    left, right = nodes.align(s, left, right)
    return nodes.opaque(s, left.type, (*left.shape, 2), "tl.join", (left, right))


def interleave(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    joined = join(s, args, kwargs)
    if not is_node(joined):
        return joined
    shape = joined.shape
    return joined if len(shape) == 1 else reshaped(s, joined, (*shape[:-2], 2 * shape[-2]))


def split(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    (value,) = bound(args, kwargs, "a")
    if not is_node(value) or not value.shape or value.shape[-1] != 2:
        return Unknown("tl.split")
    return tuple(nodes.opaque(s, value.type, value.shape[:-1], "tl.split", (value,)) for _ in range(2))


def cat(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    left, right, _, dim = bound(args, kwargs, "input", "other", "can_reorder", "dim")
    if not is_node(left) or not is_node(right) or not left.shape:
        return Unknown("tl.cat")
    axis = dim % len(left.shape) if isinstance(dim, int) else 0
    shape = (*left.shape[:axis], left.shape[axis] + right.shape[axis], *left.shape[axis + 1 :])
    return nodes.opaque(s, left.type, shape, "tl.cat", (left, right))


def gather(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    source, index, _ = bound(args, kwargs, "src", "index", "axis")
    if not is_node(source) or not is_node(index):
        return Unknown("tl.gather")
    return nodes.opaque(s, source.type, index.shape, "tl.gather", (source, index))


def cast(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    value, kind, _, bitcast = bound(args, kwargs, "input", "dtype", "fp_downcast_rounding", "bitcast")
    node = to_node(s, value)
    if node is None or not isinstance(kind, (ScalarType, PointerType)):
        return value if isinstance(value, Unknown) else Unknown("a cast to a type that is not known")
    if bitcast is True:
        return _bitcast(s, node, kind)
    if isinstance(kind, ScalarType) and isinstance(node.type, PointerType):
        return nodes.opaque(s, kind, node.shape, "a pointer made an integer", (node,))
    if isinstance(kind, PointerType) and isinstance(node.type, ScalarType):
        return nodes.opaque(s, kind, node.shape, "an integer made a pointer", (node,))
    return nodes.cast(s, node, kind)


def _bitcast(s: State, node: Node, kind: ScalarType | PointerType) -> Node:
    source = node.type
    if isinstance(kind, ScalarType) and isinstance(source, ScalarType):
        if kind.bits != source.bits:
            s.reject(f"cannot bitcast {source.name} to {kind.name}")
        elif kind.is_integer and source.is_integer:
            recording, s.recording = s.recording, False
            same = nodes.cast(s, node, kind)
            s.recording = recording
            return same
    elif isinstance(kind, PointerType) and isinstance(source, PointerType):
        return nodes.cast(s, node, kind)
    return node if source == kind else nodes.opaque(s, kind, node.shape, "a bitcast", (node,))


def histogram(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    value, bins, _ = bound(args, kwargs, "input", "num_bins", "mask")
    if not isinstance(bins, int) or bins <= 0:
        return Unknown("tl.histogram")
    return nodes.opaque(s, INT32, (bins,), "tl.histogram", (value,) if is_node(value) else ())


FUNCTIONS: dict[str, Handler] = {
    "arange": arange, "full": full, "zeros": zeros, "zeros_like": zeros_like, "broadcast_to": broadcast_to,
    "broadcast": broadcast, "expand_dims": expand_dims, "permute": permute, "trans": permute, "reshape": reshape,
    "view": reshape, "ravel": ravel, "item": item, "squeeze": squeeze, "join": join, "interleave": interleave,
    "split": split, "cat": cat, "gather": gather, "cast": cast, "to": cast, "histogram": histogram,
}  # fmt: skip
