"""Loops: iteration numbers, counters, trip counts and carried variables as exact values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelscope.audit.coordinates import Coordinates, fitting
from kernelscope.audit.host import extreme_atom
from kernelscope.audit.obligation import Use
from kernelscope.bounds.polynomial import ONE, ZERO, Polynomial
from kernelscope.bounds.space import UNBOUNDED
from kernelscope.triton_source.index_program import (
    Carried,
    Loop,
    LoopCounter,
    Node,
    UnknownReason,
)

if TYPE_CHECKING:
    from kernelscope.audit.evaluation import Evaluator


def iteration(e: Evaluator, index: int) -> Polynomial:
    """The iteration number, from 0, of a loop whose body is executing."""
    if index not in e.loop_atoms:
        loop = e.program.loops[index]
        bounds: list[Polynomial] = []
        if loop.start is not None and loop.end is not None and loop.step is not None:
            bounds = _upwards(e, loop)
        atom = e.space.new_atom(f"iteration of {loop.name}", 0)
        atom.lowers.append(ZERO)
        e.loop_atoms[index] = atom.number
        if bounds:
            bound_iteration(e, atom.number, *bounds)
        elif loop.condition is not None:
            bound_while(e, atom.number, loop.condition)
        e.space.forget()
    return Polynomial.atom(e.loop_atoms[index])


def bound(e: Evaluator, loop: Loop, node: Node) -> Polynomial:
    previous, e.use = e.use, Use.LOOP
    try:
        return e.observe(node, (), None)
    finally:
        e.use = previous


def _upwards(e: Evaluator, loop: Loop) -> list[Polynomial]:
    """Start, end and step of a loop, exchanged where it counts down."""
    assert loop.start is not None and loop.end is not None and loop.step is not None
    start, end, step = (bound(e, loop, n) for n in (loop.start, loop.end, loop.step))
    return [end, start, -step] if loop.counts_down else [start, end, step]


def bound_iteration(e: Evaluator, number: int, start: Polynomial, end: Polynomial, step: Polynomial) -> None:
    atom = e.space.atoms[number]
    last = end - start - ONE
    if e.space.sign_range(step)[0] < 1:
        return
    atom.scaled_uppers.append((step, last))
    if e.space.is_of_sizes(step):
        for bound in e.space.upper_bounds(last, 3):
            if all(isinstance(c, int) for c in bound.terms.values()):
                quotient = e.space.divide(bound, step)
                if quotient is not None:
                    atom.uppers.append(quotient)


def bound_while(e: Evaluator, number: int, condition: Node) -> None:
    """Iteration k of a while loop begins only if the condition held at k - 1: where it says c*k <= r, c*k <= r + c."""
    from kernelscope.audit.conditions import literals, margins

    for literal in literals(condition, ()):
        for margin in margins(e, literal) or ():
            parts = margin.coefficients_of(number)
            factor = parts[1].constant_value if len(parts) == 2 else None
            if isinstance(factor, int) and factor < 0:
                limit = parts[0].plus(-factor)
                if e.lower_bound(limit) >= 0:
                    e.space.atoms[number].scaled_uppers.append((Polynomial.constant(-factor), limit))


def loop_counter(e: Evaluator, node: LoopCounter, coordinates: Coordinates) -> Polynomial:
    loop = e.program.loops[node.loop]
    if loop.start is None or loop.step is None:
        return e.any_value(node, UnknownReason.NOT_MODELLED, "the counter of a loop that is not followed")
    return bound(e, loop, loop.start) + bound(e, loop, loop.step) * iteration(e, node.loop)


def trip_count(e: Evaluator, loop: Loop) -> Polynomial | None:
    """Number of iterations, at least where the loop runs at all; None when the bounds are not known."""
    if loop.start is None or loop.end is None or loop.step is None:
        return None
    start, end, step = _upwards(e, loop)
    if e.space.sign_range(step)[0] < 1:
        return None
    return e.space.divide(end - start + step - ONE, step)


def carried(e: Evaluator, node: Carried, coordinates: Coordinates) -> Polynomial:
    step = e.value(node.step, fitting(node.step, coordinates))
    return e.value(node.initial, fitting(node.initial, coordinates)) + step * carried_count(e, node)


def carried_count(e: Evaluator, node: Carried) -> Polynomial:
    if not node.after:
        return iteration(e, node.loop)
    count = trip_count(e, e.program.loops[node.loop])
    if count is None:
        return e.unknown_atom(node, 0, UNBOUNDED)
    return extreme_atom(e.space, count, ZERO, least=False) if e.space.sign_range(count)[0] < 0 else count
