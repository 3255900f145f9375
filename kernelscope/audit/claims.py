"""Requirements as claims that the prover can decide: upper bounds in sizes against the limits of a type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

from kernelscope.audit.obligations import Requirement
from kernelscope.bounds.polynomial import Polynomial
from kernelscope.bounds.proof import Claim
from kernelscope.bounds.space import Space
from kernelscope.triton_source.index_program import UnknownReason

_KEPT_CANDIDATES = 5
_MOST_EXTREMES = 3

BUFFER_RULE = (
    "buffer rule: the exact offset of every access lies inside its buffer (as in eager mode), so that an index loaded from "
    "memory or made from a float, and every non-negative part of such an offset, stays below the buffer's extent"
)


@dataclass(frozen=True, slots=True)
class RequirementClaims:
    """A requirement that numeric ranges alone do not settle. `rule`: the buffer rule was needed. `missing`: why there is
    no bound at all (then `claims` is empty)."""

    requirement: Requirement
    claims: tuple[Claim, ...]
    rule: bool = False
    missing: tuple[UnknownReason, str] | None = None


def claims_of(requirement: Requirement) -> RequirementClaims | None:
    """The claims of a requirement over its space's current box; None when it holds by numeric range alone."""
    obligation = requirement.obligation
    space, exact = obligation.space, obligation.exact
    low, high = space.range_of(exact)
    minimum, maximum = obligation.minimum, obligation.maximum
    if minimum <= low and high <= maximum or _product_fits(space, exact, minimum, maximum):
        return None
    claims: list[Claim] = []
    rule = False
    for polynomial, limit, done in ((exact, maximum, high <= maximum), (-exact, -minimum, minimum <= low)):
        if done:
            continue
        candidates = pruned(space, space.upper_bounds(polynomial), limit)
        if not candidates or _needs_rule(requirement, space, candidates, limit):
            ruled = _under_buffer_rule(requirement, polynomial, limit)
            if ruled is not None:
                claims.append(ruled)
                rule = True
                continue
        if not candidates:
            return RequirementClaims(requirement, (), missing=_missing(requirement))
        claims.append(Claim(space, candidates, limit))
    return RequirementClaims(requirement, tuple(claims), rule)


def _product_fits(space: Space, exact: Polynomial, minimum: int, maximum: int) -> bool:
    """Is the value a product of two factors whose ranges settle it (`(min(h, 2*y) - 2*y)*(min(w, 2*x) - 2*x)`, written
    out)?"""
    if len(exact.terms) < 4:
        return False
    for number in exact.atoms():
        parts = exact.coefficients_of(number)
        if space.atoms[number].of_sizes or len(parts) != 2 or len(parts[1].terms) < 2:
            continue
        other = exact.rational_quotient(parts[1])
        if other is not None and other.is_integral:
            first, second = _tight_range(space, parts[1]), _tight_range(space, other)
            corners = [a * b for a in first for b in second]
            return minimum <= min(corners) and max(corners) <= maximum
    return False


def _tight_range(space: Space, polynomial: Polynomial, depth: int = 0) -> tuple[int, int]:
    """A range with terms kept correlated; a minimum or maximum is one of its two values."""
    low, high = (floor(end) for end in space.range_of(polynomial))
    high = min([high, *(space.maximum(b) for b in space.upper_bounds(polynomial))])
    low = max([low, *(-space.maximum(b) for b in space.upper_bounds(-polynomial))])
    for number in polynomial.atoms() if depth < _MOST_EXTREMES else ():
        extremes = space.atoms[number].extremes
        if extremes is not None:
            both = [_tight_range(space, polynomial.substitute(number, value), depth + 1) for value in extremes[:2]]
            return max(low, min(end for end, _ in both)), min(high, max(end for _, end in both))
    return low, high


def _missing(requirement: Requirement) -> tuple[UnknownReason, str]:
    evaluator = requirement.evaluator
    if evaluator is not None:
        for number in sorted(requirement.obligation.space.atoms_below(requirement.obligation.exact)):
            if number in evaluator.unfollowed:
                return evaluator.unfollowed[number]
    return UnknownReason.WEAK_PROOF, "no bound of this expression in sizes was found"


def unfollowed_reason(requirement: Requirement) -> tuple[UnknownReason, str] | None:
    """Why a value that the requirement depends on is not followed, if there is one."""
    evaluator = requirement.evaluator
    if evaluator is None:
        return None
    numbers = requirement.obligation.space.atoms_below(requirement.obligation.exact)
    return next((evaluator.unfollowed[n] for n in sorted(numbers) if n in evaluator.unfollowed), None)


def _rule_applies(requirement: Requirement) -> bool:
    """The buffer rule speaks of values from memory or from floats only: nothing else may be unknown in the offset."""
    evaluator = requirement.evaluator
    if evaluator is None or requirement.buffer is None:
        return False
    space = requirement.obligation.space
    below = space.atoms_below(requirement.obligation.exact) | space.atoms_below(requirement.buffer[0])
    unknown = below & evaluator.unfollowed.keys()
    return bool(unknown) and unknown <= evaluator.loaded_atoms.keys() | evaluator.float_atoms


def _needs_rule(requirement: Requirement, space: Space, candidates: Sequence[Polynomial], limit: int) -> bool:
    """A loaded or float index whose type's own range is all that bounds it."""
    if requirement.buffer is None or not _rule_applies(requirement):
        return False
    return all(space.maximum(c) > limit for c in candidates)


def _under_buffer_rule(requirement: Requirement, polynomial: Polynomial, limit: int) -> Claim | None:
    if requirement.buffer is None or not _rule_applies(requirement):
        return None
    offset, extent = requirement.buffer
    space = requirement.obligation.space.fork()
    space.assume_non_negative(extent - offset - Polynomial.constant(1))
    space.assume_non_negative(offset)
    candidates = pruned(space, space.upper_bounds(polynomial), limit)
    return Claim(space, candidates, limit) if candidates else None


def pruned(space: Space, candidates: Sequence[Polynomial], limit: int) -> tuple[Polynomial, ...]:
    """The candidates worth keeping: the simplest, and the least ones at a few sizes of the box."""
    if len(candidates) <= _KEPT_CANDIDATES:
        return tuple(sorted(candidates, key=lambda c: len(c.terms)))
    box = dict(space.box)
    kept: dict[Polynomial, None] = {}
    try:
        for point in _sample_points(box):
            space.set_box(point)
            kept[min(candidates, key=lambda c: (space.maximum(c), len(space.atoms_below(c))))] = None
    finally:
        space.set_box(box)
    for candidate in sorted(candidates, key=lambda c: len(c.terms)):
        if len(kept) >= _KEPT_CANDIDATES:
            break
        kept[candidate] = None
    return tuple(sorted(kept, key=lambda c: len(c.terms)))


def _sample_points(box: dict[int, tuple[int, int]]) -> list[dict[int, tuple[int, int]]]:
    middle = {n: (min(r[1], max(r[0], 1) * 37 + 1),) * 2 for n, r in box.items()}
    return [{n: (r[1], r[1]) for n, r in box.items()}, {n: (r[0], r[0]) for n, r in box.items()}, middle]
