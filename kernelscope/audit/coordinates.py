"""Lane coordinates: where in a block a node is read."""

from __future__ import annotations

from kernelscope.bounds.polynomial import ZERO, Polynomial
from kernelscope.triton_source.index_program import Broadcast, ExpandDims, Node, Permute

Coordinates = tuple[Polynomial, ...]


def fitting(node: Node, coordinates: Coordinates) -> Coordinates:
    """The coordinates of a scalar (or narrower) node inside a wider context."""
    return coordinates[: len(node.shape)] if len(node.shape) != len(coordinates) else coordinates


def operand_coordinates(node: ExpandDims | Broadcast | Permute, coordinates: Coordinates) -> Coordinates:
    """Coordinates at which the operand of a shape operation is read."""
    operand = node.operand
    match node:
        case ExpandDims(_, axis):
            return coordinates[:axis] + coordinates[axis + 1 :]
        case Permute(_, order):
            inner = [ZERO] * len(order)
            for position, axis in enumerate(order):
                inner[axis] = coordinates[position]
            return tuple(inner)
        case Broadcast():
            if not operand.shape:
                return ()
            return tuple(
                ZERO if extent == 1 else coordinate
                for extent, coordinate in zip(operand.shape, coordinates, strict=True)
            )
