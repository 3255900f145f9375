"""Variables to which a loop adds in each iteration what it counts there: bounds of the sum."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, floor
from typing import TYPE_CHECKING

from kernelscope.audit import iterations
from kernelscope.audit.coordinates import Coordinates
from kernelscope.audit.obligation import NeedsCase, Use
from kernelscope.bounds.polynomial import Polynomial
from kernelscope.bounds.space import UNBOUNDED, Range
from kernelscope.triton_source.index_program import Binary, BinaryOperator, Node, Opaque, UnknownReason, Where
from kernelscope.triton_source.operands import operands

if TYPE_CHECKING:
    from kernelscope.audit.evaluation import Evaluator

_MOST_NODES = 2000


def accumulated(e: Evaluator, node: Opaque, coordinates: Coordinates) -> Polynomial | None:
    """At the start of iteration k a variable is the last value that it was set to, or its value before the loop, and at most k
    amounts more. None where that is not all that the loop makes of it, or an amount has no bound."""
    update = e.updates.get(id(node))
    if update is None or id(node) in e.accumulating:
        return None
    parts = list(_parts(update.end, node))
    if any(part is None for part in parts):
        return None
    amounts = _ranges(e, node, [part for part, adds in filter(None, parts) if adds])
    values = _ranges(e, node, [part for part, adds in filter(None, parts) if not adds])
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


def _parts(end: Node, start: Node) -> Iterator[tuple[Node, bool] | None]:
    """What a variable may become: each an amount that is added to it (True) or a value that it is set to; None for what is
    neither."""
    if isinstance(end, Where) and not _reads(end.condition, start):
        yield from _parts(end.if_true, start)
        yield from _parts(end.if_false, start)
    elif end is start:
        return
    elif not _reads(end, start):
        yield end, False
    elif isinstance(end, Binary) and end.operator is BinaryOperator.ADD and (end.left is start or end.right is start):
        amount = end.right if end.left is start else end.left
        yield None if _reads(amount, start) else (amount, True)
    else:
        yield None


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


def _ranges(e: Evaluator, node: Opaque, parts: list[Node]) -> list[Range] | None:
    """Of each value in any iteration, hence under no condition of this one. None where a value is not followed, or where it
    may be read wrong on the way."""
    from kernelscope.audit.evaluation import Evaluator

    anywhere = Evaluator(e.program, e.model, e.model.space.fork())
    anywhere.accumulating = e.accumulating | {id(node)}
    found: list[Range] = []
    try:
        for part in parts:
            found.append(anywhere.space.range_of(anywhere.value(part, anywhere.lane_coordinates(part.shape))))
    except NeedsCase:
        return None
    for obligation in anywhere.obligations:  # loop bounds are obliged to be exact where the loop stands
        low, high = anywhere.space.range_of(obligation.exact)
        if obligation.use is not Use.LOOP and (low < obligation.minimum or high > obligation.maximum):
            return None
    return None if anywhere.not_followed or anywhere.float_conversions else found
