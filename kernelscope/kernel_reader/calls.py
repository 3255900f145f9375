"""Calls of triton's language: arithmetic, shapes, reductions. Memory calls and Inductor's helpers have files of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kernelscope.kernel_reader import static_values
from kernelscope.kernel_reader.arithmetic import (
    NotUnderstood,
    alike,
    binary,
    broadcast_to,
    cast,
    common_shape,
    constant,
    opaque,
    scalar_of,
    tensor,
    truth,
    where,
)
from kernelscope.triton_source.index_program import (
    Absolute,
    Arange,
    Binary,
    BinaryOperator,
    ExpandDims,
    Node,
    NumPrograms,
    Permute,
    ProgramId,
    Reduce,
    Shape,
    Span,
)
from kernelscope.triton_source.scalar_types import FLOAT32, INT1, INT32, INT64, UINT32, PointerType, ScalarType, ValueType
from kernelscope.kernel_reader.values import BlockPointer, Descriptor, External, Function, Items, Static, Value

if TYPE_CHECKING:
    from kernelscope.kernel_reader.expressions import Expressions

_LARGEST_BLOCK = 1 << 20  # triton's own limit on the elements of a tensor

Handler = Callable[["Expressions", "Call"], Value]


class Call:
    """Arguments of one call, by position or keyword."""

    def __init__(self, name: str, arguments: list[Value], keywords: dict[str, Value], span: Span) -> None:
        self.name = name
        self.arguments = arguments
        self.keywords = keywords
        self.span = span

    def get(self, position: int, name: str) -> Value | None:
        """The argument at a position or under a name; None when it is absent or a literal None."""
        value = self.arguments[position] if 0 <= position < len(self.arguments) else self.keywords.get(name)
        return None if isinstance(value, Static) and value.value is None else value

    def need(self, position: int, name: str) -> Value:
        value = self.get(position, name)
        if value is None:
            raise NotUnderstood(f"{self.name} without its argument {name}")
        return value

    def node(self, reader: Expressions, position: int, name: str) -> Node:
        return reader.node(self.need(position, name), self.span)

    def integer(self, position: int, name: str, default: int | None = None) -> int:
        value = self.get(position, name)
        if value is None and default is not None:
            return default
        if isinstance(value, Static) and isinstance(value.value, int):
            return int(value.value)
        raise NotUnderstood(f"{self.name} with a {name} that is no constexpr")

    def shape(self, position: int, name: str) -> Shape:
        return shape_of(self.need(position, name), self.name)

    def nodes(self) -> tuple[Node, ...]:
        """Every node among the arguments, also inside tuples."""
        found: list[Node] = []
        waiting: list[Value] = [*self.arguments, *self.keywords.values()]
        while waiting:
            value = waiting.pop(0)
            if isinstance(value, Items):
                waiting[:0] = value.items
            elif isinstance(value, Node):
                found.append(value)
        return tuple(found)


def shape_of(value: Value, what: str) -> Shape:
    items = value.items if isinstance(value, Items) else (value,)
    shape: list[int] = []
    for item in items:
        if not isinstance(item, Static) or not isinstance(item.value, int):
            raise NotUnderstood(f"{what} with a shape that is no constexpr")
        shape.append(int(item.value))
    total = 1
    for extent in shape:
        total *= max(extent, 0)
    if total > _LARGEST_BLOCK:
        raise NotUnderstood(f"{what} of a block of {total} elements, more than triton allows")
    return tuple(shape)


def call(reader: Expressions, path: str, arguments: list[Value], keywords: dict[str, Value], span: Span) -> Value:
    """A call of a function of triton's, Inductor's or Python's."""
    one = Call(path.rpartition(".")[2], arguments, keywords, span)
    handler = _handler(path)
    if handler is not None:
        return handler(reader, one)
    builtin = static_values.python_builtin(path, arguments) if path in static_values.BUILTINS else None
    if builtin is not None:
        return builtin
    if path in ("min", "max") and len(arguments) == 2:
        return _extreme(BinaryOperator.MINIMUM if path == "min" else BinaryOperator.MAXIMUM)(reader, one)
    if path == "abs" and len(arguments) == 1:
        return _absolute(reader, one)
    if path == "print":
        return Static(None)
    return unknown_call(reader, one, path)


