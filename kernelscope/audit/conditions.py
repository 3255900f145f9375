"""Conditions (masks, guards, assertions) as facts about exact values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kernelscope.audit.evaluation import Coordinates, Evaluator, operand_coordinates
from kernelscope.audit.float_facts import learn
from kernelscope.audit.inside_values import below, observe_inside
from kernelscope.bounds.polynomial import Polynomial
from kernelscope.bounds.space import UNBOUNDED
from kernelscope.triton_source.index_program import (
    COMPARISONS,
    Binary,
    BinaryOperator,
    Broadcast,
    Cast,
    Constant,
    ExpandDims,
    Invert,
    Node,
    Opaque,
    Permute,
    Reduce,
    UnknownReason,
    Where,
)
from kernelscope.triton_source.scalar_types import ScalarType

NEGATED = {
    BinaryOperator.LESS: BinaryOperator.GREATER_EQUAL,
    BinaryOperator.LESS_EQUAL: BinaryOperator.GREATER,
    BinaryOperator.GREATER: BinaryOperator.LESS_EQUAL,
    BinaryOperator.GREATER_EQUAL: BinaryOperator.LESS,
    BinaryOperator.EQUAL: BinaryOperator.NOT_EQUAL,
    BinaryOperator.NOT_EQUAL: BinaryOperator.EQUAL,
}
#: Operators on conditions, with whether they hold where the two differ.
_DIFFERENT = {BinaryOperator.NOT_EQUAL: True, BinaryOperator.XOR: True, BinaryOperator.EQUAL: False}


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A condition that is not a conjunction: `node` at `coordinates` is true (or false, if not `truth`)."""

    node: Node
    coordinates: Coordinates
    truth: bool


def literals(node: Node, coordinates: Coordinates, truth: bool = True) -> Iterator[Literal]:
    """The conjuncts of a condition."""
    match node:
        case Binary(BinaryOperator.AND, left, right) if truth and node.type.bits == 1:
            yield from literals(left, coordinates, truth)
            yield from literals(right, coordinates, truth)
        case Binary(BinaryOperator.OR, left, right) if not truth and node.type.bits == 1:
            yield from literals(left, coordinates, truth)
            yield from literals(right, coordinates, truth)
        case Invert(operand) if node.type.bits == 1:
            yield from literals(operand, coordinates, not truth)
        case ExpandDims() | Broadcast() | Permute():
            yield from literals(node.operand, operand_coordinates(node, coordinates), truth)
        case _:
            yield Literal(node, coordinates, truth)


def disjuncts(literal: Literal) -> tuple[tuple[Node, bool], ...]:
    """The alternatives of a disjunction, each with its truth; empty when the literal is none."""
    match literal.node:
        case Binary(BinaryOperator.OR, left, right) if literal.truth and literal.node.type.bits == 1:
            return (left, True), (right, True)
        case Binary(BinaryOperator.AND, left, right) if not literal.truth and literal.node.type.bits == 1:
            return (left, False), (right, False)
        case _:
            return ()


def observe(evaluator: Evaluator, node: Node, coordinates: Coordinates) -> None:
    """Oblige every comparison inside a condition to read exact operands."""
    match node:
        case Binary(operator, left, right) if operator in COMPARISONS:
            if not isinstance(left.type, ScalarType) or not left.type.is_integer:
                observe_inside(evaluator, left, coordinates)
                observe_inside(evaluator, right, coordinates)
                return
            if left.type.bits == 1:
                observe(evaluator, left, coordinates)
                observe(evaluator, right, coordinates)
                return
            if operator in (BinaryOperator.EQUAL, BinaryOperator.NOT_EQUAL):
                evaluator.observe_equality(node, coordinates)
                return
            evaluator.observe(left, coordinates, node)
            evaluator.observe(right, coordinates, node)
        case Binary(operator, left, right) if node.type.bits == 1:
            observe(evaluator, left, coordinates)
            observe(evaluator, right, coordinates)
            if operator in (BinaryOperator.ADD, BinaryOperator.SUBTRACT):  # true + true is false in one bit
                evaluator.observe(node, coordinates, node)
        case Invert(operand) if node.type.bits == 1:
            observe(evaluator, operand, coordinates)
        case ExpandDims() | Broadcast() | Permute():
            observe(evaluator, node.operand, operand_coordinates(node, coordinates))
        case Cast(operand) if isinstance(operand.type, ScalarType) and operand.type.is_integer:
            if operand.type.bits > 1:
                evaluator.observe_truth(node, coordinates)
            else:
                observe(evaluator, operand, coordinates)
        case Cast(operand):
            observe_inside(evaluator, operand, coordinates)
        case Reduce():
            below(evaluator, node, coordinates)
        case Opaque():
            below(evaluator, node, coordinates)
            if node.reason is UnknownReason.NOT_MODELLED:
                evaluator.leave(node)
        case Where(condition, if_true, if_false):
            for part in (condition, if_true, if_false):
                observe(evaluator, part, coordinates)
        case _:
            pass


