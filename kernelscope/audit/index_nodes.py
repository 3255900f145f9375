"""Which nodes are made of indices: program ids, lanes, loop counters and sizes."""

from __future__ import annotations

from collections.abc import Iterable

from kernelscope.triton_source.index_program import (
    RUNNING_SUM,
    Absolute,
    Arange,
    Argument,
    Binary,
    Broadcast,
    Carried,
    Cast,
    Constant,
    ExpandDims,
    Invert,
    LoopCounter,
    LoopUpdate,
    Negate,
    Node,
    NumPrograms,
    Permute,
    PointerAdd,
    ProgramId,
    Reduce,
    Where,
)
from kernelscope.triton_source.operands import operands
from kernelscope.triton_source.scalar_types import ScalarType


class IndexNodes:
    """Answers about the nodes of one program, each found once."""

    def __init__(self, updates: Iterable[LoopUpdate] = ()) -> None:
        self.updates = {id(update.start): update.end for update in updates}
        self._pure: dict[int, bool] = {}
        self._holding: dict[int, bool] = {}

    def is_index(self, node: Node) -> bool:
        """Made of program ids, lanes, loop counters and sizes only, with at least one operation or size."""
        known = self._pure.get(id(node))
        if known is None:
            known = self._compute(node)
            self._pure[id(node)] = known
        return known

    def _compute(self, node: Node) -> bool:
        match node:
            case Constant(value):
                return isinstance(value, int)
            case Argument() | ProgramId() | NumPrograms() | Arange() | LoopCounter():
                return isinstance(node.type, ScalarType) and node.type.is_integer
            case Binary(_, left, right):
                return node.type.is_integer and self.is_index(left) and self.is_index(right)
            case Cast() | Negate() | Invert() | Absolute() | ExpandDims() | Broadcast() | Permute():
                return isinstance(node.type, ScalarType) and node.type.is_integer and self.is_index(node.operand)
            case Reduce(function, operand) if function != RUNNING_SUM:
                return node.type.is_integer and node.type.bits > 1 and self.is_index(operand)
            case Where(condition, if_true, if_false):
                return all(self.is_index(n) for n in (condition, if_true, if_false))
            case Carried(_, _, initial, step):
                return isinstance(node.type, ScalarType) and self.is_index(initial) and self.is_index(step)
            case _:
                return False

    def _below(self, node: Node) -> tuple[Node, ...]:
        """What a node is computed from, through earlier iterations of its loop as well."""
        update = self.updates.get(id(node))
        return operands(node) if update is None else (*operands(node), update)

    def holds_index(self, node: Node) -> bool:
        """Does an index-derived integer occur below this node of a stored value?"""
        waiting, seen = [node], {id(node)}
        while waiting:
            current = waiting.pop()
            known = self._holding.get(id(current))
            if known or (known is None and not isinstance(current, Constant) and self.is_index(current)):
                self._holding[id(node)] = True
                return True
            if known is None and not isinstance(current, PointerAdd):
                fresh = [n for n in self._below(current) if id(n) not in seen]
                seen.update(map(id, fresh))
                waiting.extend(fresh)
        self._holding[id(node)] = False
        return False


def observes(node: Cast) -> bool:
    """Does a conversion show the value of a narrower integer: to a float, or to a wider integer?"""
    target, source = node.type, node.operand.type
    if not isinstance(target, ScalarType) or not isinstance(source, ScalarType) or not source.is_integer:
        return False
    return not target.is_integer or target.bits > source.bits
