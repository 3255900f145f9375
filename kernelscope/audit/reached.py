"""Whether the exact program comes to a place at a point: its loops run that far and its guards hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernelscope.audit.fault import holds
from kernelscope.audit.point import NotEvaluable, PointEvaluator
from kernelscope.triton_source.index_program import Node

#: Iterations of a `while` that are followed from the first.
_MOST_ITERATIONS = 256


def is_reached(exact: PointEvaluator, guards: Sequence[Node], loops: Sequence[int]) -> bool:
    """A condition on data counts as possible; what cannot be evaluated, as not reached."""
    try:
        return all(_iterates(exact, loop) for loop in loops) and all(holds(exact, guard, ()) for guard in guards)
    except NotEvaluable:
        return False


def _iterates(exact: PointEvaluator, number: int) -> bool:
    """Does the point's iteration of a loop begin? Of a `while`: does its condition hold before every earlier one?"""
    loop, point = exact.program.loops[number], exact.point
    iteration = point.iterations.get(number, 0)
    if loop.start is not None and loop.end is not None and loop.step is not None:
        start, end, step = (exact.value(node, ()) for node in (loop.start, loop.end, loop.step))
        reached = start + step * iteration
        return reached > end if loop.counts_down else reached < end
    if loop.condition is None or iteration > _MOST_ITERATIONS:
        return False
    before = (replace(point, iterations={**point.iterations, number: earlier}) for earlier in range(iteration))
    return all(
        holds(PointEvaluator(exact.program, earlier, wrapping=False), loop.condition, ()) for earlier in before
    )
