"""Which assertions tell something of an access."""

from __future__ import annotations

from collections.abc import Iterator

from kernelscope.triton_source.index_program import (
    Access,
    Assertion,
    Cast,
    IndexProgram,
    Loaded,
    Node,
    Opaque,
    Where,
)
from kernelscope.triton_source.operands import operands
from kernelscope.triton_source.scalar_types import ScalarType


class Assertions:
    """The assertions of one program by access. Assuming one takes a case for each value that it depends on, so that those of
    other data are left out, once each was obliged under the same mask."""

    def __init__(self, program: IndexProgram) -> None:
        self._program = program
        self._obliged: set[tuple[object, int]] = set()
        self._chosen: dict[int, list[Assertion]] = {}
        self._data = {id(a): {id(n) for n in _data(a.condition)} for a in program.assertions}

    def of(self, access: Access) -> list[Assertion]:
        """Those that hold where an access happens and that speak of what its address, mask or value is made of, and those
        that were not given for another access of the same mask, guards and loops."""
        if id(access) not in self._chosen:
            self._chosen[id(access)] = self._choose(access)
        return self._chosen[id(access)]

    def _choose(self, access: Access) -> list[Assertion]:
        place = (id(access.mask), access.pointer.shape, tuple(id(g) for g in access.guards), access.loops)
        chosen: list[Assertion] = []
        below: set[int] | None = None
        for assertion in self._program.assertions:
            if not self._holds_at(assertion, access):
                continue
            if (place, id(assertion)) in self._obliged:
                data = self._data[id(assertion)]
                below = _below(access) if below is None else below
                if data and not data & below:
                    continue
            self._obliged.add((place, id(assertion)))
            chosen.append(assertion)
        return chosen

    def _holds_at(self, assertion: Assertion, access: Access) -> bool:
        index = next(i for i, a in enumerate(self._program.accesses) if a is access)
        return (
            assertion.before_access <= index
            and assertion.loops == access.loops[: len(assertion.loops)]
            and {id(g) for g in assertion.guards} <= {id(g) for g in access.guards}
        )


def _data(condition: Node) -> Iterator[Node]:
    """What a condition says something of: loaded values, integers made from floats, selections."""
    waiting, seen = [condition], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Loaded | Where | Opaque) or (isinstance(node, Cast) and _is_float(node.operand)):
            yield node
        else:
            waiting.extend(operands(node))


def _is_float(node: Node) -> bool:
    return isinstance(node.type, ScalarType) and not node.type.is_integer


def _below(access: Access) -> set[int]:
    """The nodes that an access is made of."""
    waiting = [n for n in (access.pointer, access.mask, access.value, *access.guards) if n is not None]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            waiting.extend(operands(node))
    return seen


__all__ = ["Assertions"]
