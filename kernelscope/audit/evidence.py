"""What a verdict can be checked by: the bound of a safe launch, the ranges in a faulty expression."""

from __future__ import annotations

from math import floor

from kernelscope.audit.claims import RequirementClaims
from kernelscope.audit.evaluation import Evaluator, NeedsCase, operand_coordinates
from kernelscope.audit.grid import launchable
from kernelscope.audit.kernel_text import KernelText, through_shapes
from kernelscope.audit.launch_analysis import LaunchAnalysis
from kernelscope.audit.results import Proof, RangedNode
from kernelscope.bounds.polynomial import Polynomial
from kernelscope.bounds.proof import Claim, Constraints
from kernelscope.bounds.space import UNBOUNDED, Space
from kernelscope.triton_source.index_program import (
    Binary,
    BinaryOperator,
    Broadcast,
    Cast,
    Constant,
    ExpandDims,
    Node,
    Permute,
)
from kernelscope.triton_source.operands import operands
from kernelscope.triton_source.scalar_types import ScalarType

_MOST_BOUNDS = 4
#: Above this the largest value of a tree's root is asked for under the limits of memory and grids too, which takes longer.
_REACHED = 1 << 38


def proof_of(text: KernelText, analysis: LaunchAnalysis) -> Proof | None:
    """The tightest bound of a safe launch: the expression that comes nearest to the limit of its type."""
    best: tuple[float, Proof] | None = None
    memory = () if analysis.model.memory is None else (analysis.model.memory,)
    for requirement in analysis.collected.requirements:
        obligation = requirement.obligation
        obligation.space.set_box(analysis.box)
        bounds = obligation.space.upper_bounds(obligation.exact)
        if not bounds:
            continue
        claims = Claim(obligation.space, tuple(bounds[:6]), obligation.maximum)
        bound = min(bounds[:6], key=lambda b: (Claim(obligation.space, (b,), 0).largest(memory) or 0, len(b.terms)))
        value = claims.largest(memory)
        if value is None:
            continue
        share = value / obligation.maximum if obligation.maximum else 0.0
        if best is None or share > best[0]:
            node = through_shapes(obligation.node)
            best = share, Proof(
                text.slice(node.span), text.location(node.span), obligation.type.name,
                obligation.space.text(bound), value, obligation.maximum,
            )  # fmt: skip
    return best[1] if best is not None else None


def range_tree(text: KernelText, requirement: RequirementClaims | None, analysis: LaunchAnalysis) -> RangedNode | None:
    if requirement is None or requirement.requirement.evaluator is None:
        return None
    obligation = requirement.requirement.obligation
    obligation.space.set_box(analysis.box)
    memory = () if analysis.model.memory is None else (analysis.model.memory,)
    constraints = memory + launchable(analysis.model)
    return _ranged(text, requirement.requirement.evaluator, obligation.node, obligation.coordinates, constraints, 0)


def _ranged(
    text: KernelText, evaluator: Evaluator, node: Node, coordinates: tuple[Polynomial, ...],
    constraints: Constraints, depth: int,
) -> RangedNode:  # fmt: skip
    while isinstance(node, ExpandDims | Broadcast | Permute):
        coordinates = operand_coordinates(node, coordinates)
        node = node.operand
    low, high = _value_range(evaluator, node, coordinates, tight=depth < 2)
    if depth == 0 and high is not None and high > _REACHED:  # seldom reached: memory is spent before
        high = min(high, least_bound(evaluator.space, evaluator.value(node, coordinates), constraints))
    fits = True
    if isinstance(node.type, ScalarType) and node.type.is_integer:
        fits = low is not None and high is not None and node.type.minimum <= low and high <= node.type.maximum
    below: tuple[RangedNode, ...] = ()
    if depth < 5 and isinstance(node, Binary | Cast) and isinstance(node.type, ScalarType) and node.type.is_integer:
        parts = operands(node)
        if not (isinstance(node, Binary) and node.operator in (BinaryOperator.AND, BinaryOperator.OR)):
            below = tuple(_ranged(text, evaluator, part, coordinates, constraints, depth + 1) for part in parts)
    shown = str(node.value) if isinstance(node, Constant) else text.slice(node.span)
    return RangedNode(shown, node.type.name, low, high, fits, below)


def _value_range(
    evaluator: Evaluator, node: Node, coordinates: tuple[Polynomial, ...], *, tight: bool
) -> tuple[int | None, int | None]:
    """The range of a node's exact value; `tight` keeps terms correlated, which takes longer."""
    try:
        value = evaluator.value(node, coordinates)
    except (NeedsCase, KeyError):
        return None, None
    low, high = (floor(end) for end in evaluator.space.range_of(value))
    if tight:
        high = min([high, *(evaluator.space.maximum(b) for b in evaluator.space.upper_bounds(value, _MOST_BOUNDS))])
        low = max([low, *(-evaluator.space.maximum(b) for b in evaluator.space.upper_bounds(-value, _MOST_BOUNDS))])
    return (low if low > -UNBOUNDED else None), (high if high < UNBOUNDED else None)


def least_bound(space: Space, value: Polynomial, constraints: Constraints) -> int:
    """The least upper bound of a value that is proved, at the sizes at which the constraints are not negative."""
    largest = Claim(space, space.upper_bounds(value, _MOST_BOUNDS), 0).largest(constraints)
    return UNBOUNDED if largest is None else largest
