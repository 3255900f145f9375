"""Points at which a requirement may fail, from the structure of its expression and of the mask around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from kernelscope.audit import conditions
from kernelscope.audit.evaluation import Evaluator, NeedsCase
from kernelscope.audit.index_targets import index_targets, linear_part
from kernelscope.audit.obligations import Requirement
from kernelscope.bounds.polynomial import Polynomial
from kernelscope.bounds.space import UNBOUNDED, Space


class CandidatePoints:
    """Where to look for a failure of one requirement, the sizes being those of the space's box."""

    def __init__(self, requirement: Requirement, evaluator: Evaluator, space: Space) -> None:
        self._requirement = requirement
        self._evaluator = evaluator
        self._space = space

    def atoms(self) -> dict[int, tuple[int, int]]:
        """The free atoms (program ids, iterations, lanes, loaded values) with their numeric ranges here."""
        evaluator = self._evaluator
        numbers = [
            *evaluator.program_atoms.values(), *evaluator.loop_atoms.values(), *evaluator.lane_atoms.values(),
            *evaluator.loaded_atoms,
        ]  # fmt: skip
        return {n: self._space.range_of_atom(n) for n in numbers}

    def candidates(self) -> Iterator[dict[int, int]]:
        """Values of all free atoms, likely ones first; none where an atom has no value."""
        ranges = {n: r for n, r in self.atoms().items() if r[0] <= r[1]}
        if len(ranges) < len(self.atoms()):
            return
        bases = self._bases(ranges)
        in_bases = {n for base, _ in bases for n in base.atoms()}
        loose = [n for n in ranges if n not in in_bases]
        choices: list[list[dict[int, int]]] = []
        for base, targets in bases:
            choices.append([self._decoded(base, t, ranges) for t in targets])
        for number in loose:
            low, high = ranges[number]
            options = dict.fromkeys(v for v in (high, low) if abs(v) < UNBOUNDED)
            choices.append([{number: v} for v in options] or [{number: 0}])
        for combination in product(*choices):
            values: dict[int, int] = {}
            for part in combination:
                values.update(part)
            yield values

    def _bases(self, ranges: Mapping[int, tuple[int, int]]) -> list[tuple[Polynomial, list[int]]]:
        """Linear index expressions over free atoms, each with values worth trying (largest live index first)."""
        found: dict[Polynomial, set[int]] = {}
        limits: dict[Polynomial, set[tuple[int, int]]] = {}
        self._collect_bases(self._requirement.obligation.exact, ranges, found, limits, (1,))
        for polynomial in self._mask_polynomials():
            self._collect_bases(polynomial, ranges, found, limits, (1,))
        ordered = sorted(found, key=lambda b: (-len(b.atoms()), sorted(b.atoms())))
        taken: set[int] = set()
        result: list[tuple[Polynomial, list[int]]] = []
        for base in ordered:
            if base.atoms() & taken:
                continue
            taken |= base.atoms()
            top = self._top(base, ranges)
            if top is not None and top >= 0:
                targets = index_targets(top, sorted(found[base]), sorted(limits.get(base, ())))
                result.append((base, [*targets, *(t for t in self._wrapping(base) if t <= top and t not in targets)]))
        return result

    def _wrapping(self, base: Polynomial) -> tuple[int, ...]:
        """Where the observed value just leaves its type, and where it has come round to 0: a mask may hold only there."""
        obligation = self._requirement.obligation
        rest = self._at_sizes(obligation.exact) - base
        offset = rest.constant_value
        if not isinstance(offset, int):
            return ()
        first, round_ = obligation.type.maximum + 1 - offset, (1 << obligation.type.bits) - offset
        return tuple(t for t in (first, round_, round_ - 1, 2 * round_) if t > 0)

    def _at_sizes(self, polynomial: Polynomial) -> Polynomial:
        """The polynomial with the sizes' values in it."""
        for number in polynomial.atoms():
            if self._space.atoms[number].of_sizes:
                low, high = self._space.range_of_atom(number)
                if low == high:
                    polynomial = polynomial.substitute(number, Polynomial.constant(low))
        return polynomial

    def _top(self, base: Polynomial, ranges: Mapping[int, tuple[int, int]]) -> int | None:
        numeric = int(self._space.range_of(base)[1])
        bounds = [self._space.maximum(b) for b in self._space.upper_bounds(base)]
        top = min([numeric, *bounds])
        return top if top < UNBOUNDED else None

    def _mask_polynomials(self) -> list[Polynomial]:
        access = self._requirement.access
        if access is None or access.mask is None:
            return []
        coordinates = self._evaluator.lane_coordinates(access.mask.shape)
        result: list[Polynomial] = []
        for literal in conditions.literals(access.mask, coordinates):
            try:
                parts = conditions.margins(self._evaluator, literal)
            except NeedsCase:
                continue
            result.extend(parts or ())
        return result

    def _collect_bases(
        self, polynomial: Polynomial, ranges: Mapping[int, tuple[int, int]], found: dict[Polynomial, set[int]],
        limits: dict[Polynomial, set[tuple[int, int]]], periods: tuple[int, ...],
    ) -> None:  # fmt: skip
        for monomial in polynomial.terms:
            inner = [n for n in monomial if not self._space.atoms[n].of_sizes]
            for n in inner:
                atom = self._space.atoms[n]
                for pair in (atom.quotient, atom.remainder):
                    if pair is not None:
                        divisor = max(1, int(self._space.range_of(pair[1])[1]))
                        if pair is atom.remainder:
                            limits.setdefault(linear_part(pair[0], self._space, ranges), set()).add(
                                (divisor, int(self._space.range_of_atom(n)[1]))
                            )
                        self._collect_bases(
                            pair[0], ranges, found, limits, tuple(dict.fromkeys((*periods, *(p * divisor for p in periods))))
                        )
                for part in (atom.extremes or ())[:2]:
                    self._collect_bases(part, ranges, found, limits, periods)
        base = linear_part(polynomial, self._space, ranges)
        if base.terms:
            found.setdefault(base, set()).update(p for p in periods if p > 1)

    def _decoded(self, base: Polynomial, target: int, ranges: Mapping[int, tuple[int, int]]) -> dict[int, int]:
        """Atom values whose weighted sum comes as near to `target` from below as their ranges allow."""
        values: dict[int, int] = {}
        rest = target
        for (number,), weight in sorted(base.terms.items(), key=lambda item: -item[1]):
            low, high = ranges[number]
            value = max(low, min(high, rest // int(weight)))
            values[number] = value
            rest -= value * int(weight)
        return values
