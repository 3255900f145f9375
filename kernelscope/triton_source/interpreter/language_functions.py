"""Functions of `triton.language`, by their name in it."""

from __future__ import annotations

from kernelscope.triton_source.index_program import BinaryOperator, Constant, Invert
from kernelscope.triton_source.interpreter import block_pointers, memory, nodes, reductions, shape_functions
from kernelscope.triton_source.interpreter.arguments import Handler, bound, flag
from kernelscope.triton_source.interpreter.block_pointers import as_items
from kernelscope.triton_source.interpreter.math_functions import absolute
from kernelscope.triton_source.interpreter.operators import apply, choose, logical, to_node, unify
from kernelscope.triton_source.interpreter.state import State
from kernelscope.triton_source.interpreter.values import BlockPointer, Unknown, Value, is_node, is_pointer
from kernelscope.triton_source.scalar_types import FLOAT32, INT1, INT32, UINT32, UINT64, ScalarType

Op = BinaryOperator


def _axis(handler_name: str, make: object) -> Handler:
    def handler(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
        (axis,) = bound(args, kwargs, "axis")
        if axis not in (0, 1, 2):
            s.reject(f"tl.{handler_name} takes axis 0, 1 or 2")
            return nodes.opaque(s, INT32, (), f"tl.{handler_name} of another axis")
        return make(s, int(axis))  # type: ignore[operator]

    return handler


def _binary(operator: BinaryOperator) -> Handler:
    def handler(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
        left, right = bound(args, kwargs, "x", "y")
        if operator in (Op.MINIMUM, Op.MAXIMUM):
            left, right = to_node(s, left) or left, to_node(s, right) or right
        return apply(s, operator, left, right)

    return handler


def builtin_extreme(operator: BinaryOperator) -> Handler:
    """Python's `min` and `max`, which become tl.minimum and tl.maximum where an operand is a tensor."""

    def handler(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
        items = list(args[0]) if len(args) == 1 and isinstance(args[0], tuple) else list(args)
        if not items:
            return Unknown(f"{operator.value} of nothing")
        result = items[0]
        for item in items[1:]:
            result = apply(s, operator, result, item)
        return result

    return handler


def _clamp(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    value, low, high = bound(args, kwargs, "x", "min", "max")
    return apply(s, Op.MINIMUM, apply(s, Op.MAXIMUM, value, low), high)


def _where(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    condition, if_true, if_false = bound(args, kwargs, "condition", "x", "y")
    return choose(s, condition, if_true, if_false)


def cdiv(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`(x + (div - 1)) // div`, which adds in x's type."""
    value, divisor = bound(args, kwargs, "x", "div")
    return apply(s, Op.FLOOR_DIVIDE, apply(s, Op.ADD, value, apply(s, Op.SUBTRACT, divisor, 1)), divisor)


def _swizzle2d(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    i, j, size_i, size_j, size_g = bound(args, kwargs, "i", "j", "size_i", "size_j", "size_g")
    flat = apply(s, Op.ADD, apply(s, Op.MULTIPLY, i, size_j), j)
    group_size = apply(s, Op.MULTIPLY, size_g, size_j)
    first = apply(s, Op.MULTIPLY, apply(s, Op.FLOOR_DIVIDE, flat, group_size), size_g)
    rows = apply(s, Op.MINIMUM, *_as_nodes(s, apply(s, Op.SUBTRACT, size_i, first), size_g))
    inside = apply(s, Op.REMAINDER, flat, group_size)
    new_i = apply(s, Op.ADD, first, apply(s, Op.REMAINDER, inside, rows))
    return new_i, apply(s, Op.FLOOR_DIVIDE, inside, rows)


def _as_nodes(s: State, left: Value, right: Value) -> tuple[Value, Value]:
    return to_node(s, left) or left, to_node(s, right) or right


def _unchanged(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A hint to the compiler: its operand."""
    return args[0] if args else next(iter(kwargs.values()), None)


def _nothing(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return None


def to_tensor(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    (value,) = bound(args, kwargs, "x")
    node = to_node(s, value)
    return value if node is None else node


def _load(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    pointer, mask, other, checks, padding = bound(
        args, kwargs, "pointer", "mask", "other", "boundary_check", "padding_option"
    )
    if isinstance(pointer, BlockPointer):
        return block_pointers.load_block(s, pointer, checks, padding)
    return memory.load(s, pointer, mask, other)


def _store(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    pointer, value, mask, checks = bound(args, kwargs, "pointer", "value", "mask", "boundary_check")
    if isinstance(pointer, BlockPointer):
        block_pointers.store_block(s, pointer, value, checks)
    else:
        memory.store(s, pointer, value, mask)
    return None


def _atomic(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    pointer, value, mask = bound(args, kwargs, "pointer", "val", "mask")
    return memory.atomic(s, pointer, value, mask)


def _atomic_cas(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    pointer, compared, value = bound(args, kwargs, "pointer", "cmp", "val")
    return memory.atomic(s, pointer, value, None, compared)


def _make_block_pointer(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    base, shape, strides, offsets, block = bound(args, kwargs, "base", "shape", "strides", "offsets", "block_shape")
    return block_pointers.make_block_pointer(s, base, shape, strides, offsets, block)


def _advance(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return block_pointers.advance(s, *bound(args, kwargs, "base", "offsets"))


def _make_descriptor(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return block_pointers.make_descriptor(s, *bound(args, kwargs, "base", "shape", "strides", "block_shape"))


def _load_descriptor(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return block_pointers.load_descriptor(s, *bound(args, kwargs, "desc", "offsets"))


def _store_descriptor(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    block_pointers.store_descriptor(s, *bound(args, kwargs, "desc", "offsets", "value"))
    return None


def device_assert(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The condition holds on every lane afterwards (where `mask` holds, if there is one)."""
    condition, _, mask = bound(args, kwargs, "cond", "msg", "mask")
    node = to_node(s, condition)
    if node is None:
        return None
    node = nodes.cast(s, node, INT1, implicit=True)
    if mask is not None and (guard := to_node(s, mask)) is not None:
        node, guard = nodes.align(s, node, nodes.cast(s, guard, INT1, implicit=True))
        node = nodes.either(s, node, Invert(guard, INT1, guard.shape, guard.span))
    if not isinstance(node, Constant):
        s.promise(node)
    return None


def static_assert(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    (condition,) = bound(args, kwargs, "cond")
    if isinstance(condition, bool) and not condition:
        s.reject("a tl.static_assert fails")
    return None


def _dot(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    left, right, acc = bound(args, kwargs, "input", "other", "acc")
    out = kwargs.get("out_dtype")
    if not is_node(left) or not is_node(right) or len(left.shape) != len(right.shape) or len(left.shape) < 2:
        return Unknown("tl.dot")
    shape = (*left.shape[:-1], right.shape[-1])
    kind: ScalarType = FLOAT32
    if isinstance(left.type, ScalarType) and left.type.is_integer:
        kind = INT32
    elif isinstance(out, ScalarType):
        kind = out
    elif is_node(acc) and isinstance(acc.type, ScalarType):
        kind = acc.type
    return nodes.opaque(s, kind, shape, "tl.dot", (left, right))


def _dot_scaled(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    left, _, _, right, _, _, acc = bound(
        args, kwargs, "lhs", "lhs_scale", "lhs_format", "rhs", "rhs_scale", "rhs_format", "acc"
    )
    if is_node(acc):
        return nodes.opaque(s, acc.type, acc.shape, "tl.dot_scaled")
    if not is_node(left) or not is_node(right) or not left.shape or not right.shape:
        return Unknown("tl.dot_scaled")
    return nodes.opaque(s, FLOAT32, (*left.shape[:-1], right.shape[-1]), "tl.dot_scaled", (left, right))


def _random(kind: ScalarType, count: int) -> Handler:
    def handler(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
        _, offset = bound(args, kwargs, "seed", "offset")
        node = to_node(s, offset)
        shape = node.shape if node is not None else ()
        parts = tuple(nodes.opaque(s, kind, shape, "a random number", (node,) if node else ()) for _ in range(count))
        return parts[0] if count == 1 else parts

    return handler


def _philox(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    parts = [value for value in (*args, *kwargs.values()) if is_node(value) and value.shape]
    wide = any(is_node(p) and getattr(p.type, "bits", 0) == 64 for p in parts[:1])
    shape = parts[0].shape if parts and is_node(parts[0]) else ()
    return tuple(nodes.opaque(s, UINT64 if wide else UINT32, shape, "a random number") for _ in range(4))


def _inline_asm(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    _, _, operands, kind = bound(args, kwargs, "asm", "constraints", "args", "dtype")
    parts = [node for item in as_items(operands) if (node := to_node(s, item)) is not None]
    if any(is_pointer(node) for node in parts):
        s.give_up_on("inline assembly that is given a pointer")
    elif kwargs.get("is_pure") is False:
        s.give_up_on("inline assembly with side effects")
    shape = nodes.align_all(s, parts[0], *parts[1:])[0].shape if parts else ()
    results = tuple(
        nodes.opaque(s, item, shape, "inline assembly", parts) if isinstance(item, ScalarType)
        else Unknown("inline assembly") for item in as_items(kind)
    )  # fmt: skip
    return results if isinstance(kind, tuple) else results[0]


def _map_elementwise(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    s.give_up_on("tl.map_elementwise")
    return Unknown("tl.map_elementwise")


def _fdiv(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    left, right = bound(args, kwargs, "x", "y")
    pair = unify(s, left, right, division=True) if is_node(left) or is_node(right) else None
    return Unknown("tl.fdiv") if pair is None else nodes.binary(s, Op.TRUE_DIVIDE, pair[0], pair[1], pair[2])


def _logical(operator: BinaryOperator) -> Handler:
    def handler(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return logical(s, operator, *bound(args, kwargs, "self", "other"))

    return handler


def _next_power_of_2(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    (value,) = bound(args, kwargs, "n")
    if not isinstance(value, int) or value.bit_length() > 64:
        return Unknown("a power of two above a value that is not known")
    return 1 << max(value - 1, 0).bit_length()


def _constexpr(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    (value,) = bound(args, kwargs, "value")
    return Unknown("tl.constexpr of a tensor") if is_node(value) and not isinstance(value, Constant) else value


def _log2(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    (value,) = bound(args, kwargs, "i")
    return max(value.bit_length() - 1, 0) if isinstance(value, int) else Unknown("a logarithm")


def _int_type(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    bits, signed = bound(args, kwargs, "bitwidth", "signed")
    from kernelscope.triton_source.scalar_types import BY_NAME

    return BY_NAME.get(f"{'' if flag(signed) or bits == 1 else 'u'}int{bits}", Unknown("tl.core.get_int_dtype"))


def _pointer_type(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    from kernelscope.triton_source.scalar_types import PointerType

    (element,) = bound(args, kwargs, "element_ty")
    return PointerType(element) if isinstance(element, ScalarType) else Unknown("tl.pointer_type")


def _umulhi(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    left, right = bound(args, kwargs, "x", "y")
    pair = unify(s, left, right) if is_node(left) or is_node(right) else None
    return Unknown("tl.umulhi") if pair is None else nodes.opaque(s, pair[2], pair[0].shape, "umulhi", pair[:2])


FUNCTIONS: dict[str, Handler] = {
    **shape_functions.FUNCTIONS, **reductions.FUNCTIONS,
    "program_id": _axis("program_id", nodes.program_id), "num_programs": _axis("num_programs", nodes.num_programs),
    "add": _binary(Op.ADD), "sub": _binary(Op.SUBTRACT), "mul": _binary(Op.MULTIPLY), "minimum": _binary(Op.MINIMUM),
    "maximum": _binary(Op.MAXIMUM), "clamp": _clamp, "where": _where, "expect_zero": _unchanged, "cdiv": cdiv,
    "swizzle2d": _swizzle2d, "multiple_of": _unchanged, "max_contiguous": _unchanged, "max_constancy": _unchanged,
    "assume": _nothing, "debug_barrier": _nothing, "static_print": _nothing, "device_print": _nothing,
    "to_tensor": to_tensor, "load": _load, "store": _store, "atomic_add": _atomic, "atomic_max": _atomic,
    "atomic_min": _atomic, "atomic_and": _atomic, "atomic_or": _atomic, "atomic_xor": _atomic,
    "atomic_xchg": _atomic, "atomic_cas": _atomic_cas, "make_block_ptr": _make_block_pointer, "advance": _advance,
    "make_tensor_descriptor": _make_descriptor, "_experimental_make_tensor_descriptor": _make_descriptor,
    "load_tensor_descriptor": _load_descriptor, "store_tensor_descriptor": _store_descriptor,
    "device_assert": device_assert, "static_assert": static_assert, "dot": _dot, "dot_scaled": _dot_scaled,
    "rand": _random(FLOAT32, 1), "randn": _random(FLOAT32, 1), "rand4x": _random(FLOAT32, 4),
    "randn4x": _random(FLOAT32, 4), "randint": _random(UINT32, 1), "randint4x": _random(UINT32, 4),
    "philox": _philox, "philox_impl": _philox, "inline_asm_elementwise": _inline_asm,
    "map_elementwise": _map_elementwise, "fdiv": _fdiv, "abs": absolute, "logical_and": _logical(Op.AND),
    "logical_or": _logical(Op.OR), "constexpr": _constexpr, "_log2": _log2, "get_int_dtype": _int_type,
    "pointer_type": _pointer_type, "umulhi": _umulhi, "next_power_of_2": _next_power_of_2,
    "_unwrap_if_constexpr": _unchanged, "condition": _unchanged,
}  # fmt: skip
