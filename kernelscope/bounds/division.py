"""Floor division and remainder of polynomials: exact where they simplify, atoms with their bounds where they don't."""

from __future__ import annotations

from collections.abc import Iterable
from math import floor
from typing import TYPE_CHECKING

from kernelscope.bounds.polynomial import ONE, Number, Polynomial

if TYPE_CHECKING:
    from kernelscope.bounds.space import Atom, Space


class Division:
    """The quotients and remainders of one space, each made once."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._quotients: dict[tuple[Polynomial, Polynomial], Polynomial] = {}
        self._remainders: dict[tuple[Polynomial, Polynomial], Polynomial] = {}

    def fork(self, space: Space) -> Division:
        """The same quotients and remainders, for a copy of the space."""
        copy = Division(space)
        copy._quotients = dict(self._quotients)
        copy._remainders = dict(self._remainders)
        return copy

    def divide(self, numerator: Polynomial, denominator: Polynomial) -> Polynomial | None:
        """floor(numerator / denominator) as a polynomial, through a new atom where it does not simplify; None unless
        the denominator is at least 1. Terms that divide exactly come out first: `(s10*s25 - 1) // s25` is `s10 - 1`."""
        least = self._space.range_of(denominator)[0]
        if least < 1:
            return None
        value = denominator.constant_value
        if value == 1:
            return numerator
        if len(denominator.terms) == 1 and value is None:
            ((monomial, scale),) = denominator.terms.items()
            if scale != 1:  # floor(n / (c*m)) is floor(floor(n / m) / c)
                inner = self.divide(numerator, Polynomial({monomial: 1}))
                return None if inner is None else self.divide(inner, Polynomial.constant(scale))
        known = self._quotients.get((numerator, denominator))
        if known is not None:
            return known
        whole, rest = self._split_divisible(numerator, denominator)
        result = whole + self._rest_quotient(rest, denominator, least)
        self._quotients[numerator, denominator] = result
        return result

    def remainder(self, numerator: Polynomial, denominator: Polynomial) -> Polynomial | None:
        """numerator mod denominator (sign of the divisor), None unless the denominator is at least 1."""
        least, _ = self._space.range_of(denominator)
        quotient = self.divide(numerator, denominator)
        if quotient is None:
            return None
        exact = numerator - denominator * quotient
        if exact.constant_value is not None:
            return exact
        low, high = self._space.range_of(exact)
        if low >= 0 and high < least and len(exact.terms) <= len(numerator.terms):
            return exact
        _, rest = self._split_divisible(numerator, denominator)
        key = (rest, denominator)
        known = self._remainders.get(key)
        if known is not None:
            return known
        atom = self._space.new_atom("", 0)
        atom.remainder = (rest, denominator)
        atom.of_sizes = self._space.is_of_sizes(rest) and self._space.is_of_sizes(denominator)
        share = self.divide(rest, denominator)  # the same atom that a quotient of the program has
        assert share is not None
        equal = rest - denominator * share
        atom.uppers += [denominator - ONE, equal]
        atom.lowers += [Polynomial({}), equal]
        if self._space.range_of(rest)[0] >= 0:
            atom.uppers.append(rest)
        result = Polynomial.atom(atom.number)
        self._remainders[key] = result
        return result

    def rejoined(self, polynomial: Polynomial) -> Polynomial:
        """`d*(n // d) + n % d` written as n."""
        for number in polynomial.atoms():
            definition = self._space.atoms[number].remainder
            factor = polynomial.terms.get((number,))
            if definition is None or factor is None:
                continue
            quotient = self.divide(*definition)
            if quotient is not None:
                whole = definition[0] - definition[1] * quotient - Polynomial.atom(number)
                joined = polynomial + whole.scaled(factor)
                if len(joined.terms) < len(polynomial.terms):
                    return self.rejoined(joined)
        return polynomial

    def _split_divisible(self, numerator: Polynomial, denominator: Polynomial) -> tuple[Polynomial, Polynomial]:
        whole, rest = Polynomial({}), Polynomial({})
        if len(denominator.terms) > 1:
            quotient = numerator.plus(-numerator.constant_term).rational_quotient(denominator)
            if quotient is not None and quotient.is_integral:
                return quotient, Polynomial.constant(numerator.constant_term)
            return whole, numerator
        for monomial, coefficient in numerator.terms.items():
            term = Polynomial.of({monomial: coefficient})
            quotient = term.divided_by(denominator)
            if quotient is None:
                part, left = _divide_coefficient(monomial, coefficient, denominator)
                whole, rest = whole + part, rest + left
            else:
                whole = whole + quotient
        return whole, rest

    def _rest_quotient(self, rest: Polynomial, denominator: Polynomial, least: int) -> Polynomial:
        low, high = self._space.range_of(rest)
        if 0 <= low and high < least:
            return Polynomial({})
        if -least <= low and high < 0:
            return Polynomial.constant(-1)
        if rest.constant_value is not None and denominator.constant_value is not None:
            return Polynomial.constant(floor(rest.constant_value) // floor(denominator.constant_value))
        key = (rest, denominator)
        known = self._quotients.get(key)
        if known is not None:
            return known
        atom = self._space.new_atom("")
        atom.of_sizes = self._space.is_of_sizes(rest) and self._space.is_of_sizes(denominator)
        atom.quotient = (rest, denominator)
        if low >= 0:
            atom.low = 0
            atom.lowers.append(Polynomial({}))
        atom.scaled_uppers.append((denominator, rest))
        atom.scaled_lowers.append((denominator, rest - denominator + ONE))
        self._bound_by_extreme(atom, rest, denominator)
        if self._space.is_of_sizes(denominator):
            bounds = self._dividend_bounds(rest, denominator) if atom.of_sizes else self._space.upper_bounds(rest, 4)
            if denominator.constant_value is None and not atom.of_sizes:
                bounds = [*self._unrounded(bounds), *bounds]
            uppers = (self.divide(bound, denominator) for bound in bounds if bound.is_integral)
            atom.uppers.extend(upper for upper in uppers if upper is not None)
        result = Polynomial.atom(atom.number)
        self._quotients[key] = result
        return result

    def _bound_by_extreme(self, atom: Atom, numerator: Polynomial, denominator: Polynomial) -> None:
        """n // min(a, b) is at most k - 1 where n + 1 <= a*k and n + 1 <= b*k (the column of a swizzled program id)."""
        numbers = denominator.atoms()
        definition = self._space.atoms[next(iter(numbers))].extremes if len(numbers) == 1 else None
        if definition is None or definition[2] != "min" or denominator.terms != {tuple(numbers): 1}:
            return
        bounds = [b.plus(1) for b in self._direct_bounds(numerator)]
        quotients = [[b.rational_quotient(part) for b in bounds] for part in definition[:2]]
        shares = [{q for q in found if q is not None and q.is_integral} for found in quotients]
        for share in shares[0] & shares[1]:
            atom.uppers.insert(0, share.plus(-1))

    def _direct_bounds(self, polynomial: Polynomial) -> list[Polynomial]:
        """Upper bounds of a polynomial one and two replacements away, other atoms kept."""
        result = [polynomial]
        for _ in range(2):
            for candidate in list(result):
                for number in candidate.atoms():
                    if not self._space.atoms[number].of_sizes and len(result) < 40:
                        result.extend(r for r in self._space.replacements(candidate, number) if r not in result)
        return result

    def _unrounded(self, bounds: Iterable[Polynomial]) -> list[Polynomial]:
        """Bounds in which a rounded-up count is written without the rounding, so that a divisor of it comes out:
        `64*((n*d + 63)//64) - 1` becomes `n*d + 62`."""
        result: list[Polynomial] = []
        for bound in bounds:
            for number in sorted(bound.atoms()):
                relaxed = self._space.without_rounding(bound, number)
                bound = bound if relaxed is None else relaxed
            result.append(bound)
        return result

    def _dividend_bounds(self, numerator: Polynomial, denominator: Polynomial) -> list[Polynomial]:
        """Bounds of a numerator from how its divisor was made: where d is ceil(n/k), n is at most k*d, so that
        ceil(n/d) is at most k (the y/z grid: rows shared out over ceil(rows/65535) planes)."""
        numbers = denominator.atoms()
        definition = self._space.atoms[next(iter(numbers))].quotient if len(numbers) == 1 else None
        if definition is None or denominator.terms != {tuple(numbers): 1}:
            return []
        inner, divisor = definition
        rest = numerator - inner.plus(-inner.constant_term)
        if len(rest.terms) >= len(numerator.terms):
            return []
        return [divisor * denominator + divisor.plus(-1 - inner.constant_term) + rest]


def _divide_coefficient(
    monomial: tuple[int, ...], coefficient: Number, denominator: Polynomial
) -> tuple[Polynomial, Polynomial]:
    """The part of one term that a numeric denominator divides: `5000*x // 4096` gives x and leaves `904*x`."""
    divisor = denominator.constant_value
    if isinstance(divisor, int) and isinstance(coefficient, int):
        whole, left = divmod(coefficient, divisor)
        if monomial == () or whole:
            return (
                Polynomial({monomial: whole}) if whole else Polynomial({}),
                Polynomial({monomial: left}) if left else Polynomial({}),
            )
    return Polynomial({}), Polynomial.of({monomial: coefficient})
