"""Wraps that an assertion catches: where every wrapped value makes it false, the kernel stops before the access.

`((0 <= i) & (i < 514)) | ~mask` with `i = where(x < 0, x + 514, x)` and `x = loaded + 1`: the largest integer plus one wraps to
the least, and the assertion is false of it as it is of the exact value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil, floor

from kernelscope.audit import conditions
from kernelscope.audit.coordinates import Coordinates, operand_coordinates
from kernelscope.audit.evaluation import Evaluator, fork
from kernelscope.audit.obligation import NeedsCase, Obligation
from kernelscope.bounds.space import Range
from kernelscope.triton_source.index_program import (
    COMPARISONS,
    Argument,
    Binary,
    BinaryOperator,
    Broadcast,
    Cast,
    Constant,
    ExpandDims,
    Invert,
    Node,
    Permute,
    Where,
)
from kernelscope.triton_source.scalar_types import ScalarType

#: A value that is known: what computes it, and the lane at which it is read.
Place = tuple[object, Coordinates]

_EITHER = (0, 1)
_MOST_SPLITS = 4
_DEEPEST = 60


def is_trapped(
    obligation: Obligation, context: Evaluator, before: Evaluator, assertion: Node, true: Mapping[Place, bool]
) -> bool:
    """Does a wrap of the obliged value, with all that it is computed from exact, make `assertion` false?

    `context`: where the value is obliged. `before`: where the assertion is reached, without it and without cases. `true`:
    conditions known there. Everything else is any value of its type, so that this holds whatever else wraps: the first
    value in program order that wraps has none before it."""
    if obligation.limits is not None:
        return False
    chosen = _chosen(obligation, context, before)
    if chosen is None:
        return False
    (low, high), cases = chosen
    place = computation(obligation.node), obligation.coordinates
    coordinates = before.lane_coordinates(assertion.shape)
    known = _arguments(before) | {where: (int(truth), int(truth)) for where, truth in {**true, **cases}.items()}
    return all(
        values is not None and _is_false(assertion, coordinates, {**known, place: values})
        for values in _wrapped(floor(low), ceil(high), obligation.type)
    )


def _arguments(before: Evaluator) -> dict[Place, Range]:
    """The arguments that arrive as they are, whatever the sizes."""
    found: dict[Place, Range] = {}
    for name, value in before.model.arguments.items():
        type_ = before.program.types.get(name)
        low, high = before.space.range_of(value)
        if isinstance(type_, ScalarType) and type_.is_integer and type_.minimum <= low and high <= type_.maximum:
            found[name, ()] = floor(low), ceil(high)
    return found


def _is_false(assertion: Node, coordinates: Coordinates, known: Mapping[Place, Range], splits: int = 0) -> bool:
    """Is the assertion false of the known values, whichever part of a range that wraps a value is in?"""
    try:
        return _Machine(known).of(assertion, coordinates)[1] == 0
    except _Split as split:
        place, parts = split.place, split.parts
    return splits < _MOST_SPLITS and all(
        _is_false(assertion, coordinates, {**known, place: part}, splits + 1) for part in parts
    )


def _chosen(obligation: Obligation, context: Evaluator, before: Evaluator) -> tuple[Range, dict[Place, bool]] | None:
    """The exact range of the value under the conditions that it depends on itself, as `context` decided them. They are
    computed before it is."""
    alone, cases = fork(before), dict[Place, bool]()
    while True:
        try:
            return alone.space.range_of(alone.value(obligation.node, obligation.coordinates)), cases
        except NeedsCase as undecided:
            condition, where = undecided.condition, undecided.coordinates
            truth = context.truth(condition, where)
            if truth is None or not conditions.assume(alone, list(conditions.literals(condition, where, truth))):
                return None
            alone.decide(condition, where, truth)
            cases[computation(condition), where] = truth


def computation(node: Node, depth: int = 6) -> object:
    """Equal for two nodes that compute the same of the same values: a mask written twice is one condition."""
    if depth:
        match node:
            case Constant(int() as value):
                return value, node.type, node.shape
            case Argument(name):
                return name
            case Broadcast() | Cast():
                return type(node), computation(node.operand, depth - 1), node.type, node.shape
            case Binary(operator, left, right):
                return operator, computation(left, depth - 1), computation(right, depth - 1), node.type
            case _:
                pass
    return id(node)


def conditions_known(node: Node, truth: bool) -> Iterator[tuple[object, bool]]:
    """A condition with its truth, and its opposite: where `o < n` holds, `o >= n` does not."""
    form = computation(node)
    yield form, truth
    if isinstance(node, Binary) and node.operator in conditions.NEGATED and isinstance(form, tuple):
        yield (conditions.NEGATED[node.operator], *form[1:]), not truth


def _wrapped(low: int, high: int, type_: ScalarType) -> Iterator[Range | None]:
    """What values outside of the type become; None for those further away than one wrap."""
    span = 1 << type_.bits
    if high > type_.maximum:
        yield (max(low, type_.maximum + 1) - span, high - span) if high - span <= type_.maximum else None
    if low < type_.minimum:
        yield (low + span, min(high, type_.minimum - 1) + span) if low + span >= type_.minimum else None


class _Split(Exception):
    """A value whose range wraps in the middle: it lies in one of two."""

    def __init__(self, parts: tuple[Range, Range]) -> None:
        super().__init__(parts)
        self.parts = parts
        self.place: Place = None, ()  # set where the value is computed


class _Machine:
    """Ranges of the values that the hardware computes, where a few are given."""

    def __init__(self, known: Mapping[Place, Range]) -> None:
        self._known = dict(known)

    def of(self, node: Node, coordinates: Coordinates, depth: int = 0) -> Range:
        place = computation(node), coordinates
        if place not in self._known:
            try:
                self._known[place] = _anything(node) if depth > _DEEPEST else self._compute(node, coordinates, depth + 1)
            except _Split as split:
                split.place = place if split.place[0] is None else split.place
                raise
        return self._known[place]

    def _compute(self, node: Node, coordinates: Coordinates, depth: int) -> Range:
        if not isinstance(node.type, ScalarType) or not node.type.is_integer:
            return _anything(node)
        match node:
            case Constant(int() as value):
                return int(value), int(value)
            case ExpandDims() | Broadcast() | Permute():
                return self.of(node.operand, operand_coordinates(node, coordinates), depth)
            case Cast(operand) if isinstance(operand.type, ScalarType) and operand.type.is_integer:
                return self._cast(node, self.of(operand, coordinates, depth), node.type.bits == 1 < operand.type.bits)
            case Invert(operand) if node.type.bits == 1:
                low, high = self.of(operand, coordinates, depth)
                return 1 - high, 1 - low
            case Where(condition, if_true, if_false):
                low, high = self.of(condition, coordinates, depth)
                chosen = [n for n, possible in ((if_true, high == 1), (if_false, low == 0)) if possible]
                ranges = [self.of(n, coordinates, depth) for n in chosen]
                return min(r[0] for r in ranges), max(r[1] for r in ranges)
            case Binary(_, left, right) if isinstance(left.type, ScalarType) and left.type.is_integer:
                return self._binary(node, self.of(left, coordinates, depth), self.of(right, coordinates, depth))
            case _:
                return _anything(node)

    def _cast(self, node: Cast, operand: Range, is_truth: bool) -> Range:
        if is_truth:
            return _truth(operand[0] > 0 or operand[1] < 0, operand == (0, 0))
        return _within(node, *operand)

    def _binary(self, node: Binary, left: Range, right: Range) -> Range:
        operator = node.operator
        if operator in COMPARISONS:
            return _compared(operator, left, right)
        match operator:
            case BinaryOperator.ADD:
                return _within(node, left[0] + right[0], left[1] + right[1])
            case BinaryOperator.SUBTRACT:
                return _within(node, left[0] - right[1], left[1] - right[0])
            case BinaryOperator.MULTIPLY:
                products = [a * b for a in left for b in right]
                return _within(node, min(products), max(products))
            case BinaryOperator.AND if node.type.bits == 1:
                return min(left[0], right[0]), min(left[1], right[1])
            case BinaryOperator.OR if node.type.bits == 1:
                return max(left[0], right[0]), max(left[1], right[1])
            case _:
                return _anything(node)


def _anything(node: Node) -> Range:
    if not isinstance(node.type, ScalarType) or not node.type.is_integer:
        return -1, 1  # floats and pointers are compared with nothing here
    return _EITHER if node.type.bits == 1 else (node.type.minimum, node.type.maximum)


def _within(node: Node, low: int, high: int) -> Range:
    """The range as the node's type holds it. Raises _Split where it wraps in the middle."""
    least, most = _anything(node)
    span = most - least + 1
    if high - low >= span:
        return least, most
    first, last = (least + (end - least) % span for end in (low, high))
    if first > last:
        raise _Split(((first, most), (least, last)))
    return first, last


def _truth(holds: bool, fails: bool) -> Range:
    return (1, 1) if holds else (0, 0) if fails else _EITHER


def _compared(operator: BinaryOperator, left: Range, right: Range) -> Range:
    below, not_above = left[1] < right[0], left[1] <= right[0]
    above, not_below = left[0] > right[1], left[0] >= right[1]
    same = left == right and left[0] == left[1]
    match operator:
        case BinaryOperator.LESS:
            return _truth(below, not_below)
        case BinaryOperator.LESS_EQUAL:
            return _truth(not_above, above)
        case BinaryOperator.GREATER:
            return _truth(above, not_above)
        case BinaryOperator.GREATER_EQUAL:
            return _truth(not_below, below)
        case BinaryOperator.EQUAL:
            return _truth(same, below or above)
        case BinaryOperator.NOT_EQUAL:
            return _truth(below or above, same)
        case _:
            return _EITHER


__all__ = ["Place", "conditions_known", "is_trapped"]
