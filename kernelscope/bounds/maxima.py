"""Maxima of polynomials in sizes over a box.

For each polynomial a plan is made once, over the widest box considered: variants that bound it (quotients replaced by
their definitions without rounding), each with the corner of the box at which it is largest, by the signs of its
derivatives. On a smaller box the plan only has to be evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor
from typing import TYPE_CHECKING

from kernelscope.bounds.polynomial import ONE, Polynomial

if TYPE_CHECKING:
    from kernelscope.bounds.space import Space

_MOST_VARIANTS = 8
#: Signs of factors are maxima themselves: how far that goes (bounds that name each other would go on for ever).
_DEEPEST = 12


@dataclass(frozen=True, slots=True)
class _Variant:
    """`polynomial` times `scale` has the integer `terms`. `corner`: for each atom, whether it is taken at its upper end;
    None where a derivative changes its sign."""

    polynomial: Polynomial
    scale: int
    terms: tuple[tuple[int, tuple[int, ...]], ...]
    corner: tuple[tuple[int, bool], ...] | None


class Maxima:
    """Upper bounds over the box of one space."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._plans: dict[Polynomial, tuple[_Variant, ...]] = {}
        self._rough: dict[Polynomial, tuple[_Variant, ...]] = {}
        self._depth = 0
        #: Plans that every copy of the space shares, and the symbols that they are made of.
        self._shared: dict[Polynomial, tuple[_Variant, ...]] = {}
        self._symbols: frozenset[int] = frozenset()

    def fork(self, space: Space) -> Maxima:
        """For a copy of the space. A plan of symbols alone depends on their ranges only, so that it is shared."""
        if not self._symbols:
            self._symbols = frozenset(self.space.root)
        copy = Maxima(space)
        copy._shared, copy._symbols = self._shared, self._symbols
        return copy

    def maximum(self, polynomial: Polynomial) -> int:
        """An upper bound over the current box; exact at a point, and where it is monotone in every symbol."""
        low, high = self.space.range_of(polynomial)
        if low == high:
            return floor(high)
        plan = self._plans.get(polynomial) or self._rough.get(polynomial) or self._made(polynomial)
        if len(plan) == 1:
            return self._evaluate(plan[0])
        return min([self._evaluate(variant) for variant in plan])

    def _evaluate(self, variant: _Variant) -> int:
        if variant.corner is None:
            return self._split_by_sign(variant.polynomial)
        values = {number: self.space.range_of_atom(number)[upper] for number, upper in variant.corner}
        total = 0
        for coefficient, monomial in variant.terms:
            for number in monomial:
                coefficient *= values[number]
            total += coefficient
        return total // variant.scale

    # -- plans --------------------------------------------------------------------------------------------------------

    def _made(self, polynomial: Polynomial) -> tuple[_Variant, ...]:
        if self._depth >= _DEEPEST:
            self._rough[polynomial] = (_Variant(polynomial, 1, (), None),)
            return self._rough[polynomial]
        of_symbols = self._symbols.issuperset(polynomial.atoms())
        if of_symbols and polynomial in self._shared:
            plan = self._plans[polynomial] = self._shared[polynomial]
            return plan
        self._depth += 1
        plan = self._plan(polynomial)
        self._depth -= 1
        if self._depth == 0:
            self._rough.clear()
        self._plans[polynomial] = plan
        if of_symbols:
            self._shared[polynomial] = plan
        return plan

    def _plan(self, polynomial: Polynomial) -> tuple[_Variant, ...]:
        with self.space.widest_box():
            found = [polynomial]
            for variant in found:
                if len(found) < _MOST_VARIANTS:
                    found.extend(v for v in self._replaced(variant) if v not in found)
            return tuple(self._variant(v) for v in found[:_MOST_VARIANTS])

    def _variant(self, polynomial: Polynomial) -> _Variant:
        scale = polynomial.denominator
        terms = tuple((n, m) for m, n in polynomial.numerators.items())
        corner: list[tuple[int, bool]] = []
        for number in sorted(polynomial.atoms()):
            low, high = self.space.sign_range(polynomial.derivative(number))
            if low < 0 < high:
                return _Variant(polynomial, scale, terms, None)
            corner.append((number, low >= 0))
        return _Variant(polynomial, scale, terms, tuple(corner))

    def _replaced(self, polynomial: Polynomial) -> list[Polynomial]:
        """The polynomial with its newest quotient (or extreme) replaced by what bounds it."""
        numbers = [n for n in polynomial.atoms() if not self.space.atoms[n].is_symbol]
        if not numbers:
            return []
        number = max(numbers)
        atom = self.space.atoms[number]
        coefficients = polynomial.coefficients_of(number)
        factor = coefficients[1] if len(coefficients) == 2 else polynomial.derivative(number)
        low, high = self.space.sign_range(factor)
        if low < 0 < high:
            return []
        result: list[Polynomial] = []
        if atom.quotient is not None and len(coefficients) == 2:
            numerator, denominator = atom.quotient
            ratio = factor.rational_quotient(denominator)
            if ratio is not None and self.space.has_sign(ratio, low >= 0):
                result.append(coefficients[0] + ratio * (numerator if low >= 0 else numerator - denominator + ONE))
        bounds = atom.uppers if low >= 0 else atom.lowers
        result.extend(polynomial.substitute(number, b) for b in bounds[:3] if number not in b.atoms())
        return result

    # -- without a plan -----------------------------------------------------------------------------------------------

    def _split_by_sign(self, polynomial: Polynomial) -> int:
        """Atoms set to an end of their range one at a time, where the derivative has a sign on this box."""
        while True:
            for number in sorted(polynomial.atoms()):
                low, high = self.space.range_of(polynomial.derivative(number))
                if low >= 0 or high <= 0:
                    end = self.space.range_of_atom(number)[1 if low >= 0 else 0]
                    polynomial = polynomial.substitute(number, Polynomial.constant(end))
                    break
            else:
                return floor(self.space.range_of(polynomial)[1])


__all__ = ["Maxima"]
