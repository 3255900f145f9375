"""Inductor's own helper functions (torch/_inductor/runtime/triton_helpers.py), by their name there."""

from __future__ import annotations

from kernelscope.triton_source.index_program import (
    Arange,
    Binary,
    BinaryOperator,
    Broadcast,
    Cast,
    Constant,
    ExpandDims,
    Loop,
    LoopCounter,
    Node,
    UnknownReason,
)
from kernelscope.triton_source.interpreter import language_functions, memory, nodes, reductions
from kernelscope.triton_source.interpreter.arguments import Handler, bound, flag
from kernelscope.triton_source.interpreter.operators import apply, choose, to_node
from kernelscope.triton_source.interpreter.promotion import is_unsigned
from kernelscope.triton_source.interpreter.state import State, element_count
from kernelscope.triton_source.interpreter.values import Unknown, Value, is_node
from kernelscope.triton_source.scalar_types import FLOAT32, INT1, INT32, INT64, UINT32, PointerType, ScalarType

Op = BinaryOperator


def _promote_to_tensor(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`x + zeros((1,), int1)`."""
    (value,) = bound(args, kwargs, "x")
    return apply(s, Op.ADD, value, nodes.constant(s, 0, INT1, (1,)))


def _div_floor_integer(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Floor division made of Triton's truncating one."""
    a, b = bound(args, kwargs, "a", "b")
    quotient, rest = apply(s, Op.FLOOR_DIVIDE, a, b), apply(s, Op.REMAINDER, a, b)
    lower = apply(s, Op.SUBTRACT, quotient, 1)
    fixed = choose(s, apply(s, Op.NOT_EQUAL, rest, 0), lower, quotient)
    return choose(s, _signs_differ(s, a, b), fixed, quotient)


def _remainder_integer(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The remainder with the divisor's sign."""
    a, b = bound(args, kwargs, "a", "b")
    rest = apply(s, Op.REMAINDER, a, b)
    wrong = apply(s, Op.AND, apply(s, Op.NOT_EQUAL, rest, 0), _signs_differ(s, a, b))
    return choose(s, wrong, apply(s, Op.ADD, rest, b), rest)


def _signs_differ(s: State, a: Value, b: Value) -> Value:
    return apply(s, Op.NOT_EQUAL, apply(s, Op.LESS, a, 0), apply(s, Op.LESS, b, 0))


def _unrecorded(handler: Handler) -> Handler:
    """A function that is modelled by its effect, not operation by operation."""

    def silent(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
        recording, s.recording = s.recording, False
        result = handler(s, args, kwargs)
        s.recording = recording
        return result

    return silent


def _extreme(operator: BinaryOperator) -> Handler:
    def handler(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
        left, right = bound(args, kwargs, "a", "b")
        return apply(s, operator, to_node(s, left) or left, to_node(s, right) or right)

    return handler


def _reduction(function: str) -> Handler:
    def handler(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
        value, axis = bound(args, kwargs, "a", "dim")
        if axis is None:
            axis = kwargs.get("axis")
        return reductions.reduce_one(s, function, value, axis, False) if is_node(value) else Unknown(function)

    return handler


def _with_index(function: str) -> Handler:
    def handler(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
        value, index, axis = bound(args, kwargs, "value", "index", "dim")
        if not is_node(value) or not is_node(index):
            return Unknown(function), Unknown(function)
        chosen = reductions.reduce_one(s, function, value, axis, False)
        place = reductions.reduce_one(s, "max", nodes.broadcast(s, index, value.shape), axis, False)
        return chosen, place

    return handler


def _pairwise_with_index(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    values = bound(args, kwargs, "a_value", "a_index", "b_value", "b_index")
    if not all(is_node(value) for value in values):
        return tuple(Unknown("a comparison with indices") for _ in range(2))
    a, a_index, b, b_index = (value for value in values if is_node(value))
    first = _like_all(s, "a comparison with indices", [a, b])
    a_index, b_index = nodes.align(s, a_index, b_index)
    picked = nodes.opaque(s, INT1, a_index.shape, "which of two values is chosen", (a, b))
    return first, choose(s, picked, a_index, b_index)


def _like_all(s: State, detail: str, operands: list[Node]) -> Node:
    aligned = nodes.align_all(s, operands[0], *operands[1:])
    kinds = [node.type for node in operands if isinstance(node.type, ScalarType)]
    kind = max(kinds, key=lambda k: (not k.is_integer, k.bits)) if kinds else FLOAT32
    return nodes.opaque(s, kind, aligned[0].shape, detail, operands)


def _elementwise(name: str, count: int) -> Handler:
    """A function of floats with `count` results of its operands' shape."""

    def handler(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
        operands = [value for value in args if is_node(value) and isinstance(value.type, ScalarType)]
        if not operands:
            return Unknown(name) if count == 1 else tuple(Unknown(name) for _ in range(count))
        parts = tuple(_like_all(s, f"triton_helpers.{name}", operands) for _ in range(count))
        return parts[0] if count == 1 else parts

    return handler


def _reduced(name: str, count: int) -> Handler:
    """A joint reduction of the first `count` arguments along the next one."""

    def handler(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
        axis = args[count] if len(args) > count else kwargs.get("dim")
        parts = tuple(
            reductions.reduce_one(s, name, value, axis, False) if is_node(value) else Unknown(name)
            for value in args[:count]
        )
        return parts if len(parts) == count else tuple(Unknown(name) for _ in range(count))

    return handler


def _device_assert_then(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    condition, message, result = bound(args, kwargs, "cond", "msg", "r")
    language_functions.device_assert(s, [condition, message], {})
    return result


def _is_floating(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    (value,) = bound(args, kwargs, "x")
    if is_node(value) and isinstance(value.type, ScalarType):
        return not value.type.is_integer
    return isinstance(value, float)


def _pow_integer(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    base, exponent = bound(args, kwargs, "base", "exponent")
    operands = [value for value in (base, exponent) if is_node(value)]
    if not is_node(base):
        return Unknown("triton_helpers.pow_integer")
    shape = nodes.align_all(s, base, *operands)[0].shape
    return nodes.opaque(s, base.type, shape, "triton_helpers.pow_integer", operands)


def _typed(kind: ScalarType, name: str) -> Handler:
    def handler(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
        operands = [value for value in args if is_node(value)]
        shape = nodes.align_all(s, operands[0], *operands[1:])[0].shape if operands else ()
        return nodes.opaque(s, kind, shape, f"triton_helpers.{name}", operands)

    return handler


def _random_block(name: str) -> Handler:
    def handler(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
        _, offsets, block = bound(args, kwargs, "seed", "offsets", "BLOCK")
        shape = (block,) if isinstance(block, int) else offsets.shape if is_node(offsets) else ()
        return nodes.opaque(s, FLOAT32, shape, f"triton_helpers.{name}", (offsets,) if is_node(offsets) else ())

    return handler


def _bucketize(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A binary search: it reads boundaries at indices below BOUNDARIES_SIZE and returns one from 0 to it.

    The middle of the search, `(high + low) // 2`, lies in [0, BOUNDARIES_SIZE]: it is given as a value that is clamped
    to that range, and each access through it is masked as in the search."""
    names = (
        "values", "boundaries_ptr", "BOUNDARIES_SIZE", "BOUNDARIES_UNDERLYING_NUMEL", "BOUNDARIES_STRIDE",
        "boundary_indices", "indexing_dtype", "right", "sorter_ptr", "SORTER_STRIDE", "sorter_indices",
    )  # fmt: skip
    values, pointer, size, numel, stride, start, kind, _, sorter, sorter_stride, sorter_start = bound(
        args, kwargs, *names
    )
    if not is_node(values) or not isinstance(kind, ScalarType) or not kind.is_integer:
        s.give_up_on("triton_helpers.bucketize_binary_search with operands that are not followed")
        return Unknown("triton_helpers.bucketize_binary_search")
    middle = _search_position(s, values, size, kind)
    reach = apply(s, Op.ADD, apply(s, Op.MULTIPLY, middle, stride), start)
    mask = apply(s, Op.AND, apply(s, Op.LESS, reach, numel), apply(s, Op.LESS, middle, size))
    place: Value = middle
    if sorter is not None and sorter_stride is not None:
        address = apply(s, Op.ADD, apply(s, Op.ADD, sorter, sorter_start), apply(s, Op.MULTIPLY, sorter_stride, middle))
        place = memory.load(s, address, mask, 0)
    address = apply(s, Op.ADD, apply(s, Op.ADD, pointer, start), apply(s, Op.MULTIPLY, stride, place))
    memory.load(s, address, mask, 0)
    return _search_position(s, values, size, kind)


def _search_position(s: State, values: Node, size: Value, kind: ScalarType) -> Node:
    """Some index from 0 to `size`."""
    detail = "a position in a binary search"
    anything = nodes.opaque(s, kind, values.shape, detail, (values,), UnknownReason.MISSING_FACT)
    limit = to_node(s, size)
    top = nodes.broadcast(s, nodes.cast(s, limit, kind, implicit=True), values.shape) if limit is not None else anything
    low = nodes.binary(s, Op.MAXIMUM, anything, nodes.constant(s, 0, kind, values.shape), kind)
    return nodes.binary(s, Op.MINIMUM, low, top, kind)


def _lookback(slots: int) -> Handler:
    """The look-back of a split scan: program `index` writes its own slots of the workspace and reads those of the
    programs before it."""

    def handler(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
        base, value, index = bound(args, kwargs, "scratch_base", "block_value", "index")
        place = to_node(s, index)
        if not is_node(base) or place is None or not is_node(value):
            s.give_up_on("a look-back whose workspace is not followed")
            return value if is_node(value) else Unknown("a look-back")
        if slots == 1 and place.type is not INT32:
            s.reject("the look-back over 32-bit values takes an int32 index (its loop variable is set to -1)")
        own = apply(s, Op.MULTIPLY, slots, place) if slots > 1 else place
        for slot in range(slots):
            _touch(s, apply(s, Op.ADD, apply(s, Op.ADD, base, own), slot) if slots > 1 else apply(s, Op.ADD, base, own))
        _look_back(s, base, place, slots)
        return nodes.opaque(s, value.type, value.shape, "the prefix of a split scan", (value,))

    return handler


def _touch(s: State, address: Value) -> None:
    if is_node(address) and isinstance(address.type, PointerType):
        memory.atomic(s, address, 0, None)


def _look_back(s: State, base: Node, index: Node, slots: int) -> None:
    """Accesses to the slots of the programs before this one, as a loop over them."""
    assert isinstance(index.type, ScalarType)
    number = len(s.loops)
    zero, one = nodes.constant(s, 0, index.type), nodes.constant(s, 1, index.type)
    s.loops.append(Loop("look-back", zero, index, one, index.type, None, s.guards, s.loop_stack, s.span))
    stack, s.loop_stack = s.loop_stack, (*s.loop_stack, number)
    target = LoopCounter(number, index.type, s.span)
    first = apply(s, Op.ADD, base, apply(s, Op.MULTIPLY, slots, target) if slots > 1 else target)
    for slot in range(slots):
        _touch(s, apply(s, Op.ADD, first, slot) if slots > 1 else first)
    s.loop_stack = stack


def _x_grid_barrier(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Atomics on one semaphore, whose uint32 counting wraps on purpose."""
    (semaphore,) = bound(args, kwargs, "sem")
    nodes.program_id(s, 0)
    counted = nodes.opaque(s, UINT32, (), "a semaphore's count")
    memory.atomic(s, semaphore, counted, None)
    return None


def _frexp(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    (value,) = bound(args, kwargs, "x")
    if not is_node(value):
        return Unknown("triton_helpers.frexp"), Unknown("triton_helpers.frexp")
    detail = "triton_helpers.frexp"
    return (
        nodes.opaque(s, value.type, value.shape, detail, (value,)),
        nodes.opaque(s, INT32, value.shape, detail, (value,)),
    )


def _sort_with_index(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Values and indices in another order: each index is one of those given."""
    value, index = bound(args, kwargs, "x", "idxs")
    if not is_node(value) or not is_node(index):
        return Unknown("a sort"), Unknown("a sort")
    value, index = nodes.align(s, value, index)
    kind = index.type
    if isinstance(kind, ScalarType) and kind.is_integer and kind.bits < 32 and index.shape[-1:] > (1,):
        kind = INT32 if not is_unsigned(kind) else UINT32  # each step sums indices, which widens them
    return (
        nodes.opaque(s, value.type, value.shape, "triton_helpers.sort_with_index", (value,)),
        nodes.opaque(s, kind, index.shape, "triton_helpers.sort_with_index", (index,)),
    )


def _select_one(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The one value that the mask keeps: a sum over the block of what it leaves."""
    value, mask, axis, keep = bound(args, kwargs, "x", "mask", "dim", "keep_dims")
    if not is_node(value):
        return Unknown("select_one")
    one = is_node(mask) and isinstance(axis, int) and _is_one_lane(mask, axis % max(1, len(value.shape)))
    return reductions.reduce_one(s, "select_one" if one else "select_one of several", value, axis, flag(keep))


def _is_one_lane(mask: Node, axis: int) -> bool:
    """Whether a mask is `tl.arange(...) == constant` along an axis, which at most one lane is."""
    while isinstance(mask, Broadcast):
        mask = mask.operand
    if not isinstance(mask, Binary) or mask.operator is not BinaryOperator.EQUAL:
        return False
    if any(extent != 1 for place, extent in enumerate(mask.shape) if place != axis):
        return False
    sides = [mask.left, mask.right]
    for place, side in enumerate(sides):
        while isinstance(side, Broadcast | ExpandDims | Cast):
            side = side.operand
        sides[place] = side
    return {type(side) for side in sides} == {Arange, Constant}


def _if_mask(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    mask, value = bound(args, kwargs, "mask", "val")
    return None if mask is None else value


def _nothing(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return None


def _inline_asm_pack(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    value, pack = bound(args, kwargs, "x", "pack")
    if not is_node(value):
        return Unknown("triton_helpers.inline_asm_pack")
    count = max(element_count(value.shape), pack if isinstance(pack, int) else 1)
    return nodes.opaque(s, value.type, (count,), "triton_helpers.inline_asm_pack", (value,))


def _inline_asm_unpack(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    value, original = bound(args, kwargs, "x", "orig")
    if not is_node(value) or not is_node(original):
        return Unknown("triton_helpers.inline_asm_unpack")
    return nodes.opaque(s, value.type, original.shape, "triton_helpers.inline_asm_unpack", (value,))


_ELEMENTWISE = {
    "online_softmax_combine": 2, "online_softmax_combine_with_sum": 2, "welford_reduce": 3, "welford_combine": 3,
    "exp": 1,
}  # fmt: skip

FUNCTIONS: dict[str, Handler] = {
    "promote_to_tensor": _promote_to_tensor, "div_floor_integer": _div_floor_integer,
    "remainder_integer": _remainder_integer, "minimum": _extreme(Op.MINIMUM), "maximum": _extreme(Op.MAXIMUM),
    "fmaximum": _extreme(Op.MAXIMUM), "_minimum_reduce": _extreme(Op.MINIMUM), "_maximum_reduce": _extreme(Op.MAXIMUM),
    "min2": _reduction("min"), "max2": _reduction("max"), "min2_strict": _reduction("min"),
    "max2_strict": _reduction("max"), "fmax2": _reduction("max"), "prod": _reduction("prod"), "any": _reduction("any"),
    "min_with_index": _with_index("min"), "max_with_index": _with_index("max"),
    "minimum_with_index": _pairwise_with_index, "maximum_with_index": _pairwise_with_index,
    "online_softmax_reduce": _reduced("online softmax", 2), "welford": _reduced("welford", 3),
    "device_assert_then": _device_assert_then, "is_floating": _is_floating, "pow_integer": _pow_integer,
    "randint64": _typed(INT64, "randint64"), "rand_eager_kernel": _typed(FLOAT32, "rand_eager_kernel"),
    "fp8e4m3fn_to_float32": _typed(FLOAT32, "fp8e4m3fn_to_float32"), "rand4x": _random_block("rand4x"),
    "randn4x": _random_block("randn4x"), "bucketize_binary_search": _unrecorded(_bucketize),
    "exclusive_scan_decoupled_lookback": _unrecorded(_lookback(1)),
    "exclusive_scan_decoupled_lookback_64": _unrecorded(_lookback(3)),
    "x_grid_barrier": _unrecorded(_x_grid_barrier), "frexp": _frexp, "sort_with_index": _sort_with_index,
    "select_one": _select_one, "if_mask": _if_mask,
    "constexpr_next_power_of_2": language_functions.FUNCTIONS["next_power_of_2"], "set_driver_to_gpu": _nothing,
    "inline_asm_pack": _inline_asm_pack, "inline_asm_unpack": _inline_asm_unpack,
    **{name: _elementwise(name, count) for name, count in _ELEMENTWISE.items()},
}  # fmt: skip

