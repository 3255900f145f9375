"""Exact polynomials over integer atoms (sizes, program ids, lanes, loop iterations, quotients, remainders, loaded values)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

#: A product of atoms: their numbers in ascending order, repeated for powers. `()` is the constant term.
Monomial = tuple[int, ...]
Number = int | Fraction


class Polynomial:
    """An immutable polynomial: `terms` maps each monomial to its non-zero coefficient."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: dict[Monomial, Number]) -> None:
        self.terms = terms
        self._hash: int | None = None

    @staticmethod
    def constant(value: Number) -> Polynomial:
        return Polynomial({(): value} if value else {})

    @staticmethod
    def atom(number: int) -> Polynomial:
        return Polynomial({(number,): 1})

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __add__(self, other: Polynomial) -> Polynomial:
        if not other.terms:
            return self
        terms = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            total = terms.get(monomial, 0) + coefficient
            if total:
                terms[monomial] = total
            else:
                terms.pop(monomial, None)
        return Polynomial(terms)

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + other.scaled(-1)

    def __neg__(self) -> Polynomial:
        return self.scaled(-1)

    def __mul__(self, other: Polynomial) -> Polynomial:
        terms: dict[Monomial, Number] = {}
        for left, left_coefficient in self.terms.items():
            for right, right_coefficient in other.terms.items():
                monomial = tuple(sorted(left + right)) if left and right else left or right
                total = terms.get(monomial, 0) + left_coefficient * right_coefficient
                if total:
                    terms[monomial] = total
                else:
                    terms.pop(monomial, None)
        return Polynomial(terms)

    def scaled(self, factor: Number) -> Polynomial:
        if factor == 1:
            return self
        return Polynomial({m: c * factor for m, c in self.terms.items()} if factor else {})

    def plus(self, value: Number) -> Polynomial:
        return self + Polynomial.constant(value)

    @property
    def constant_value(self) -> Number | None:
        """The value when no atom occurs, else None."""
        if not self.terms:
            return 0
        return self.terms.get(()) if len(self.terms) == 1 else None

    @property
    def is_integral(self) -> bool:
        """Whether every coefficient is a whole number, so that the value is one at every whole point."""
        return all(isinstance(coefficient, int) for coefficient in self.terms.values())

    @property
    def constant_term(self) -> Number:
        return self.terms.get((), 0)

    def atoms(self) -> set[int]:
        return {atom for monomial in self.terms for atom in monomial}

    def coefficients_of(self, atom: int) -> list[Polynomial]:
        """Coefficient polynomials by power of `atom`: index i holds the factor of atom**i."""
        by_power: list[dict[Monomial, Number]] = [{}]
        for monomial, coefficient in self.terms.items():
            power = monomial.count(atom)
            while len(by_power) <= power:
                by_power.append({})
            rest = tuple(a for a in monomial if a != atom) if power else monomial
            by_power[power][rest] = coefficient
        return [Polynomial(terms) for terms in by_power]

    def substitute(self, atom: int, value: Polynomial) -> Polynomial:
        coefficients = self.coefficients_of(atom)
        result = coefficients[0]
        power = value
        for coefficient in coefficients[1:]:
            result = result + coefficient * power
            power = power * value
        return result

    def derivative(self, atom: int) -> Polynomial:
        terms: dict[Monomial, Number] = {}
        for monomial, coefficient in self.terms.items():
            power = monomial.count(atom)
            if power:
                rest = list(monomial)
                rest.remove(atom)
                key = tuple(rest)
                terms[key] = terms.get(key, 0) + coefficient * power
        return Polynomial({m: c for m, c in terms.items() if c})

    def evaluate(self, values: Mapping[int, int]) -> Number:
        total: Number = 0
        for monomial, coefficient in self.terms.items():
            product = coefficient
            for atom in monomial:
                product *= values[atom]
            total += product
        return total

    def divided_by(self, divisor: Polynomial) -> Polynomial | None:
        """The exact quotient when `divisor` is a single term that divides every term with an integer result, else None."""
        if len(divisor.terms) != 1:
            return Polynomial.constant(1) if self == divisor and self.terms else None
        ((factor, scale),) = divisor.terms.items()
        terms: dict[Monomial, Number] = {}
        for monomial, coefficient in self.terms.items():
            rest = _without(monomial, factor)
            quotient = Fraction(coefficient) / Fraction(scale)
            if rest is None or quotient.denominator != 1:
                return None
            terms[rest] = quotient.numerator
        return Polynomial(terms)

    def rational_quotient(self, divisor: Polynomial) -> Polynomial | None:
        """Like `divided_by`, with rational coefficients allowed, and for divisors of several terms by trial division."""
        if len(divisor.terms) == 1:
            ((factor, scale),) = divisor.terms.items()
            terms: dict[Monomial, Number] = {}
            for monomial, coefficient in self.terms.items():
                rest = _without(monomial, factor)
                if rest is None:
                    return None
                terms[rest] = simplified(Fraction(coefficient) / Fraction(scale))
            return Polynomial(terms)
        return self._long_division(divisor)

    def _long_division(self, divisor: Polynomial) -> Polynomial | None:
        if not divisor.terms:
            return None
        lead = max(divisor.terms, key=_degree_order)
        quotient = Polynomial({})
        rest = self
        for _ in range(len(self.terms) * 2 + 2):
            if not rest.terms:
                return quotient
            monomial = max(rest.terms, key=_degree_order)
            left = _without(monomial, lead)
            if left is None:
                return None
            step = Polynomial({left: simplified(Fraction(rest.terms[monomial]) / Fraction(divisor.terms[lead]))})
            quotient = quotient + step
            rest = rest - step * divisor
        return None

    def text(self, name: Callable[[int], str]) -> str:
        """Readable form, highest degree first: `4096*s10 - 1`."""
        if not self.terms:
            return "0"
        parts: list[str] = []
        for monomial in sorted(self.terms, key=lambda m: (-len(m), m)):
            coefficient = self.terms[monomial]
            factors = [name(atom) for atom in monomial]
            if len(factors) > 1 or (factors and abs(coefficient) != 1):
                factors = [f if f.isidentifier() else f"({f})" for f in factors]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            sign = "-" if coefficient < 0 else "+"
            body = "*".join(factors)
            parts.append(f"{sign} {body}" if parts else (f"-{body}" if sign == "-" else body))
        return " ".join(parts)


def _degree_order(monomial: Monomial) -> tuple[int, Monomial]:
    return len(monomial), monomial


def _without(monomial: Monomial, factor: Monomial) -> Monomial | None:
    if not factor:
        return monomial
    rest = list(monomial)
    for atom in factor:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def simplified(value: Fraction) -> Number:
    return value.numerator if value.denominator == 1 else value


def total(polynomials: Iterable[Polynomial]) -> Polynomial:
    result = Polynomial({})
    for polynomial in polynomials:
        result = result + polynomial
    return result


ZERO = Polynomial({})
ONE = Polynomial.constant(1)
