"""What an index-program node is computed from."""

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
        case Binary():
            return node.left, node.right
        case Cast() | Broadcast() | ExpandDims() | Permute() | Negate() | Invert() | Absolute() | Reduce():
            return (node.operand,)
        case Where():
            return node.condition, node.if_true, node.if_false
        case PointerAdd():
            return node.pointer, node.offset
        case Carried():
            return node.initial, node.step
        case Opaque():
            return node.operands
        case _:
            return ()
