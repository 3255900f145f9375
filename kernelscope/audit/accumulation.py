"""Variables to which a loop adds in each iteration what it counts there: bounds of the sum."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, floor
from typing import TYPE_CHECKING

from kernelscope.audit import iterations
from kernelscope.audit.coordinates import Coordinates
from kernelscope.audit.obligation import NeedsCase, Use
from kernelscope.bounds.polynomial import Polynomial
from kernelscope.bounds.space import UNBOUNDED, Range
from kernelscope.triton_source.index_program import (
    Binary,
    BinaryOperator,
    LoopCounter,
    Node,
    Opaque,
    UnknownReason,
    Where,
)
from kernelscope.triton_source.operands import operands

if TYPE_CHECKING:
    from kernelscope.audit.evaluation import Evaluator

_MOST_NODES = 2000


@dataclass(slots=True)
class _Update:
    """What an iteration may make of a variable: `amounts` that are added to it, `values` that it is set to, and the
    `conditions` that choose among them. `other`: something else."""

    amounts: list[Node] = field(default_factory=list)
    values: list[Node] = field(default_factory=list)
    conditions: list[tuple[Node, Coordinates]] = field(default_factory=list)
    other: bool = False


def accumulated(e: Evaluator, node: Opaque, coordinates: Coordinates) -> Polynomial | None:
    """At the start of iteration k a variable is the last value that it was set to, or its value before the loop, and at most k
    amounts more. None where that is not all that the loop makes of it, or an amount has no bound."""
    update = e.updates.get(id(node))
    if update is None or id(node) in e.accumulating:
        return None
    ranges = _Ranges(e, node)
    parts = _Update()
    _collect(update.end, node, ranges.anywhere.lane_coordinates(update.end.shape), parts)
    if parts.other or not ranges.oblige(parts.conditions):
        return None
    amounts, values = ranges.of(parts.amounts), ranges.of(parts.values)
    before = e.space.range_of(e.value(node.operands[0], coordinates))
    if amounts is None or values is None:
        return None
    least, most = min(low for low, _ in (before, *values)), max(high for _, high in (before, *values))
    down, up = min([0, *(low for low, _ in amounts)]), max([0, *(high for _, high in amounts)])
    if max(map(abs, (least, most, down, up))) >= UNBOUNDED:
        return None
    count = iterations.iteration(e, update.loop)
    lower = Polynomial.constant(floor(least)) + count.scaled(floor(down))
    upper = Polynomial.constant(ceil(most)) + count.scaled(ceil(up))
    atom = e.space.new_atom("sum over iterations", floor(e.space.range_of(lower)[0]), ceil(e.space.range_of(upper)[1]))
    atom.lowers.append(lower)
    atom.uppers.append(upper)
    e.unfollowed[atom.number] = (UnknownReason.WEAK_PROOF, "a sum over the iterations of a loop")
    return Polynomial.atom(atom.number)


def _collect(end: Node, start: Node, lanes: Coordinates, found: _Update) -> None:
    if isinstance(end, Where) and not _reads(end.condition, start):
        found.conditions.append((end.condition, lanes))
        _collect(end.if_true, start, lanes, found)
        _collect(end.if_false, start, lanes, found)
    elif end is start:
        return
    elif not _reads(end, start):
        found.values.append(end)
    elif isinstance(end, Binary) and end.operator is BinaryOperator.ADD and (end.left is start or end.right is start):
        amount = end.right if end.left is start else end.left
        found.amounts.append(amount)
        found.other = found.other or _reads(amount, start)
    else:
        found.other = True


def _reads(node: Node, start: Node) -> bool:
    """Whether a value is computed from `start` (or from too many others to tell)."""
    waiting, seen = [node], {id(node)}
    while waiting:
        current = waiting.pop()
        if current is start or len(seen) > _MOST_NODES:
            return True
        fresh = [n for n in operands(current) if id(n) not in seen]
        seen.update(map(id, fresh))
        waiting.extend(fresh)
    return False


class _Ranges:
    """Of values in any iteration, hence under no condition of this one."""

    def __init__(self, e: Evaluator, node: Opaque) -> None:
        from kernelscope.audit.evaluation import Evaluator

        self.anywhere = Evaluator(e.program, e.model, e.model.space.fork())
        self.anywhere.accumulating = e.accumulating | {id(node)}

    def of(self, nodes: list[Node]) -> list[Range] | None:
        """None where a value is not followed, or where something may be read wrong on the way."""
        found: list[Range] = []
        try:
            for node in nodes:
                value = self.anywhere.value(node, self.anywhere.lane_coordinates(node.shape))
                found.append(self.anywhere.space.range_of(value))
        except NeedsCase:
            return None
        return found if self._is_exact() else None

    def oblige(self, read: list[tuple[Node, Coordinates]]) -> bool:
        """Whether conditions are read right in every iteration: a wrapped one would choose otherwise."""
        from kernelscope.audit.conditions import observe

        try:
            for condition, lanes in read:
                observe(self.anywhere, condition, lanes)
        except NeedsCase:
            return False
        return self._is_exact()

    def _is_exact(self) -> bool:
        if self.anywhere.not_followed or self.anywhere.float_conversions:
            return False
        for obligation in self.anywhere.obligations:
            # bounds and counters of loops are obliged to be exact where the loop stands
            if obligation.use is Use.LOOP or isinstance(obligation.node, LoopCounter):
                continue
            low, high = self.anywhere.space.range_of(obligation.exact)
            if low < obligation.minimum or high > obligation.maximum:
                return False
        return True