def margins(evaluator: Evaluator, literal: Literal) -> tuple[Polynomial, ...] | None:
    """Polynomials that are all non-negative exactly when the literal holds; None when it is not such a comparison."""
    node = literal.node
    if not isinstance(node, Binary) or node.operator not in COMPARISONS:
        return None
    if not isinstance(node.left.type, ScalarType) or not node.left.type.is_integer or node.left.type.bits == 1:
        return None
    left = evaluator.value(node.left, literal.coordinates)
    right = evaluator.value(node.right, literal.coordinates)
    operator = node.operator if literal.truth else NEGATED[node.operator]
    match operator:
        case BinaryOperator.LESS:
            return ((right - left).plus(-1),)
        case BinaryOperator.LESS_EQUAL:
            return (right - left,)
        case BinaryOperator.GREATER:
            return ((left - right).plus(-1),)
        case BinaryOperator.GREATER_EQUAL:
            return (left - right,)
        case BinaryOperator.EQUAL:
            return right - left, left - right
        case _:
            return None


def decided(evaluator: Evaluator, literal: Literal) -> bool | None:
    """Whether a literal is known to hold (or not to) in this context."""
    known = evaluator.truth(literal.node, literal.coordinates)
    if known is not None:
        return known is literal.truth
    if isinstance(literal.node, Constant):
        return bool(literal.node.value) is literal.truth
    parts = margins(evaluator, literal)
    if parts is None:
        same = _compared_truths(evaluator, literal)
        return same if same is not None else _decided_disjunction(evaluator, literal)
    if any(_highest(evaluator, part) < 0 for part in parts):
        return False
    return True if all(evaluator.lower_bound(part) >= 0 for part in parts) else None


def holds(evaluator: Evaluator, condition: Node, coordinates: Coordinates) -> bool:
    """Is a condition known to be true in this context?"""
    return _decided_all(evaluator, list(literals(condition, coordinates))) is True


def decided_truth(evaluator: Evaluator, condition: Node, coordinates: Coordinates) -> bool | None:
    """Whether a condition is known to be true or false in this context; its comparisons must be exact."""
    observe(evaluator, condition, coordinates)
    holds = _decided_all(evaluator, list(literals(condition, coordinates)))
    if holds is not None:
        return holds
    fails = _decided_all(evaluator, list(literals(condition, coordinates, False)))
    return None if fails is None else not fails


def _is_condition(node: Node) -> bool:
    return isinstance(node.type, ScalarType) and node.type.is_integer and node.type.bits == 1


def _compared_truths(evaluator: Evaluator, literal: Literal) -> bool | None:
    """`(a < 0) != (b < 0)`, where both comparisons are decided."""
    node = literal.node
    if not isinstance(node, Binary) or node.operator not in _DIFFERENT or not _is_condition(node.left):
        return None
    left = decided_truth(evaluator, node.left, literal.coordinates)
    right = decided_truth(evaluator, node.right, literal.coordinates)
    if left is None or right is None:
        return None
    return ((left is not right) is _DIFFERENT[node.operator]) is literal.truth


def _decided_disjunction(evaluator: Evaluator, literal: Literal) -> bool | None:
    answers = [
        _decided_all(evaluator, list(literals(node, literal.coordinates, truth)))
        for node, truth in disjuncts(literal)
    ]
    if any(answer is True for answer in answers):
        return True
    return False if answers and all(answer is False for answer in answers) else None


def _decided_all(evaluator: Evaluator, parts: list[Literal]) -> bool | None:
    answers = [decided(evaluator, part) for part in parts]
    if any(answer is False for answer in answers):
        return False
    return True if all(answers) else None


def _highest(evaluator: Evaluator, polynomial: Polynomial) -> int:
    high = evaluator.space.range_of(polynomial)[1]
    if high < 0:
        return int(high)
    bounds = evaluator.space.upper_bounds(polynomial)
    return min((evaluator.space.maximum(b) for b in bounds), default=UNBOUNDED)


def assume(evaluator: Evaluator, facts: list[Literal]) -> bool:
    """Add literals as facts; False when they contradict each other, so that no lane is in this context."""
    waiting: list[Literal] = []
    for literal in facts:
        if disjuncts(literal):
            waiting.append(literal)
        elif not _assume_one(evaluator, literal):
            return False
    return all(_assume_disjunction(evaluator, literal) for literal in waiting)


def _assume_one(evaluator: Evaluator, literal: Literal) -> bool:
    known = evaluator.truth(literal.node, literal.coordinates)
    if known is not None:
        return known is literal.truth
    if isinstance(literal.node, Constant):
        return bool(literal.node.value) is literal.truth
    parts = margins(evaluator, literal)
    evaluator.decide(literal.node, literal.coordinates, literal.truth)
    if parts is None:
        if literal.truth:
            learn(evaluator, literal.node, literal.coordinates)
        return True
    for part in parts:
        if _highest(evaluator, part) < 0:
            return False
        evaluator.space.assume_non_negative(part)
    return True


def _assume_disjunction(evaluator: Evaluator, literal: Literal) -> bool:
    """`a | b` adds b where a is known to be false (`in range | ~mask` on a lane whose mask holds)."""
    evaluator.decide(literal.node, literal.coordinates, literal.truth)
    open_: list[list[Literal]] = []
    for node, truth in disjuncts(literal):
        parts = list(literals(node, literal.coordinates, truth))
        answer = _decided_all(evaluator, parts)
        if answer is True:
            return True
        if answer is None:
            open_.append(parts)
    if not open_:
        return False
    return assume(evaluator, open_[0]) if len(open_) == 1 else True
