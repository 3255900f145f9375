"""A witness of a loop that never ends: a program whose counter, one step past the last iteration, wraps below the end.

Every point is evaluated exactly and as the hardware does; the counter is what it becomes from the bounds as they arrive."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from kernelscope.audit.point import NotEvaluable, Point, PointEvaluator
from kernelscope.triton_source.index_program import IndexProgram, Loop, LoopCounter, Node, ProgramId
from kernelscope.triton_source.operands import operands
from kernelscope.triton_source.scalar_types import ScalarType

#: Program ids of one axis that are tried: all of a grid of this size, else the first and the last ones.
_MOST_PROGRAMS = 1024


def endless_point(program: IndexProgram, loop: Loop, start: Point) -> tuple[Point, int] | None:
    """A point, and the counter's exact value past the last iteration, at which the loop does not end; `start` gives grid,
    arguments and loaded values."""
    below = list(_below([loop.start, loop.end, loop.step, *loop.guards], program))
    axes = {node.axis for node in below if isinstance(node, ProgramId)}
    around = {node.loop for node in below if isinstance(node, LoopCounter)} | set(loop.loops)
    for ids in _program_ids(axes, start.num_programs):
        point = Point(ids, start.num_programs, start.arguments, start.machine_arguments, dict.fromkeys(around, 0), start.loaded)
        try:
            exact = _past_the_last(PointEvaluator(program, point, wrapping=False), loop)
            machine = PointEvaluator(program, point, wrapping=True)
            if exact is not None and _runs(machine, loop) and _is_endless(machine, loop):
                return point, exact
        except (NotEvaluable, RecursionError):
            continue
    return None


def _below(roots: list[Node | None], program: IndexProgram) -> Iterator[Node]:
    seen: set[int] = set()
    waiting = [node for node in roots if node is not None]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        waiting.extend(operands(node))
        if isinstance(node, LoopCounter):
            outer = program.loops[node.loop]
            waiting.extend(n for n in (outer.start, outer.step) if n is not None)


def _program_ids(axes: set[int], grid: tuple[int, int, int]) -> Iterator[tuple[int, int, int]]:
    choices = []
    most = _MOST_PROGRAMS if len(axes) < 2 else 32
    for axis in range(3):
        size = grid[axis] if axis in axes else 1
        if size <= most:
            choices.append(list(range(size)))
        else:
            choices.append([*range(most // 2), *range(size - most // 2, size)])
    yield from product(*choices)


def _bounds(evaluator: PointEvaluator, loop: Loop) -> tuple[int, int, int]:
    """Start, end and step of a loop that counts up; triton runs one that counts down from its end to its start."""
    if loop.start is None or loop.end is None or loop.step is None:
        raise NotEvaluable("while loop")
    start, end, step = (evaluator.value(node, ()) for node in (loop.start, loop.end, loop.step))
    if loop.runs_from_its_end:
        return end, start, -step
    if step <= 0:
        raise NotEvaluable("a loop that does not come nearer to its end, or a while that counts down")
    return start, end, step


def _past_the_last(evaluator: PointEvaluator, loop: Loop) -> int | None:
    """The counter after the last iteration; None where the loop does not run."""
    start, end, step = _bounds(evaluator, loop)
    return None if start >= end else start + ((end - 1 - start) // step + 1) * step


def _runs(evaluator: PointEvaluator, loop: Loop) -> bool:
    return all(evaluator.value(guard, ()) for guard in loop.guards)


def _is_endless(machine: PointEvaluator, loop: Loop) -> bool:
    past = _past_the_last(machine, loop)
    end = _bounds(machine, loop)[1]
    kind: ScalarType = loop.counter_type
    return past is not None and not kind.minimum <= past <= kind.maximum and kind.wrap(past) < end
