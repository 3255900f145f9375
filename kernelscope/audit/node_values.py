"""Exact values of nodes, one function a kind of node."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor, prod
from typing import TYPE_CHECKING

from kernelscope.audit import float_indices, iterations
from kernelscope.audit.accumulation import accumulated
from kernelscope.audit.coordinates import Coordinates, operand_coordinates
from kernelscope.audit.host import extreme_atom
from kernelscope.audit.inside_values import below
from kernelscope.audit.selected_extremes import selected
from kernelscope.bounds.polynomial import Polynomial
from kernelscope.triton_source.index_program import (
    COMPARISONS,
    RUNNING_SUM,
    Absolute,
    Access,
    Arange,
    Argument,
    Binary,
    BinaryOperator,
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
    ProgramId,
    Reduce,
    UnknownReason,
    Where,
)
from kernelscope.triton_source.scalar_types import INT1, ScalarType

if TYPE_CHECKING:
    from kernelscope.audit.evaluation import Evaluator

RING = frozenset({BinaryOperator.ADD, BinaryOperator.SUBTRACT, BinaryOperator.MULTIPLY})


def constant(e: Evaluator, node: Constant, coordinates: Coordinates) -> Polynomial:
    return Polynomial.constant(int(node.value)) if isinstance(node.value, int) else e.typed_atom(node)


def argument(e: Evaluator, node: Argument, coordinates: Coordinates) -> Polynomial:
    value = e.model.arguments.get(node.name)
    if value is not None:
        return value
    detail = f"the value of argument {node.name} is not known"
    atom = e.any_value(node, UnknownReason.MISSING_FACT, detail)
    number = next(iter(atom.atoms()))
    e.space.atoms[number].name = node.name
    e.unfollowed[number] = (UnknownReason.MISSING_FACT, detail)
    return atom


def program_id(e: Evaluator, node: ProgramId, coordinates: Coordinates) -> Polynomial:
    return e.program_id(node.axis)


def num_programs(e: Evaluator, node: NumPrograms, coordinates: Coordinates) -> Polynomial:
    return e.model.grid[node.axis]


def arange(e: Evaluator, node: Arange, coordinates: Coordinates) -> Polynomial:
    return coordinates[0].plus(node.start)


def loaded(e: Evaluator, node: Loaded, coordinates: Coordinates) -> Polynomial:
    if not isinstance(node.type, ScalarType) or not node.type.is_integer:
        return e.typed_atom(node)
    low, high = node.type.minimum, node.type.maximum
    atom = e.space.new_atom("loaded value", low, high)
    e.loaded_atoms[atom.number] = (node.access, coordinates)
    base = e.base_of(node.access)
    values = e.model.values.get(base) if base is not None else None
    if values is not None:
        values = with_other(e, e.program.accesses[node.access], values, coordinates)
    if values is not None:
        atom.lowers.append(values[0])
        atom.uppers.append(values[1])
    else:
        detail = f"values of {base}" if base else "a loaded value"
        detail += ", which the kernel changes itself," if base in e.model.changed else ""
        e.unfollowed[atom.number] = (UnknownReason.MISSING_FACT, f"the range of {detail} is not known")
    return Polynomial.atom(atom.number)


def with_other(
    e: Evaluator, access: Access, values: tuple[Polynomial, Polynomial], coordinates: Coordinates
) -> tuple[Polynomial, Polynomial] | None:
    """The bounds of a loaded value, wide enough for `other` where the load may be masked off; None where it is then anything
    at all, since Triton leaves a masked lane without `other` undefined."""
    from kernelscope.audit.conditions import holds

    if access.mask is None:
        return values
    if access.other is None or not isinstance(access.other.type, ScalarType) or not access.other.type.is_integer:
        return values if holds(e, access.mask, coordinates) else None
    other = e.observe(access.other, coordinates, access.other)
    least, most = values
    if e.lower_bound(other - least) >= 0 and e.lower_bound(most - other) >= 0:
        return values
    if holds(e, access.mask, coordinates):
        return values
    return extreme(e, least, other, least=True), extreme(e, most, other, least=False)


def binary(e: Evaluator, node: Binary, coordinates: Coordinates) -> Polynomial:
    operator = node.operator
    if not node.type.is_integer or not isinstance(node.left.type, ScalarType) or not node.left.type.is_integer:
        return e.typed_atom(node)
    chosen = selected(e, node, coordinates) if operator is BinaryOperator.ADD else None
    if chosen is not None:
        return extreme(e, *chosen)
    if operator in RING:
        left, right = e.value(node.left, coordinates), e.value(node.right, coordinates)
        if operator is BinaryOperator.ADD:
            return e.space.rejoined(left + right)
        if operator is BinaryOperator.MULTIPLY:
            kept = kept_or_zero(e, node, left, right, coordinates)
            return kept if kept is not None else left * right
        return left - right
    if operator in COMPARISONS or node.type.bits == 1:
        return boolean(e, node, coordinates)
    if operator is BinaryOperator.SHIFT_LEFT:
        amount = e.observe(node.right, coordinates, node).constant_value
        if isinstance(amount, int) and 0 <= amount < 64:
            return e.value(node.left, coordinates).scaled(1 << amount)
        return e.any_value(node, UnknownReason.NOT_MODELLED, "a shift by an amount that is not constant")
    within = low_bits(e, node, coordinates) or clamped(e, node, coordinates)
    if within is not None:
        return within
    left, right = e.observe(node.left, coordinates, node), e.observe(node.right, coordinates, node)
    match operator:
        case BinaryOperator.FLOOR_DIVIDE:
            return truncating(e, node, left, right, quotient=True)
        case BinaryOperator.REMAINDER:
            return truncating(e, node, left, right, quotient=False)
        case BinaryOperator.SHIFT_RIGHT:
            return shift_right(e, node, left, right)
        case BinaryOperator.MINIMUM | BinaryOperator.MAXIMUM:
            return extreme(e, left, right, operator is BinaryOperator.MINIMUM)
        case BinaryOperator.AND:
            return bitwise_and(e, node, left, right)
        case _:
            return bitwise_or(e, node, left, right)


def kept_or_zero(
    e: Evaluator, node: Binary, left: Polynomial, right: Polynomial, coordinates: Coordinates
) -> Polynomial | None:
    """`x * condition` of data is x or 0, in a case each: facts about a product of two unknowns help little."""
    for truth, kept in ((node.left, right), (node.right, left)):
        where = coordinates
        while isinstance(truth, Cast | ExpandDims | Broadcast | Permute) and truth.type != INT1:
            where = where if isinstance(truth, Cast) else operand_coordinates(truth, where)
            truth = truth.operand
        if truth.type == INT1 and not isinstance(truth, Constant | Loaded) and not e.space.is_of_sizes(kept):
            return kept if e.choose(truth, where) else Polynomial.constant(0)
    return None


def low_bits(e: Evaluator, node: Binary, coordinates: Coordinates) -> Polynomial | None:
    """`x & (2**k - 1)` reads the low bits alone, which are right however often the sum or product `x` has wrapped."""
    mask = node.right.value if isinstance(node.right, Constant) else None
    if node.operator is not BinaryOperator.AND or not isinstance(mask, int) or mask < 0 or mask & (mask + 1):
        return None
    return e.space.remainder(e.value(node.left, coordinates), Polynomial.constant(mask + 1))


def clamped(e: Evaluator, node: Binary, coordinates: Coordinates) -> Polynomial | None:
    """`min(max(x, low), high)` of a value that is not followed: known to lie between the two all the same."""
    pair = (BinaryOperator.MINIMUM, BinaryOperator.MAXIMUM)
    inner = node.left
    if node.operator not in pair or not isinstance(inner, Binary) or inner.operator not in pair:
        return None
    if inner.operator is node.operator or not isinstance(inner.left, Opaque):
        return None
    anything = e.typed_atom(inner.left)
    bound = e.observe(inner.right, coordinates, inner)
    first = extreme(e, anything, bound, inner.operator is BinaryOperator.MINIMUM)
    return extreme(e, first, e.observe(node.right, coordinates, node), node.operator is BinaryOperator.MINIMUM)


def boolean(e: Evaluator, node: Node, coordinates: Coordinates) -> Polynomial:
    """A condition used as a number: 0 or 1. What it compares must be exact."""
    from kernelscope.audit.conditions import observe

    truth = e.truth(node, coordinates)
    if truth is not None:
        return Polynomial.constant(int(truth))
    observe(e, node, coordinates)
    return Polynomial.atom(e.space.new_atom("condition", 0, 1).number)


def truncating(e: Evaluator, node: Binary, left: Polynomial, right: Polynomial, *, quotient: bool) -> Polynomial:
    """Division toward zero: the floor where both operands are known not to be negative."""
    if e.lower_bound(left) >= 0:
        divisor = positive(e, right)
        result = e.space.divide(left, divisor) if quotient else e.space.remainder(left, divisor)
        if result is not None:
            return result
    low, high = e.space.range_of(left)
    reach = max(abs(low), abs(high))
    if not quotient:
        least, most = e.space.range_of(right)
        reach = min(reach, max(abs(least), abs(most)) - 1)
    lower = 0 if e.lower_bound(left) >= 0 and e.space.range_of(right)[0] >= 0 else -reach
    atom = e.space.new_atom("quotient" if quotient else "remainder", lower, reach)
    e.unfollowed[atom.number] = (UnknownReason.WEAK_PROOF, "a division whose operands may be negative or zero")
    return Polynomial.atom(atom.number)


def positive(e: Evaluator, divisor: Polynomial) -> Polynomial:
    """The divisor, with a lower bound of 1 recorded where it can be proved and is not obvious."""
    if e.space.range_of(divisor)[0] >= 1 or e.lower_bound(divisor) < 1:
        return divisor
    numbers = divisor.atoms()
    if divisor.terms == {tuple(numbers): 1}:
        atom = e.space.atoms[next(iter(numbers))]
        atom.low = max(atom.low, 1)
        e.space.forget()
        return divisor
    atom = e.space.new_atom("divisor", 1)
    atom.of_sizes = e.space.is_of_sizes(divisor)
    atom.uppers.append(divisor)
    atom.lowers.append(divisor)
    return Polynomial.atom(atom.number)


def shift_right(e: Evaluator, node: Binary, left: Polynomial, right: Polynomial) -> Polynomial:
    amount = right.constant_value
    if isinstance(amount, int) and 0 <= amount < 64:
        result = e.space.divide(left, Polynomial.constant(1 << amount))
        if result is not None:
            return result
    return e.typed_atom(node)


def extreme(e: Evaluator, left: Polynomial, right: Polynomial, least: bool) -> Polynomial:
    low, high = e.space.range_of(left - right)
    if low >= 0 or high <= 0:
        return (right if low >= 0 else left) if least else (left if low >= 0 else right)
    result = extreme_atom(e.space, left, right, least)
    bounds = e.lower_bound(left), e.lower_bound(right)
    atom = e.space.atoms[next(iter(result.atoms()))]
    atom.low = max(atom.low, min(bounds) if least else max(bounds))
    return result


def bitwise_and(e: Evaluator, node: Binary, left: Polynomial, right: Polynomial) -> Polynomial:
    for value, other in ((right.constant_value, left), (left.constant_value, right)):
        if isinstance(value, int) and value >= 0 and (value & (value + 1)) == 0:
            result = e.space.remainder(other, Polynomial.constant(value + 1))
            if result is not None:
                return result
    a, b = e.lower_bound(left), e.lower_bound(right)
    if a < 0 and b < 0:
        return e.typed_atom(node)
    atom = e.space.new_atom("bits", 0)
    atom.uppers.extend(p for p, low in ((left, a), (right, b)) if low >= 0)
    return Polynomial.atom(atom.number)


def bitwise_or(e: Evaluator, node: Binary, left: Polynomial, right: Polynomial) -> Polynomial:
    """| and ^ of non-negative values: at most their sum."""
    if e.lower_bound(left) < 0 or e.lower_bound(right) < 0:
        return e.typed_atom(node)
    atom = e.space.new_atom("bits", 0)
    atom.uppers.append(left + right)
    return Polynomial.atom(atom.number)


def negate(e: Evaluator, node: Negate, coordinates: Coordinates) -> Polynomial:
    return -e.value(node.operand, coordinates) if node.type.is_integer else e.typed_atom(node)


def invert(e: Evaluator, node: Invert, coordinates: Coordinates) -> Polynomial:
    if node.type.bits == 1:
        return boolean(e, node, coordinates)
    if not node.type.is_integer:
        return e.typed_atom(node)
    return (-e.value(node.operand, coordinates)).plus(-1)


def absolute(e: Evaluator, node: Absolute, coordinates: Coordinates) -> Polynomial:
    if not node.type.is_integer:
        return e.typed_atom(node)
    operand = e.observe(node.operand, coordinates, node)
    if e.lower_bound(operand) >= 0:
        return operand
    return operand if e.choose(e.not_negative(node), coordinates) else -operand


def cast(e: Evaluator, node: Cast, coordinates: Coordinates) -> Polynomial:
    operand, target = node.operand, node.type
    if not isinstance(operand.type, ScalarType) or not isinstance(target, ScalarType) or not target.is_integer:
        return e.typed_atom(node)
    if not operand.type.is_integer:
        return float_indices.from_float(e, node, coordinates)
    if target.bits == 1 and operand.type.bits > 1:
        return boolean(e, node, coordinates)
    if target.bits > operand.type.bits:
        return e.observe(operand, coordinates, node)
    return e.value(operand, coordinates)


def where(e: Evaluator, node: Where, coordinates: Coordinates) -> Polynomial:
    if not isinstance(node.type, ScalarType) or not node.type.is_integer:
        return e.typed_atom(node)
    return e.value(node.if_true if e.choose(node.condition, coordinates) else node.if_false, coordinates)


def shaped(e: Evaluator, node: ExpandDims | Broadcast | Permute, coordinates: Coordinates) -> Polynomial:
    return e.value(node.operand, operand_coordinates(node, coordinates))


def reduce(e: Evaluator, node: Reduce, coordinates: Coordinates) -> Polynomial:
    if node.function in ("argmax", "argmin") and node.axis is not None:
        below(e, node, coordinates)
        return Polynomial.atom(e.space.new_atom("position", 0, max(0, node.operand.shape[node.axis] - 1)).number)
    if node.function == "sum" and node.type.is_integer:
        return block_sum(e, node, coordinates)
    if node.function == RUNNING_SUM and node.axis is not None:
        return running_sum(e, node, coordinates)
    if node.function not in ("max", "min", "select_one") or not node.type.is_integer or node.axis is None:
        return e.any_value(node, UnknownReason.NOT_MODELLED, f"a {node.function} over the block")
    inner = list(coordinates)
    lane = e.space.new_atom("reduced lane", 0, max(0, node.operand.shape[node.axis] - 1))
    inner.insert(node.axis, Polynomial.atom(lane.number))
    one = node.function == "select_one"
    operand = e.value(node.operand, tuple(inner)) if one else e.observe(node.operand, tuple(inner), node)
    low, high = e.space.range_of(operand)
    if one:  # 0 where the mask keeps no lane
        low, high = min(0, low), max(0, high)
    atom = e.space.new_atom(f"{node.function} over the block", int(low), int(high))
    if not one:
        atom.uppers.extend(e.space.upper_bounds(operand, 3))
    return Polynomial.atom(atom.number)


def block_sum(e: Evaluator, node: Reduce, coordinates: Coordinates) -> Polynomial:
    """A sum over a block: as many times a bound of its elements. It is exact modulo 2**bits, as they are."""
    shape = node.operand.shape
    axes = range(len(shape)) if node.axis is None else (node.axis,)
    inner, count = list(coordinates), prod(shape[axis] for axis in axes)
    for axis in axes:
        inner.insert(axis, Polynomial.atom(e.space.new_atom("reduced lane", 0, max(0, shape[axis] - 1)).number))
    operand = e.value(node.operand, tuple(inner))
    low, high = e.space.range_of(operand)
    atom = e.space.new_atom("sum over the block", floor(count * low), ceil(count * high))
    atom.uppers.extend(bound.scaled(count) for bound in e.space.upper_bounds(operand, 3))
    atom.lowers.extend(-bound.scaled(count) for bound in e.space.upper_bounds(-operand, 3))
    e.unfollowed[atom.number] = (UnknownReason.WEAK_PROOF, "a sum over the block")
    return Polynomial.atom(atom.number)


def running_sum(e: Evaluator, node: Reduce, coordinates: Coordinates) -> Polynomial:
    """Each lane sums at least its own element and at most all along the axis. Exact modulo 2**bits, as the elements are."""
    assert node.axis is not None
    inner, count = list(coordinates), node.operand.shape[node.axis]
    inner[node.axis] = Polynomial.atom(e.space.new_atom("summed lane", 0, max(0, count - 1)).number)
    low, high = e.space.range_of(e.value(node.operand, tuple(inner)))
    atom = e.space.new_atom("running sum over the block", floor(min(low, count * low)), ceil(max(high, count * high)))
    e.unfollowed[atom.number] = (UnknownReason.WEAK_PROOF, "a running sum over the block")
    return Polynomial.atom(atom.number)


def opaque(e: Evaluator, node: Opaque, coordinates: Coordinates) -> Polynomial:
    """Any value of the type. What it was computed from may wrap unseen, so that reading it leaves an unknown."""
    if isinstance(node.type, ScalarType) and node.type.is_integer and node.type.bits > 1:
        sum_ = accumulated(e, node, coordinates)
        return sum_ if sum_ is not None else e.any_value(node, node.reason, node.detail)
    return e.typed_atom(node)


HANDLERS: dict[type, Callable[..., Polynomial]] = {
    Constant: constant, Argument: argument, ProgramId: program_id, NumPrograms: num_programs, Arange: arange,
    Binary: binary, Negate: negate, Invert: invert, Absolute: absolute, Cast: cast, Where: where, ExpandDims: shaped,
    Broadcast: shaped, Permute: shaped, Reduce: reduce, Loaded: loaded, LoopCounter: iterations.loop_counter,
    Carried: iterations.carried, Opaque: opaque,
}  # fmt: skip
