"""Inductor's helper functions (torch/_inductor/runtime/triton_helpers.py), as far as an index can depend on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelscope.kernel_reader.arithmetic import NotUnderstood, binary, cast, invert, opaque, scalar_of, tensor, where
from kernelscope.kernel_reader.calls import Call, Handler, bounded, reduced_shape, reduction
from kernelscope.triton_source.index_program import (
    Binary,
    BinaryOperator,
    Constant,
    Node,
    NumPrograms,
    PointerAdd,
    ProgramId,
    Span,
)
from kernelscope.triton_source.scalar_types import FLOAT32, INT1, INT32, INT64, PointerType, ScalarType
from kernelscope.kernel_reader.values import Items, Static, Value

if TYPE_CHECKING:
    from kernelscope.kernel_reader.expressions import Expressions


def _promote(reader: Expressions, one: Call) -> Value:
    return tensor(reader.scalar(one.need(0, "x"), one.span), one.span)


def _floor_divide(reader: Expressions, one: Call) -> Value:
    """Quotient toward minus infinity: one less than the truncated one where signs differ and it is not exact."""
    a, b = (reader.scalar(one.need(i, n), one.span) for i, n in enumerate("ab"))
    span = one.span
    quotient = binary(BinaryOperator.FLOOR_DIVIDE, a, b, span)
    rest = binary(BinaryOperator.REMAINDER, a, b, span)
    lower = binary(BinaryOperator.SUBTRACT, quotient, Static(1), span)
    exact = binary(BinaryOperator.NOT_EQUAL, rest, Static(0), span)
    return where(_signs_differ(a, b, span), where(exact, lower, quotient, span), quotient, span)


def _floor_remainder(reader: Expressions, one: Call) -> Value:
    """Remainder with the sign of the divisor."""
    a, b = (reader.scalar(one.need(i, n), one.span) for i, n in enumerate("ab"))
    span = one.span
    rest = binary(BinaryOperator.REMAINDER, a, b, span)
    shifted = binary(BinaryOperator.ADD, rest, b, span)
    exact = binary(BinaryOperator.NOT_EQUAL, rest, Static(0), span)
    return where(_signs_differ(a, b, span), where(exact, shifted, rest, span), rest, span)


def _signs_differ(a: Node | Static, b: Node | Static, span: Span) -> Node:
    """(a < 0) != (b < 0), spelled as comparisons that can be decided one by one."""
    first = binary(BinaryOperator.LESS, tensor(a, span), Static(0), span)
    value = b.value if isinstance(b, Static | Constant) else None
    if isinstance(value, int) and value > 0:
        return first
    second = binary(BinaryOperator.LESS, tensor(b, span), Static(0), span)
    only_first = binary(BinaryOperator.AND, first, invert(second, span), span)
    only_second = binary(BinaryOperator.AND, invert(first, span), second, span)
    return binary(BinaryOperator.OR, only_first, only_second, span)


def _extreme(operator: BinaryOperator) -> Handler:
    def handler(reader: Expressions, one: Call) -> Value:
        a, b = (reader.scalar(one.need(i, n), one.span) for i, n in enumerate("ab"))
        return binary(operator, a, b, one.span)

    return handler


def _elementwise(type_: ScalarType | None = None, count: int = 1) -> Handler:
    """Results of the first tensor's shape that no index follows."""

    def handler(reader: Expressions, one: Call) -> Value:
        nodes = [n for n in one.nodes() if isinstance(n.type, ScalarType)]
        if not nodes:
            raise NotUnderstood(f"triton_helpers.{one.name} without a tensor")
        shape = max((n.shape for n in nodes), key=len)
        kind = type_ or scalar_of(nodes[0].type)
        results = tuple(opaque(kind, shape, one.span, f"triton_helpers.{one.name}", tuple(nodes)) for _ in range(count))
        return results[0] if count == 1 else Items(results)

    return handler


def _reduced(count: int, axis_position: int) -> Handler:
    """`count` results, the inputs reduced along an axis."""

    def handler(reader: Expressions, one: Call) -> Value:
        nodes = [reader.node(one.need(i, str(i)), one.span) for i in range(count)]
        axis = one.get(axis_position, "dim")
        if not isinstance(axis, Static) or not isinstance(axis.value, int):
            raise NotUnderstood(f"triton_helpers.{one.name} along an axis that is no constexpr")
        results: list[Value] = []
        for node in nodes:
            shape, position = reduced_shape(node.shape, axis.value, False)
            result: Node = opaque(node.type, shape, one.span, f"triton_helpers.{one.name}", (node,))
            results.append(result)
            assert position is not None
        return Items(tuple(results)) if count > 1 else results[0]

    return handler


