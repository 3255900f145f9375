"""What a verdict can be checked by: the bound of a safe launch, the ranges in a faulty expression."""

from __future__ import annotations

from math import floor

from kernelscope.audit.claims import RequirementClaims
from kernelscope.audit.evaluation import Evaluator, NeedsCase, operand_coordinates
from kernelscope.audit.host import LaunchModel
from kernelscope.audit.kernel_text import KernelText, through_shapes
from kernelscope.audit.launch_analysis import LaunchAnalysis
from kernelscope.audit.results import Proof, RangedNode
from kernelscope.bounds.polynomial import Polynomial
from kernelscope.bounds.proof import Claim
from kernelscope.bounds.space import UNBOUNDED
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
    return _ranged(text, requirement.requirement.evaluator, obligation.node, obligation.coordinates, analysis.model, 0)


def _ranged(
    text: KernelText, evaluator: Evaluator, node: Node, coordinates: tuple[Polynomial, ...], model: LaunchModel,
    depth: int,
) -> RangedNode:  # fmt: skip
    while isinstance(node, ExpandDims | Broadcast | Permute):
        coordinates = operand_coordinates(node, coordinates)
        node = node.operand
    low, high = _value_range(evaluator, node, coordinates, tight=depth < 2)
    fits = True
    if isinstance(node.type, ScalarType) and node.type.is_integer:
        fits = low is not None and high is not None and node.type.minimum <= low and high <= node.type.maximum
    below: tuple[RangedNode, ...] = ()
    if depth < 5 and isinstance(node, Binary | Cast) and isinstance(node.type, ScalarType) and node.type.is_integer:
        parts = operands(node)
        if not (isinstance(node, Binary) and node.operator in (BinaryOperator.AND, BinaryOperator.OR)):
            below = tuple(_ranged(text, evaluator, part, coordinates, model, depth + 1) for part in parts)
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
        high = min([high, *(evaluator.space.maximum(b) for b in evaluator.space.upper_bounds(value)[:4])])
        low = max([low, *(-evaluator.space.maximum(b) for b in evaluator.space.upper_bounds(-value)[:4])])
    return (low if low > -UNBOUNDED else None), (high if high < UNBOUNDED else None)
