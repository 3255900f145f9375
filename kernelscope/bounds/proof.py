"""Proofs over ranges of sizes, and the largest size up to which every size is proved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from kernelscope.bounds.polynomial import Polynomial, simplified
from kernelscope.bounds.space import Range, Space

Box = Mapping[int, Range]
#: Polynomials in sizes that are not negative at the sizes considered.
Constraints = tuple[Polynomial, ...]
_MOST_PARTS = 400
#: Quotients replaced one after another: three sizes halved twice, and the blocks of a grid.
_MOST_QUOTIENTS = 8
_MOST_WORK = 20_000  # boxes decided for one launch, after which proofs give up: no input may take unbounded time


@dataclass(frozen=True, slots=True)
class Claim:
    """`candidates` are upper bounds (polynomials in sizes) of one value that must not exceed `limit`; the claim holds where
    any of them does not. `space` holds the atoms they are made of."""

    space: Space
    candidates: tuple[Polynomial, ...]
    limit: int

    def largest(self, constraints: Constraints) -> int | None:
        """The least proved upper bound over the space's box, None when there is no bound."""
        values = [_maximum_under(self.space, c, constraints) for c in self.candidates]
        return min(values, default=None)

    def holds(self, constraints: Constraints) -> bool:
        """True when the bound is proved over the space's box."""
        ranges = [self.space.range_of(c) for c in self.candidates]
        if any(high <= self.limit for _, high in ranges):
            return True
        if all(low == high for low, high in ranges):
            return False  # the box is a point: the ranges are exact
        if any(self.space.maximum(c) <= self.limit for c in self.candidates):
            return True
        return bool(constraints) and any(
            _maximum_under(self.space, c, constraints) <= self.limit for c in self.candidates
        )


def _maximum_under(space: Space, polynomial: Polynomial, constraints: Constraints) -> int:
    """Upper bound of `polynomial` over the box where every constraint is non-negative (bytes left on the device, launch
    grids within CUDA's limits): for each term that the two share, p <= p + r * constraint with r chosen so that the term
    cancels. Quotients are first bounded by their numerators, so that terms can be shared."""
    best = space.maximum(polynomial)
    for relaxed in _relaxations(space, polynomial, constraints):
        best = min(best, space.maximum(relaxed))
        for constraint in constraints:
            shared = _with_shared_terms(space, relaxed, constraint)
            ratios: set[Fraction] = set()
            for monomial, coefficient in shared.terms.items():
                used = constraint.terms.get(monomial, 0)
                if monomial and used < 0 < coefficient:
                    ratios.add(Fraction(coefficient) / Fraction(-used))
            for ratio in ratios:
                best = min(best, space.maximum(shared + constraint.scaled(simplified(ratio))))
    return best


def _with_shared_terms(space: Space, polynomial: Polynomial, constraint: Polynomial) -> Polynomial:
    """An upper bound in which a term m that divides a term m*k of the constraint is written as m*k / min(k)."""
    terms = dict(polynomial.terms)
    for monomial, coefficient in polynomial.terms.items():
        if not monomial or coefficient <= 0 or monomial in constraint.terms:
            continue
        for wider, used in constraint.terms.items():
            rest = list(wider)
            if used >= 0 or len(wider) <= len(monomial) or any(a not in wider for a in monomial):
                continue
            for number in monomial:
                if number in rest:
                    rest.remove(number)
            least = 1
            for number in rest:
                least *= space.range_of_atom(number)[0]
            if len(rest) + len(monomial) == len(wider) and least >= 1 and _not_negative(space, monomial):
                terms.pop(monomial)
                share = simplified(Fraction(coefficient) / least)
                terms[wider] = terms.get(wider, 0) + share
                break
    return Polynomial.of({m: c for m, c in terms.items() if c})


def _not_negative(space: Space, monomial: tuple[int, ...]) -> bool:
    return all(space.range_of_atom(number)[0] >= 0 for number in monomial)


def _relaxations(space: Space, polynomial: Polynomial, constraints: Constraints) -> list[Polynomial]:
    """The polynomial, the one in which its quotients are replaced by upper bounds without rounding, and the one in which a
    quotient by a number is replaced by its largest value under the constraints."""
    result = [polynomial]
    relaxed = polynomial
    for _ in range(_MOST_QUOTIENTS):
        numbers = [n for n in relaxed.atoms() if space.atoms[n].quotient is not None]
        if not numbers:
            break
        capped = _capped_quotient(space, relaxed, max(numbers), constraints)
        if capped is not None:
            result.append(capped)
        replaced = space.without_rounding(relaxed, max(numbers))
        if replaced is None:
            break
        relaxed = replaced
        result.append(relaxed)
    return result