def _indexed_reduction(reader: Expressions, one: Call) -> Value:
    """min/max_with_index(value, index, dim): the index is one of the given ones."""
    value, index = one.node(reader, 0, "value"), one.node(reader, 1, "index")
    axis = one.get(2, "dim")
    if not isinstance(axis, Static) or not isinstance(axis.value, int):
        raise NotUnderstood(f"triton_helpers.{one.name} along an axis that is no constexpr")
    shape, _ = reduced_shape(value.shape, axis.value, False)
    return Items(
        (
            opaque(value.type, shape, one.span, f"triton_helpers.{one.name}", (value,)),
            opaque(index.type, shape, one.span, f"triton_helpers.{one.name}", (index,)),
        )
    )


def _indexed_extreme(reader: Expressions, one: Call) -> Value:
    """minimum/maximum_with_index of two (value, index) pairs, element by element."""
    value, index = one.node(reader, 0, "a_value"), one.node(reader, 1, "a_index")
    nodes = one.nodes()
    shape = max((n.shape for n in nodes), key=len)
    return Items(tuple(opaque(n.type, shape, one.span, f"triton_helpers.{one.name}", nodes) for n in (value, index)))


def _online_softmax_combine(reader: Expressions, one: Call) -> Value:
    nodes = [n for n in one.nodes() if isinstance(n.type, ScalarType)]
    shape = max((n.shape for n in nodes), key=len)
    return Items(tuple(opaque(FLOAT32, shape, one.span, "online softmax", tuple(nodes)) for _ in range(2)))


def _device_assert_then(reader: Expressions, one: Call) -> Value:
    condition = one.node(reader, 0, "cond")
    reader.recorder.assume(condition, one.span)
    return one.need(2, "r")


def _bucketize(reader: Expressions, one: Call) -> Value:
    """A binary search: reads boundaries at indices up to its size, returns an index from 0 to the size."""
    values = one.node(reader, 0, "values")
    boundaries = one.node(reader, 1, "boundaries_ptr")
    size = reader.scalar(one.need(2, "BOUNDARIES_SIZE"), one.span)
    stride = reader.scalar(one.need(4, "BOUNDARIES_STRIDE"), one.span)
    indices = reader.scalar(one.need(5, "boundary_indices"), one.span)
    dtype = one.need(6, "indexing_dtype")
    if not isinstance(dtype, Static) or not isinstance(dtype.value, ScalarType) or one.get(8, "sorter_ptr") is not None:
        raise NotUnderstood("bucketize with a sorter or a dtype that is not known")
    span, kind = one.span, dtype.value
    high = cast(tensor(size, span), kind, span)

    def searched() -> Node:
        return bounded(opaque(kind, values.shape, span, "a binary search"), 0, high, span)

    middle = binary(
        BinaryOperator.FLOOR_DIVIDE, binary(BinaryOperator.ADD, searched(), searched(), span), Static(2), span
    )
    mask = binary(BinaryOperator.LESS, middle, size, span)
    offset = binary(BinaryOperator.ADD, indices, binary(BinaryOperator.MULTIPLY, middle, stride, span), span)
    pointer = binary(BinaryOperator.ADD, boundaries, offset, span)
    reader.recorder.load(pointer, mask, None, span)
    return searched()


def _lookback(scale: int) -> Handler:
    """Decoupled look-back: reads and writes scratch at `scale * index` for this block and all before it."""

    def handler(reader: Expressions, one: Call) -> Value:
        scratch = one.node(reader, 0, "scratch_base")
        block_value = one.node(reader, 1, "block_value")
        index = reader.scalar(one.need(2, "index"), one.span)
        span = one.span
        if not isinstance(scratch.type, PointerType):
            raise NotUnderstood("look-back scratch that is no pointer")
        pointer: Node = scratch
        if scale == 1:
            pointer = binary(BinaryOperator.ADD, scratch, index, span)
        else:
            scaled = binary(BinaryOperator.MULTIPLY, Static(scale), index, span)
            pointer = binary(BinaryOperator.ADD, scratch, scaled, span)
            pointer = binary(BinaryOperator.ADD, pointer, Static(scale - 1), span)
        assert isinstance(pointer, PointerAdd)
        reader.recorder.atomic(pointer, None, None, span)
        return opaque(block_value.type, block_value.shape, span, "the prefix of a scan", (block_value,))

    return handler


