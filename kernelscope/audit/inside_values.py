"""Values that are not followed themselves (floats, scans, pointers compared): the integers that they are computed from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelscope.audit.coordinates import Coordinates, operand_coordinates
from kernelscope.audit.obligation import NotFollowed
from kernelscope.triton_source.index_program import (
    Binary,
    Broadcast,
    Cast,
    Constant,
    ExpandDims,
    Loaded,
    Node,
    Permute,
    UnknownReason,
    Where,
)
from kernelscope.triton_source.operands import operands
from kernelscope.triton_source.scalar_types import PointerType

if TYPE_CHECKING:
    from kernelscope.audit.evaluation import Evaluator

_DEEPEST = 60


def observe_inside(e: Evaluator, node: Node, coordinates: Coordinates, depth: int = 0) -> None:
    """Oblige every integer below a float, an opaque value or a pointer to be exact where it is read. Data from memory is
    the same for both arithmetics once its address is."""
    from kernelscope.audit.conditions import observe

    if isinstance(node, Constant | Loaded) or not e.first_inside(node, coordinates):
        return
    if depth > _DEEPEST:
        e.not_followed.append(NotFollowed(node, UnknownReason.WEAK_PROOF, "a value computed in too many steps"))
        return
    if isinstance(node.type, PointerType):
        e.pointer(node, coordinates)
    elif node.type.is_integer:
        if node.type.bits == 1:
            observe(e, node, coordinates)
        elif not made_of_data(node):
            e.observe(node, coordinates, None)
    elif isinstance(node, Where):
        observe(e, node.condition, coordinates)
        chosen = (node.if_true, node.if_false)
        for part in chosen:
            observe_inside(e, part, coordinates, depth + 1)
    elif isinstance(node, ExpandDims | Broadcast | Permute):
        observe_inside(e, node.operand, operand_coordinates(node, coordinates), depth + 1)
    else:
        below(e, node, coordinates, depth)


def below(e: Evaluator, node: Node, coordinates: Coordinates, depth: int = 0) -> None:
    """`observe_inside` of every operand, at the same lane where the shapes agree and at any lane otherwise."""
    for operand in operands(node):
        same = operand.shape == node.shape
        observe_inside(e, operand, coordinates if same else e.lane_coordinates(operand.shape), depth + 1)


def made_of_data(node: Node) -> bool:
    """Arithmetic on loaded values follows its own dtype, as in eager mode."""
    while isinstance(node, Cast | ExpandDims | Broadcast | Permute):
        node = node.operand
    if isinstance(node, Binary):
        return made_of_data(node.left) and made_of_data(node.right)
    return isinstance(node, Constant | Loaded)