def _handler(path: str) -> Handler | None:
    from kernelscope.kernel_reader.helper_calls import HELPERS
    from kernelscope.kernel_reader.memory_calls import MEMORY

    head, _, last = path.rpartition(".")
    if head == "triton_helpers":
        return HELPERS.get(last)
    if head.startswith("triton.language"):
        return LANGUAGE.get(last) or MEMORY.get(last)
    if path in ("triton.cdiv", "triton.next_power_of_2"):
        return LANGUAGE.get(last)
    return None


def unknown_call(reader: Expressions, one: Call, path: str) -> Value:
    """A function that is not modelled: its result is opaque; with a pointer among its arguments it may touch memory."""
    nodes = one.nodes()
    pointers = any(isinstance(n.type, PointerType) for n in nodes)
    compound = any(isinstance(a, BlockPointer | Descriptor) for a in [*one.arguments, *one.keywords.values()])
    known_math = path.startswith(("libdevice", "triton.language", "triton_helpers"))
    if pointers or compound or not known_math:
        raise NotUnderstood(f"{path} is not modelled")
    values = [n for n in nodes if isinstance(n.type, ScalarType)]
    shape = common_shape(*values) if values else ()
    return opaque(_result_type(path, values), shape, one.span, f"{path} is not modelled", tuple(values))


def _result_type(path: str, values: list[Node]) -> ScalarType:
    last = path.rpartition(".")[2]
    if last.startswith(("is", "signbit")) and last not in ("istft",):
        return INT1 if path.startswith(("libdevice", "triton_helpers")) and values else INT1
    return scalar_of(values[0].type) if values else FLOAT32


def call_method(
    reader: Expressions, receiver: Value, name: str, arguments: list[Value], keywords: dict[str, Value], span: Span
) -> Value:
    """A method call: `x.to(tl.int64)`, `desc.load([...])`, `dtype.is_floating()`."""
    from kernelscope.kernel_reader.memory_calls import METHODS

    if isinstance(receiver, Static):
        answer = static_values.dtype_query(receiver.value, name)
        if answer is not None:
            return answer
        if isinstance(receiver.value, bool | int | float):
            receiver = tensor(receiver, span)
        elif isinstance(receiver.value, PointerType) and name == "is_ptr":
            return Static(True)
    if isinstance(receiver, Items) and name == "index":
        raise NotUnderstood("tuple.index")
    if isinstance(receiver, BlockPointer | Descriptor):
        method = METHODS.get(name)
        if method is None:
            raise NotUnderstood(f"the method {name} of a block pointer or descriptor")
        return method(reader, Call(name, [receiver, *arguments], keywords, span))
    renamed = {"__add__": "add", "__mul__": "mul"}.get(name, name)
    return call(reader, f"triton.language.{renamed}", [receiver, *arguments], keywords, span)


# -- program ids, ranges, constants -----------------------------------------------------------------------------------


def _program_id(reader: Expressions, one: Call) -> Value:
    axis = one.integer(0, "axis")
    if axis not in (0, 1, 2):
        raise NotUnderstood(f"program_id of axis {axis}")
    reader.recorder.program_id_spans.setdefault(axis, one.span)
    return ProgramId(axis, one.span)


def _num_programs(reader: Expressions, one: Call) -> Value:
    axis = one.integer(0, "axis")
    if axis not in (0, 1, 2):
        raise NotUnderstood(f"num_programs of axis {axis}")
    return NumPrograms(axis, one.span)