def _grid_barrier(reader: Expressions, one: Call) -> Value:
    """Counts arrivals in one semaphore: 0x80000000 - (num_programs(0) - 1) as uint32."""
    semaphore = one.node(reader, 0, "sem")
    ProgramId(0, one.span)
    NumPrograms(0, one.span)
    reader.recorder.atomic(semaphore, None, None, one.span)
    return Static(None)


def _select_one(reader: Expressions, one: Call) -> Value:
    node = one.node(reader, 0, "x")
    axis = one.get(2, "dim")
    if not isinstance(axis, Static) or not isinstance(axis.value, int):
        raise NotUnderstood("select_one along an axis that is no constexpr")
    keep = one.get(3, "keep_dims")
    shape, _ = reduced_shape(node.shape, axis.value, isinstance(keep, Static) and bool(keep.value))
    return opaque(node.type, shape, one.span, "select_one", (node,))


def _sort_with_index(reader: Expressions, one: Call) -> Value:
    values, indices = one.node(reader, 0, "x"), one.node(reader, 1, "idxs")
    return Items(
        (
            opaque(values.type, values.shape, one.span, "a sort", (values,)),
            opaque(indices.type, values.shape, one.span, "a sort", (indices,)),
        )
    )


def _welford_combine(reader: Expressions, one: Call) -> Value:
    return _elementwise(None, 3)(reader, one)


def _frexp(reader: Expressions, one: Call) -> Value:
    node = one.node(reader, 0, "x")
    return Items(
        (opaque(node.type, node.shape, one.span, "frexp", (node,)), opaque(INT32, node.shape, one.span, "frexp", (node,)))
    )


def _truth_reduction(reader: Expressions, one: Call) -> Value:
    return reduction("any", INT1, "dim")(reader, one)


def _constant_power(reader: Expressions, one: Call) -> Value:
    value = one.integer(0, "n")
    return Static(1 << max(0, value - 1).bit_length())


def _if_mask(reader: Expressions, one: Call) -> Value:
    mask = one.get(0, "mask")
    return Static(None) if mask is None else one.need(1, "val")


def _is_floating(reader: Expressions, one: Call) -> Value:
    node = one.node(reader, 0, "x")
    return Static(isinstance(node.type, ScalarType) and not node.type.is_integer)


HELPERS: dict[str, Handler] = {
    "promote_to_tensor": _promote, "div_floor_integer": _floor_divide, "remainder_integer": _floor_remainder,
    "minimum": _extreme(BinaryOperator.MINIMUM), "maximum": _extreme(BinaryOperator.MAXIMUM),
    "fmaximum": _extreme(BinaryOperator.MAXIMUM), "pow_integer": _elementwise(), "is_floating": _is_floating,
    "prod": reduction("prod"), "min2": reduction("min", None, "dim"), "max2": reduction("max", None, "dim"),
    "min2_strict": reduction("min", None, "dim"), "max2_strict": reduction("max", None, "dim"),
    "fmax2": reduction("max", None, "dim"), "min_with_index": _indexed_reduction,
    "max_with_index": _indexed_reduction, "minimum_with_index": _indexed_extreme,
    "maximum_with_index": _indexed_extreme, "exp": _elementwise(), "online_softmax_reduce": _reduced(2, 2),
    "online_softmax_combine": _online_softmax_combine, "online_softmax_combine_with_sum": _online_softmax_combine,
    "welford_reduce": _welford_combine, "welford_combine": _welford_combine, "welford": _reduced(3, 3),
    "device_assert_then": _device_assert_then, "any": _truth_reduction, "bucketize_binary_search": _bucketize,
    "exclusive_scan_decoupled_lookback": _lookback(1), "exclusive_scan_decoupled_lookback_64": _lookback(3),
    "frexp": _frexp, "sort_with_index": _sort_with_index, "select_one": _select_one, "x_grid_barrier": _grid_barrier,
    "constexpr_next_power_of_2": _constant_power, "if_mask": _if_mask, "randint64": _elementwise(INT64),
    "rand4x": _elementwise(FLOAT32), "randn4x": _elementwise(FLOAT32), "rand_eager_kernel": _elementwise(FLOAT32),
    "fp8e4m3fn_to_float32": _elementwise(FLOAT32), "inline_asm_pack": _elementwise(), "inline_asm_unpack": _elementwise(),
}  # fmt: skip

__all__ = ["HELPERS", "Binary"]
