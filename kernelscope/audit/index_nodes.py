"""Which nodes are made of indices: program ids, lanes, loop counters and sizes."""

from __future__ import annotations

from kernelscope.triton_source.index_program import (
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
    Negate,
    Node,
    NumPrograms,
    Opaque,
    Permute,
    ProgramId,
    Where,
)
from kernelscope.triton_source.scalar_types import ScalarType


class IndexNodes:
    """Answers about the nodes of one program, each found once."""

    def __init__(self) -> None:
        self._pure: dict[int, bool] = {}

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
            case Where(condition, if_true, if_false):
                return all(self.is_index(n) for n in (condition, if_true, if_false))
            case Carried(_, _, initial, step):
                return isinstance(node.type, ScalarType) and self.is_index(initial) and self.is_index(step)
            case _:
                return False

    def holds_index(self, node: Node, depth: int = 0) -> bool:
        """Does an index-derived integer occur below this node of a stored value?"""
        if depth > 200 or isinstance(node, Constant):
            return depth > 200
        if self.is_index(node):
            return True
        match node:
            case Binary(_, left, right):
                return self.holds_index(left, depth + 1) or self.holds_index(right, depth + 1)
            case Cast() | Negate() | Invert() | Absolute() | ExpandDims() | Broadcast() | Permute():
                return self.holds_index(node.operand, depth + 1)
            case Where(condition, if_true, if_false):
                return any(self.holds_index(n, depth + 1) for n in (condition, if_true, if_false))
            case Opaque():
                return any(self.holds_index(n, depth + 1) for n in node.operands)
            case _:
                return False


def observes(node: Cast) -> bool:
    """Does a conversion show the value of a narrower integer: to a float, or to a wider integer?"""
    target, source = node.type, node.operand.type
    if not isinstance(target, ScalarType) or not isinstance(source, ScalarType) or not source.is_integer:
        return False
    return not target.is_integer or target.bits > source.bits
