"""Structure of index-program nodes."""

from __future__ import annotations

from kernelscope.triton_source.index_program import (
    Absolute,
    Binary,
    Broadcast,
    Carried,
    Cast,
    ExpandDims,
    Invert,
    Negate,
    Node,
    Opaque,
    Permute,
    PointerAdd,
    Reduce,
    Where,
)


def operands(node: Node) -> tuple[Node, ...]:
    """The nodes that a node is computed from."""
    match node:
        case Binary(_, left, right):
            return left, right
        case Negate() | Invert() | Absolute() | Cast() | ExpandDims() | Broadcast() | Permute() | Reduce():
            return (node.operand,)
        case Where(condition, if_true, if_false):
            return condition, if_true, if_false
        case PointerAdd(pointer, offset):
            return pointer, offset
        case Carried():
            return node.initial, node.step
        case Opaque():
            return node.operands
        case _:
            return ()
