"""What the accesses, loops and conditions of a program are computed from."""

from __future__ import annotations

from collections.abc import Iterator

from kernelscope.triton_source.index_program import AccessKind, Argument, IndexProgram, Node
from kernelscope.triton_source.operands import operands
from kernelscope.triton_source.scalar_types import PointerType


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


def pointers_written(program: IndexProgram) -> set[str]:
    """The pointer arguments through which a program may store, atomically or not."""
    written: set[str] = set()
    waiting = [access.pointer for access in program.accesses if access.kind is not AccessKind.LOAD]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Argument):
            written.add(node.name)
        waiting.extend(child for child in operands(node) if isinstance(child.type, PointerType))
    return written


def arguments_used(program: IndexProgram) -> list[Argument]:
    """The arguments that anything depends on."""
    return [node for node in reachable(program) if isinstance(node, Argument)]