def _arange(reader: Expressions, one: Call) -> Value:
    start, end = one.integer(0, "start"), one.integer(1, "end")
    if not 0 < end - start <= _LARGEST_BLOCK:
        raise NotUnderstood(f"arange from {start} to {end}")
    return Arange(start, end, one.span, (end - start,))


def _dtype(value: Value | None, default: ScalarType | None = None) -> ValueType:
    if isinstance(value, Static) and isinstance(value.value, ScalarType | PointerType):
        return value.value
    if value is None and default is not None:
        return default
    raise NotUnderstood("a dtype that is not known")


def _full(reader: Expressions, one: Call) -> Value:
    shape = one.shape(0, "shape")
    type_ = _dtype(one.get(2, "dtype"))
    value = one.need(1, "value")
    if isinstance(value, Static):
        node: Node = constant(value.value, scalar_of(type_), one.span)
    else:
        node = cast(reader.node(value, one.span), type_, one.span)
    return broadcast_to(node, shape, one.span) if shape else node


def _zeros(reader: Expressions, one: Call) -> Value:
    shape = one.shape(0, "shape")
    node = constant(0, scalar_of(_dtype(one.get(1, "dtype"))), one.span)
    return broadcast_to(node, shape, one.span) if shape else node


def _zeros_like(reader: Expressions, one: Call) -> Value:
    like = one.node(reader, 0, "input")
    return broadcast_to(constant(0, scalar_of(like.type), one.span), like.shape, one.span)


def _full_like(reader: Expressions, one: Call) -> Value:
    like = one.node(reader, 0, "input")
    value = one.need(1, "value")
    if not isinstance(value, Static):
        raise NotUnderstood("full_like of a value that is no constexpr")
    return broadcast_to(constant(value.value, scalar_of(like.type), one.span), like.shape, one.span)


def _constexpr(reader: Expressions, one: Call) -> Value:
    return one.arguments[0] if one.arguments else Static(None)


def _nothing(reader: Expressions, one: Call) -> Value:
    return Static(None)


def _same(reader: Expressions, one: Call) -> Value:
    """Hints that do not change the value: multiple_of, max_contiguous."""
    return one.arguments[0] if one.arguments else next(iter(one.keywords.values()))


# -- arithmetic ---------------------------------------------------------------------------------------------------------


def _to(reader: Expressions, one: Call) -> Value:
    node = one.node(reader, 0, "input")
    target = _dtype(one.get(1, "dtype"))
    bitcast = one.get(-1, "bitcast") or (one.arguments[3] if len(one.arguments) > 3 else None)
    if isinstance(bitcast, Static) and bitcast.value and node.type != target:
        same_kind = isinstance(node.type, ScalarType) and isinstance(target, ScalarType)
        if not (same_kind and node.type.is_integer and target.is_integer and node.type.bits == target.bits):  # type: ignore[union-attr]
            return opaque(target, node.shape, one.span, "a bitcast", (node,))
    if isinstance(node.type, ScalarType) and isinstance(target, PointerType):
        return opaque(target, node.shape, one.span, "a pointer made from an integer", (node,))
    if isinstance(node.type, PointerType) and isinstance(target, ScalarType):
        return opaque(target, node.shape, one.span, "an integer made from a pointer", (node,))
    result = cast(node, target, one.span)
    reader.recorder.operations.append(result)
    return result


def _where(reader: Expressions, one: Call) -> Value:
    condition = reader.scalar(one.need(0, "condition"), one.span)
    return where(
        condition, reader.scalar(one.need(1, "x"), one.span), reader.scalar(one.need(2, "y"), one.span), one.span
    )


def _extreme(operator: BinaryOperator) -> Handler:
    def handler(reader: Expressions, one: Call) -> Value:
        left, right = (reader.scalar(one.need(i, n), one.span) for i, n in enumerate(("x", "y")))
        return binary(operator, left, right, one.span)

    return handler