def _capped_quotient(
    space: Space, polynomial: Polynomial, number: int, constraints: Constraints
) -> Polynomial | None:
    definition = space.atoms[number].quotient
    divisor = definition[1].constant_value if definition is not None else None
    if definition is None or not isinstance(divisor, int) or space.sign_range(polynomial.derivative(number))[0] < 0:
        return None
    if any(space.atoms[n].quotient is not None for n in definition[0].atoms()):
        return None
    largest = _maximum_under(space, definition[0], constraints) // divisor
    return polynomial.substitute(number, Polynomial.constant(largest))


class Prover:
    """Decides claims over boxes of sizes at which every constraint is non-negative (bytes left on the device; launch
    grids within CUDA's limits)."""

    def __init__(self, space: Space, constraints: Constraints, steps: Mapping[int, tuple[int, int]]) -> None:
        self.space = space
        self.constraints = constraints
        self.steps = steps  # by symbol: (first value, spacing)
        self._falling: dict[Polynomial, bool] = {}
        self._work = 0

    def contracted(self, box: Box) -> dict[int, Range] | None:
        """`box` without values at which a constraint fails whatever the other sizes; None when nothing is left."""
        result = dict(box)
        for number, (low, high) in result.items():
            if low > high:
                return None
            if number in self.steps:
                first, step = self.steps[number]
                low, high = low + (first - low) % step, high - (high - first) % step
                if low > high:
                    return None
                result[number] = (low, high)
        for constraint in self.constraints:
            if not self._contract(constraint, result):
                return None
        return result

    def _contract(self, constraint: Polynomial, box: dict[int, Range]) -> bool:
        """Shrink the box to one constraint; False when nothing is left."""
        space = self.space
        space.set_box(box)
        low, high = space.range_of(constraint)
        if low >= 0:
            return True
        if high < 0 or space.maximum(constraint) < 0:
            return False
        numbers = space.atoms_below(constraint) & box.keys()
        falling = self._falls_with_sizes(constraint)
        for number in numbers:
            low, high = box[number]
            fits = self._fits_at_least_sizes if falling else self._fits
            if low == high or fits(constraint, box, number, high):
                continue
            if not fits(constraint, box, number, low):
                return False
            good, bad = low, high
            if falling and constraint.degree_of(number) == 1:
                most, least = (self._at_least_sizes(constraint, box, number, end) for end in (low, high))
                good, bad = low + floor(most * (high - low) / (most - least)), low + 1
            while bad - good > 1:
                middle = (good + bad) // 2
                good, bad = (middle, bad) if fits(constraint, box, number, middle) else (good, middle)
            if number in self.steps:
                first, step = self.steps[number]
                good -= (good - first) % step
            box[number] = (low, good)
        return True

    def _falls_with_sizes(self, constraint: Polynomial) -> bool:
        """Is the constraint tighter for larger sizes, whichever grows?"""
        if constraint not in self._falling:
            space = self.space
            with space.widest_box():
                self._falling[constraint] = all(
                    space.atoms[n].is_symbol and space.sign_range(constraint.derivative(n))[1] <= 0
                    for n in constraint.atoms()
                )
        return self._falling[constraint]

    def _fits_at_least_sizes(self, constraint: Polynomial, box: Box, number: int, value: int) -> bool:
        return self._at_least_sizes(constraint, box, number, value) >= 0

    def _at_least_sizes(self, constraint: Polynomial, box: Box, number: int, value: int) -> Fraction:
        known = self.space.box
        values = {n: (box[n] if n in box else known[n])[0] for n in constraint.atoms()}
        values[number] = value
        return Fraction(constraint.evaluate(values))

    def _fits(self, constraint: Polynomial, box: Box, number: int, value: int) -> bool:
        """Could sizes with this value keep the constraint, the other sizes being anywhere in the box?"""
        self.space.set_box({**box, number: (value, value)})
        return self.space.maximum(constraint) >= 0

    def counterexample(self, claims: Sequence[Claim], box: Box) -> dict[int, int] | Box | None:
        """None when every claim holds on the whole box; a point at which one does not; or the part of the box on which
        the proof gave up."""
        waiting: list[dict[int, Range]] = [dict(box)]
        parts = 0
        while waiting:
            part = self.contracted(waiting.pop())
            if part is None:
                continue
            parts += 1
            unsettled = self._unsettled(claims, part)
            if not unsettled:
                continue
            point = self._failing_point(unsettled, part)  # a corner takes less time than the constraints
            if point is not None:
                return point
            if not self._failing(unsettled, part):
                continue
            if parts > _MOST_PARTS or self._work > _MOST_WORK:
                return part
            waiting.extend(reversed(_halves(part)))
        return None

    def _unsettled(self, claims: Sequence[Claim], box: Box) -> list[Claim]:
        """The claims that do not hold on the box unless the constraints make them."""
        for space in {id(c.space): c.space for c in claims}.values():
            space.set_box(box)
        return [c for c in claims if not c.holds(())]

    def _failing(self, claims: Sequence[Claim], box: Box) -> list[Claim]:
        self._work += 1
        for space in {id(c.space): c.space for c in claims}.values():
            space.set_box(box)
        return [c for c in claims if not c.holds(self.constraints)]

    def _failing_point(self, claims: Sequence[Claim], box: Box) -> dict[int, int] | None:
        """A corner of the box at which a claim fails: all sizes largest, one largest and the others smallest, all
        smallest."""
        corners = [{n: (r[1], r[1]) for n, r in box.items()}]
        smallest = {n: (r[0], r[0]) for n, r in box.items()}
        if len(box) > 1:
            corners += [{**smallest, n: (r[1], r[1])} for n, r in box.items() if r[0] < r[1]]
        for corner in (*corners, smallest):
            inside = self.contracted(corner)
            if inside is not None and self._failing(claims, inside):
                return {n: r[0] for n, r in inside.items()}
        return None

    def proves(self, claims: Sequence[Claim], box: Box) -> bool:
        return self.counterexample(claims, box) is None

    def holds_at(self, claims: Sequence[Claim], box: Box) -> bool:
        """Do all claims hold on this box without splitting it (a point, or where one symbol is fixed)?"""
        inside = self.contracted(box)
        return inside is None or not self._failing(claims, inside)

    def largest_safe(self, claims: Sequence[Claim], number: int, box: Box) -> int | None:
        """The largest value T of a symbol such that all claims are proved for every value from the box's minimum to T,
        the other symbols anywhere in the box. minimum - step when the minimum itself fails; None when the whole range
        is proved."""
        low, high = box[number]
        first, step = self.steps.get(number, (low, 1))
        if not self._good(claims, number, box, low):
            return low - step
        while True:
            example = self.counterexample(claims, {**box, number: (low, high)})
            if example is None:
                return None if high == box[number][1] else high - (high - first) % step
            bad = example[number]
            if not isinstance(bad, int):  # the proof gave up here; sizes below were proved
                others_fixed = all(r[0] == r[1] for n, r in box.items() if n != number)
                return bad[0] - 1 - (bad[0] - 1 - first) % step if others_fixed else low - step
            high = self._last_good(claims, number, box, bad) if bad > low else low - step
            if high < low:
                return low - step

    def _last_good(self, claims: Sequence[Claim], number: int, box: Box, bad: int) -> int:
        """A value below `bad` after which the claims fail: by linear interpolation first, then by bisection."""
        low = box[number][0]
        good = low  # largest_safe has tried the minimum
        for guess in self._crossings(claims, number, box, low, bad):
            for value in (guess, guess + 1):
                if good < value < bad:
                    good, bad = (value, bad) if self._good(claims, number, box, value) else (good, value)
        while bad - good > 1:
            middle = (good + bad) // 2
            if self._good(claims, number, box, middle):
                good = middle
            else:
                bad = middle
        return good

    def _crossings(self, claims: Sequence[Claim], number: int, box: Box, low: int, high: int) -> list[int]:
        """Where each claim's bound would cross its limit if it grew linearly from `low` to `high`, least first."""
        found: set[int] = set()
        for claim in claims:
            values: list[int | None] = []
            for value in (low, high):
                claim.space.set_box({**box, number: (value, value)})
                values.append(min((claim.space.maximum(c) for c in claim.candidates), default=None))
            first, last = values
            if first is not None and last is not None and first <= claim.limit < last:
                found.add(low + (claim.limit - first) * (high - low) // (last - first))
        return sorted(found)

    def _good(self, claims: Sequence[Claim], number: int, box: Box, value: int) -> bool:
        slice_ = {**box, number: (value, value)}
        if self.holds_at(claims, slice_):
            return True
        others_free = any(r[0] != r[1] for n, r in slice_.items())
        return others_free and self.proves(claims, slice_)


def _halves(box: Box) -> list[dict[int, Range]]:
    """The box cut in two along its relatively longest side."""

    def length(item: tuple[int, Range]) -> Fraction:
        low, high = item[1]
        return Fraction(high - low, max(1, abs(low)))

    number, (low, high) = max(box.items(), key=length)
    if low >= high:
        return []
    middle = floor(Fraction(low + high, 2))
    return [{**box, number: (low, middle)}, {**box, number: (middle + 1, high)}]
