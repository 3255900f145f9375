"""What the accesses, loops and conditions of a program are computed from."""

from __future__ import annotations

from collections.abc import Iterator

from kernelscope.triton_source.index_program import Argument, IndexProgram, Node
from kernelscope.triton_source.operands import operands


def roots(program: IndexProgram) -> Iterator[Node]:
    """The expressions that decide what a program does: pointers, masks, values, loop bounds, branch conditions."""
    for access in program.accesses:
        yield from (n for n in (access.pointer, access.mask, access.value, access.other) if n is not None)
        yield from access.guards
    for loop in program.loops:
        yield from (n for n in (loop.start, loop.end, loop.step, loop.condition) if n is not None)
    for observation in program.observations:
        yield observation.condition
    for assertion in program.assertions:
        yield assertion.condition


def reachable(program: IndexProgram) -> Iterator[Node]:
    """Every node below the roots, once."""
    seen: set[int] = set()
    waiting = list(roots(program))
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            waiting.extend(operands(node))


def arguments_used(program: IndexProgram) -> list[Argument]:
    """The arguments that anything depends on."""
    return [node for node in reachable(program) if isinstance(node, Argument)]