def _operation(operator: BinaryOperator) -> Handler:
    def handler(reader: Expressions, one: Call) -> Value:
        left, right = (reader.scalar(one.need(i, n), one.span) for i, n in enumerate(("x", "y")))
        return binary(operator, left, right, one.span)

    return handler


def _logical(operator: BinaryOperator) -> Handler:
    def handler(reader: Expressions, one: Call) -> Value:
        left, right = (truth(one.node(reader, i, n), one.span) for i, n in enumerate(("x", "y")))
        a, b = alike(one.span, left, right)
        return Binary(operator, a, b, INT1, a.shape, one.span)

    return handler


def _cdiv(reader: Expressions, one: Call) -> Value:
    """`(x + (div - 1)) // div`, each step in the types that Triton gives it (language/standard.py)."""
    x, divisor = one.need(0, "x"), one.need(1, "div")
    if isinstance(x, Static) and isinstance(divisor, Static):
        if isinstance(x.value, int) and isinstance(divisor.value, int) and divisor.value:
            return Static(-(-x.value // divisor.value))
        raise NotUnderstood("cdiv of values that are no integers")
    span = one.span
    if isinstance(divisor, Static) and isinstance(divisor.value, int):
        less: Node | Static = Static(divisor.value - 1)
    else:
        less = binary(BinaryOperator.SUBTRACT, reader.scalar(divisor, span), Static(1), span)
    total = binary(BinaryOperator.ADD, reader.scalar(x, span), less, span)
    return binary(BinaryOperator.FLOOR_DIVIDE, total, reader.scalar(divisor, span), span)


def _absolute(reader: Expressions, one: Call) -> Value:
    node = one.node(reader, 0, "x")
    return Absolute(node, scalar_of(node.type), node.shape, one.span)


def _clamp(reader: Expressions, one: Call) -> Value:
    x, low, high = (reader.scalar(one.need(i, n), one.span) for i, n in enumerate(("x", "min", "max")))
    return binary(
        BinaryOperator.MINIMUM, binary(BinaryOperator.MAXIMUM, x, low, one.span), high, one.span
    )


def _next_power_of_2(reader: Expressions, one: Call) -> Value:
    value = one.integer(0, "n")
    return Static(1 << max(0, value - 1).bit_length())


def _same_shape(type_: ScalarType | None = None) -> Handler:
    """An elementwise result that is not followed."""

    def handler(reader: Expressions, one: Call) -> Value:
        values = [n for n in one.nodes() if isinstance(n.type, ScalarType)]
        if not values:
            raise NotUnderstood(f"{one.name} without a tensor")
        result = type_ or scalar_of(values[0].type)
        return opaque(result, common_shape(*values), one.span, f"{one.name} is not modelled", tuple(values))

    return handler


def _random(type_: ScalarType, count: int) -> Handler:
    def handler(reader: Expressions, one: Call) -> Value:
        offset = one.node(reader, 1, "offset")
        results = tuple(opaque(type_, offset.shape, one.span, f"{one.name} is random") for _ in range(count))
        return results[0] if count == 1 else Items(results)

    return handler


# -- shapes -------------------------------------------------------------------------------------------------------------


def _broadcast_to(reader: Expressions, one: Call) -> Value:
    node = one.node(reader, 0, "input")
    parts = one.arguments[1:]
    shape = shape_of(parts[0], "broadcast_to") if len(parts) == 1 else (
        shape_of(Items(tuple(parts)), "broadcast_to") if parts else one.shape(-1, "shape")
    )  # fmt: skip
    return broadcast_to(node, shape, one.span)


def _broadcast(reader: Expressions, one: Call) -> Value:
    return Items(alike(one.span, one.node(reader, 0, "input"), one.node(reader, 1, "other")))


def _expand_dims(reader: Expressions, one: Call) -> Value:
    node = one.node(reader, 0, "input")
    value = one.need(1, "axis")
    axes = sorted(shape_of(value, "expand_dims"))
    for axis in axes:
        position = axis + len(node.shape) + 1 if axis < 0 else axis
        shape = (*node.shape[:position], 1, *node.shape[position:])
        node = ExpandDims(node, position, node.type, shape, one.span)
    return node


def _reshape(reader: Expressions, one: Call) -> Value:
    node = one.node(reader, 0, "input")
    rest = one.arguments[1:]
    given: Value = rest[0] if len(rest) == 1 else Items(tuple(rest)) if rest else one.need(-1, "shape")
    shape = shape_of(given, "reshape")
    if shape == node.shape:
        return node
    if [n for n in shape if n != 1] == [n for n in node.shape if n != 1]:
        added = _with_unit_axes(node, shape, one.span)
        if added is not None:
            return added
    return opaque(node.type, shape, one.span, "a reshape", (node,))


def _with_unit_axes(node: Node, shape: Shape, span: Span) -> Node | None:
    """A reshape that only adds axes of extent 1."""
    position = 0
    for axis, extent in enumerate(shape):
        if position < len(node.shape) and axis < len(node.shape) and node.shape[axis] == extent:
            position += 1
            continue
        if extent != 1:
            return None
        node = ExpandDims(node, axis, node.type, (*node.shape[:axis], 1, *node.shape[axis:]), span)
    return node if node.shape == shape else None


def transpose(reader: Expressions, node: Node, span: Span) -> Node:
    order = tuple(reversed(range(len(node.shape))))
    return Permute(node, order, node.type, tuple(node.shape[i] for i in order), span)


def _trans(reader: Expressions, one: Call) -> Value:
    node = one.node(reader, 0, "input")
    rest = one.arguments[1:] or ([one.keywords["dims"]] if "dims" in one.keywords else [])
    if not rest:
        order = (*range(len(node.shape) - 2), len(node.shape) - 1, len(node.shape) - 2)
    else:
        given = rest[0].items if len(rest) == 1 and isinstance(rest[0], Items) else tuple(rest)
        order = shape_of(Items(tuple(given)), "permute")
    if sorted(order) != list(range(len(node.shape))):
        raise NotUnderstood("a permutation that does not fit")
    return Permute(node, order, node.type, tuple(node.shape[i] for i in order), one.span)


def _dot(reader: Expressions, one: Call) -> Value:
    a, b = one.node(reader, 0, "input"), one.node(reader, 1, "other")
    accumulator = one.get(2, "acc")
    operand = scalar_of(a.type)
    out = _dtype(one.get(-1, "out_dtype"), FLOAT32 if not operand.is_integer else INT32)
    if accumulator is not None:
        out = reader.node(accumulator, one.span).type
    return opaque(out, (*a.shape[:-1], b.shape[-1]), one.span, "a matrix product", (a, b))


def _join(reader: Expressions, one: Call) -> Value:
    a, b = alike(one.span, one.node(reader, 0, "a"), one.node(reader, 1, "b"))
    return opaque(a.type, (*a.shape, 2), one.span, "join", (a, b))


def _split(reader: Expressions, one: Call) -> Value:
    node = one.node(reader, 0, "a")
    parts = [opaque(node.type, node.shape[:-1], one.span, "split", (node,)) for _ in range(2)]
    return Items(tuple(parts))


def _cat(reader: Expressions, one: Call) -> Value:
    a, b = one.node(reader, 0, "input"), one.node(reader, 1, "other")
    return opaque(a.type, (a.shape[0] + b.shape[0], *a.shape[1:]), one.span, "cat", (a, b))


def _interleave(reader: Expressions, one: Call) -> Value:
    a, b = one.node(reader, 0, "a"), one.node(reader, 1, "b")
    return opaque(a.type, (*a.shape[:-1], 2 * a.shape[-1]), one.span, "interleave", (a, b))


# -- reductions ---------------------------------------------------------------------------------------------------------


def reduced_shape(shape: Shape, axis: int | None, keep: bool) -> tuple[Shape, int | None]:
    """Shape after a reduction along an axis (None: all), and the axis counted from 0."""
    if axis is None:
        return (tuple(1 for _ in shape) if keep else ()), None
    position = axis + len(shape) if axis < 0 else axis
    if not 0 <= position < len(shape):
        raise NotUnderstood(f"a reduction along axis {axis}")
    return (*shape[:position], *((1,) if keep else ()), *shape[position + 1 :]), position


def _axis(one: Call, position: int, name: str = "axis") -> int | None:
    value = one.get(position, name)
    if value is None:
        return None
    if isinstance(value, Static) and isinstance(value.value, int):
        return int(value.value)
    raise NotUnderstood("a reduction along an axis that is no constexpr")


def _keep(one: Call) -> bool:
    value = one.keywords.get("keep_dims")
    return isinstance(value, Static) and bool(value.value)


def reduction(function: str, type_: ScalarType | None = None, axis_name: str = "axis") -> Handler:
    """A reduction of one tensor; max and min stay within the operand's values."""

    def handler(reader: Expressions, one: Call) -> Value:
        node = one.node(reader, 0, "input")
        if not node.shape:
            return node
        shape, axis = reduced_shape(node.shape, _axis(one, 1, axis_name), _keep(one))
        result = type_ or scalar_of(node.type)
        if function == "sum" and result.is_integer and result.bits < 32:
            result = UINT32 if result.kind.value == "unsigned" else INT32
        if function in ("max", "min") and axis is not None and not _keep(one):
            return Reduce(function, node, axis, result, shape, one.span)
        return opaque(result, shape, one.span, f"a {function} over the block", (node,))

    return handler


def _arg_reduction(reader: Expressions, one: Call) -> Value:
    node = one.node(reader, 0, "input")
    shape, axis = reduced_shape(node.shape, _axis(one, 1), _keep(one))
    extent = node.shape[axis] if axis is not None else max(1, _numel(node.shape))
    return bounded(opaque(INT32, shape, one.span, f"{one.name} of the block"), 0, extent - 1, one.span)


def _numel(shape: Shape) -> int:
    total = 1
    for extent in shape:
        total *= extent
    return total


def bounded(node: Node, low: int, high: int | Node, span: Span) -> Node:
    """A value that is known to lie in a range, as max(min(x, high), low)."""
    upper: Node | Static = high if isinstance(high, Node) else Static(high)
    capped = binary(BinaryOperator.MINIMUM, node, upper, span)
    return binary(BinaryOperator.MAXIMUM, capped, Static(low), span)


def _general_reduce(reader: Expressions, one: Call) -> Value:
    value = one.need(0, "input")
    items = value.items if isinstance(value, Items) else (value,)
    results: list[Value] = []
    for item in items:
        node = reader.node(item, one.span)
        shape, _ = reduced_shape(node.shape, _axis(one, 1), _keep(one))
        results.append(opaque(node.type, shape, one.span, "a reduction over the block", (node,)))
    return Items(tuple(results)) if isinstance(value, Items) else results[0]


def _scan(reader: Expressions, one: Call) -> Value:
    value = one.need(0, "input")
    items = value.items if isinstance(value, Items) else (value,)
    results: list[Value] = []
    for item in items:
        node = reader.node(item, one.span)
        results.append(opaque(node.type, node.shape, one.span, "a scan over the block", (node,)))
    return Items(tuple(results)) if isinstance(value, Items) else results[0]


def _sort(reader: Expressions, one: Call) -> Value:
    node = one.node(reader, 0, "x")
    return opaque(node.type, node.shape, one.span, "a sort over the block", (node,))


def _device_assert(reader: Expressions, one: Call) -> Value:
    condition = one.get(0, "cond")
    if isinstance(condition, Node):
        reader.recorder.assume(truth(condition, one.span), one.span)
    return Static(None)


def _static_assert(reader: Expressions, one: Call) -> Value:
    return Static(None)


def _inline_assembly(reader: Expressions, one: Call) -> Value:
    arguments = one.get(2, "args")
    nodes = [reader.node(a, one.span) for a in arguments.items] if isinstance(arguments, Items) else []
    if any(isinstance(n.type, PointerType) for n in nodes):
        raise NotUnderstood("inline assembly with a pointer")
    shape = common_shape(*nodes) if nodes else ()
    dtype = one.need(3, "dtype")
    if isinstance(dtype, Items):
        types = [_dtype(d) for d in dtype.items]
        return Items(tuple(opaque(t, shape, one.span, "inline assembly", tuple(nodes)) for t in types))
    return opaque(_dtype(dtype), shape, one.span, "inline assembly", tuple(nodes))


def _pointer_type(reader: Expressions, one: Call) -> Value:
    element = _dtype(one.need(0, "element_ty"))
    return Static(PointerType(scalar_of(element)))


def _map_elementwise(reader: Expressions, one: Call) -> Value:
    function = one.arguments[0] if one.arguments else None
    if isinstance(function, Function | External):
        one.arguments = one.arguments[1:]
    return _same_shape()(reader, one)


LANGUAGE: dict[str, Handler] = {
    "program_id": _program_id, "num_programs": _num_programs, "arange": _arange, "full": _full, "zeros": _zeros,
    "zeros_like": _zeros_like, "full_like": _full_like, "constexpr": _constexpr, "to": _to, "cast": _to,
    "where": _where, "cdiv": _cdiv, "abs": _absolute, "clamp": _clamp, "next_power_of_2": _next_power_of_2,
    "minimum": _extreme(BinaryOperator.MINIMUM), "maximum": _extreme(BinaryOperator.MAXIMUM),
    "add": _operation(BinaryOperator.ADD), "sub": _operation(BinaryOperator.SUBTRACT),
    "mul": _operation(BinaryOperator.MULTIPLY),
    "logical_and": _logical(BinaryOperator.AND), "logical_or": _logical(BinaryOperator.OR),
    "multiple_of": _same, "max_contiguous": _same, "max_constancy": _same, "debug_barrier": _nothing,
    "static_print": _nothing, "device_print": _nothing, "assume": _nothing, "static_assert": _static_assert,
    "device_assert": _device_assert, "broadcast_to": _broadcast_to, "broadcast": _broadcast,
    "expand_dims": _expand_dims, "reshape": _reshape, "view": _reshape, "ravel": _same_shape(), "trans": _trans,
    "permute": _trans, "dot": _dot, "dot_scaled": _same_shape(FLOAT32), "join": _join, "split": _split, "cat": _cat,
    "interleave": _interleave, "flip": _sort, "sort": _sort, "topk": _same_shape(), "sum": reduction("sum"),
    "max": reduction("max"), "min": reduction("min"), "xor_sum": reduction("xor_sum"), "argmax": _arg_reduction,
    "argmin": _arg_reduction, "reduce": _general_reduce, "associative_scan": _scan, "cumsum": _scan, "cumprod": _scan,
    "rand": _random(FLOAT32, 1), "randn": _random(FLOAT32, 1), "randint": _random(INT32, 1),
    "rand4x": _random(FLOAT32, 4), "randn4x": _random(FLOAT32, 4), "randint4x": _random(UINT32, 4),
    "inline_asm_elementwise": _inline_assembly, "pointer_type": _pointer_type, "umulhi": _same_shape(),
    "histogram": _same_shape(INT32), "map_elementwise": _map_elementwise,
}  # fmt: skip

__all__ = ["Call", "INT64", "LANGUAGE", "bounded", "call", "call_method", "reduction", "shape_of", "transpose"]
