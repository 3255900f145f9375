"""Which operation is at fault at a point, and whether a lane is live there."""

from __future__ import annotations

from kernelscope.audit.node_values import RING
from kernelscope.audit.point import NotEvaluable, PointEvaluator, Undefined, inner_lanes
from kernelscope.triton_source.index_program import (
    COMPARISONS,
    Access,
    Argument,
    Binary,
    BinaryOperator,
    Broadcast,
    Carried,
    Cast,
    ExpandDims,
    IndexProgram,
    Loaded,
    Negate,
    Node,
    Opaque,
    Permute,
    Reduce,
)
from kernelscope.triton_source.operands import operands
from kernelscope.triton_source.scalar_types import ScalarType


def is_live(evaluator: PointEvaluator, access: Access, lanes: tuple[int, ...]) -> bool:
    """Is a lane live? A condition on data counts as possible; one on what the kernel makes of its indices alone, in a way
    that is not followed, raises NotEvaluable."""
    for guard in access.guards:
        if not holds(evaluator, guard, ()):
            return False
    return access.mask is None or holds(evaluator, access.mask, lanes)


def holds(evaluator: PointEvaluator, condition: Node, lanes: tuple[int, ...]) -> bool:
    """As `is_live`, of one condition."""
    match condition:
        case Binary(BinaryOperator.AND, left, right) if condition.type.bits == 1:
            return holds(evaluator, left, lanes) and holds(evaluator, right, lanes)
        case ExpandDims() | Broadcast() | Permute():
                    return holds(evaluator, condition.operand, inner_lanes(condition, lanes))
        case _:
            try:
                return bool(evaluator.value(condition, lanes))
            except Undefined:
                raise
            except NotEvaluable:
                if _is_made_of_indices(condition, evaluator.program):
                    raise
                return True


def _is_made_of_indices(condition: Node, program: IndexProgram) -> bool:
    """Does a condition that cannot be evaluated read an integer that is not followed, and nothing from memory?"""
    waiting, seen, found = [condition], {id(condition)}, False
    while waiting:
        node = waiting.pop()
        if isinstance(node, Loaded):
            return False
        integer = isinstance(node.type, ScalarType) and node.type.is_integer and node.type.bits > 1
        found = found or integer and (
            isinstance(node, Opaque | Reduce) or isinstance(node, Carried) and program.loops[node.loop].is_while
        )
        for child in operands(node):
            if id(child) not in seen:
                seen.add(id(child))
                waiting.append(child)
    return found


def faulty_operation(
    exact: PointEvaluator, machine: PointEvaluator, node: Node, lanes: tuple[int, ...]
) -> tuple[Node, int, int]:
    """The innermost faulty operation; of an equality, that of the operand that wraps."""
    if isinstance(node, Binary) and node.operator in COMPARISONS:
        for side in (node.left, node.right):
            if exact.value(side, lanes) != machine.value(side, lanes):
                return innermost(exact, machine, side, lanes)
    return innermost(exact, machine, node, lanes)


def innermost(
    exact: PointEvaluator, machine: PointEvaluator, node: Node, lanes: tuple[int, ...]
) -> tuple[Node, int, int]:
    """The deepest operation inside `node` whose exact value already leaves its type, following the chain of
    additions, subtractions, multiplications and same-width conversions; with its exact and wrapped value."""
    here = (node, exact.value(node, lanes), machine.value(node, lanes))
    children: list[tuple[Node, tuple[int, ...]]] = []
    match node:
        case Binary(operator, left, right) if operator in RING:
            children = [(left, lanes), (right, lanes)]
        case Negate(operand):
            children = [(operand, lanes)]
        case Cast(operand) if isinstance(operand.type, ScalarType) and operand.type.is_integer:
            children = [(operand, lanes)]
        case ExpandDims() | Broadcast() | Permute():
            children = [(node.operand, inner_lanes(node, lanes))]
        case _:
            pass
    for child, child_lanes in children:
        if not isinstance(child.type, ScalarType) or not child.type.is_integer:
            continue
        try:
            value = exact.value(child, child_lanes)
        except NotEvaluable:
            continue
        if not child.type.minimum <= value <= child.type.maximum and not isinstance(child, Argument):
            return innermost(exact, machine, child, child_lanes)
    for child, child_lanes in children:
        if isinstance(child, Argument) and isinstance(child.type, ScalarType):
            value = exact.value(child, child_lanes)
            if not child.type.minimum <= value <= child.type.maximum:
                return child, value, machine.value(child, child_lanes)
    return here
