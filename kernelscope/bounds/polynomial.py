"""Exact polynomials over integer atoms (sizes, program ids, lanes, loop iterations, quotients, remainders, loaded values)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from math import gcd, lcm

#: A product of atoms: their numbers in ascending order, repeated for powers. `()` is the constant term.
Monomial = tuple[int, ...]
Number = int | Fraction


class Polynomial:
    """An immutable polynomial: the sum of each monomial times its non-zero numerator, over one positive denominator in
    lowest terms, so that all arithmetic is that of integers."""

    __slots__ = ("_atoms", "_hash", "denominator", "numerators")

    def __init__(self, numerators: dict[Monomial, int], denominator: int = 1) -> None:
        if denominator != 1:
            common = gcd(denominator, *numerators.values())
            if common != 1:
                denominator //= common
                numerators = {m: n // common for m, n in numerators.items()}
        self.numerators = numerators
        self.denominator = denominator
        self._hash: int | None = None
        self._atoms: frozenset[int] | None = None

    @staticmethod
    def of(terms: Mapping[Monomial, Number]) -> Polynomial:
        """The polynomial with these coefficients, none of them 0."""
        denominator = lcm(*(c.denominator for c in terms.values()))
        return Polynomial({m: int(c * denominator) for m, c in terms.items()}, denominator)

    @staticmethod
    def constant(value: Number) -> Polynomial:
        return Polynomial({(): value.numerator} if value else {}, value.denominator)

    @staticmethod
    def atom(number: int) -> Polynomial:
        return Polynomial({(number,): 1})

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((frozenset(self.numerators.items()), self.denominator))
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Polynomial)
            and self.numerators == other.numerators
            and self.denominator == other.denominator
        )

    def __add__(self, other: Polynomial) -> Polynomial:
        if not other.numerators:
            return self
        if not self.numerators:
            return other
        if self.denominator == other.denominator:
            return Polynomial(_sum(self.numerators, other.numerators), self.denominator)
        denominator = lcm(self.denominator, other.denominator)
        left, right = (
            {m: n * (denominator // p.denominator) for m, n in p.numerators.items()} for p in (self, other)
        )
        return Polynomial(_sum(left, right), denominator)

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + other.scaled(-1)

    def __neg__(self) -> Polynomial:
        return self.scaled(-1)

    def __mul__(self, other: Polynomial) -> Polynomial:
        if len(other.numerators) == 1 and () in other.numerators:
            self, other = other, self
        if len(self.numerators) == 1 and () in self.numerators:
            factor = self.numerators[()]
            if factor == 1 and self.denominator == 1:
                return other
            scaled = {m: n * factor for m, n in other.numerators.items()}
            return Polynomial(scaled, self.denominator * other.denominator)
        numerators: dict[Monomial, int] = {}
        for left, left_numerator in self.numerators.items():
            for right, right_numerator in other.numerators.items():
                monomial = tuple(sorted(left + right)) if left and right else left or right
                total = numerators.get(monomial, 0) + left_numerator * right_numerator
                if total:
                    numerators[monomial] = total
                else:
                    numerators.pop(monomial, None)
        return Polynomial(numerators, self.denominator * other.denominator)

    def scaled(self, factor: Number) -> Polynomial:
        if factor == 1:
            return self
        if not factor:
            return Polynomial({})
        top, bottom = factor.numerator, factor.denominator
        return Polynomial({m: n * top for m, n in self.numerators.items()}, self.denominator * bottom)

    def plus(self, value: Number) -> Polynomial:
        return self + Polynomial.constant(value)

    @property
    def terms(self) -> Mapping[Monomial, Number]:
        """The coefficient of each monomial."""
        if self.denominator == 1:
            return self.numerators
        return {m: simplified(Fraction(n, self.denominator)) for m, n in self.numerators.items()}

    @property
    def constant_value(self) -> Number | None:
        """The value when no atom occurs, else None."""
        if not self.numerators:
            return 0
        if len(self.numerators) != 1 or () not in self.numerators:
            return None
        return self.constant_term

    @property
    def is_integral(self) -> bool:
        """Whether every coefficient is a whole number, so that the value is one at every whole point."""
        return self.denominator == 1

    @property
    def constant_term(self) -> Number:
        value = self.numerators.get((), 0)
        return value if self.denominator == 1 else simplified(Fraction(value, self.denominator))

    def atoms(self) -> frozenset[int]:
        if self._atoms is None:
            self._atoms = frozenset([atom for monomial in self.numerators for atom in monomial])
        return self._atoms

    def coefficients_of(self, atom: int) -> list[Polynomial]:
        """Coefficient polynomials by power of `atom`: index i holds the factor of atom**i."""
        by_power: list[dict[Monomial, int]] = [{}]
        for monomial, numerator in self.numerators.items():
            if atom not in monomial:
                by_power[0][monomial] = numerator
                continue
            power = monomial.count(atom)
            while len(by_power) <= power:
                by_power.append({})
            by_power[power][tuple([a for a in monomial if a != atom])] = numerator
        return [Polynomial(numerators, self.denominator) for numerators in by_power]

    def degree_of(self, atom: int) -> int:
        return max((monomial.count(atom) for monomial in self.numerators), default=0)

    def substitute(self, atom: int, value: Polynomial) -> Polynomial:
        coefficients = self.coefficients_of(atom)
        result = coefficients[0]
        power = value
        for coefficient in coefficients[1:]:
            result = result + coefficient * power
            power = power * value
        return result

    def derivative(self, atom: int) -> Polynomial:
        numerators: dict[Monomial, int] = {}
        for monomial, numerator in self.numerators.items():
            if atom in monomial:
                place = monomial.index(atom)
                numerators[monomial[:place] + monomial[place + 1 :]] = numerator * monomial.count(atom)
        return Polynomial(numerators, self.denominator)

    def evaluate(self, values: Mapping[int, int]) -> Number:
        total = 0
        for monomial, product in self.numerators.items():
            for atom in monomial:
                product *= values[atom]
            total += product
        return total if self.denominator == 1 else simplified(Fraction(total, self.denominator))

    def divided_by(self, divisor: Polynomial) -> Polynomial | None:
        """The exact quotient when `divisor` is a single term that divides every term with an integer result, else None."""
        if len(divisor.numerators) != 1:
            return ONE if self == divisor and self.numerators else None
        quotient = self.rational_quotient(divisor)
        return quotient if quotient is not None and quotient.is_integral else None

    def rational_quotient(self, divisor: Polynomial) -> Polynomial | None:
        """Like `divided_by`, with rational coefficients allowed, and for divisors of several terms by trial division."""
        if len(divisor.numerators) != 1:
            return self._long_division(divisor)
        ((factor, scale),) = divisor.numerators.items()
        sign = 1 if scale > 0 else -1
        numerators: dict[Monomial, int] = {}
        for monomial, numerator in self.numerators.items():
            rest = _without(monomial, factor)
            if rest is None:
                return None
            numerators[rest] = numerator * divisor.denominator * sign
        return Polynomial(numerators, self.denominator * abs(scale))

    def _long_division(self, divisor: Polynomial) -> Polynomial | None:
        if not divisor.numerators:
            return None
        lead = max(divisor.numerators, key=_degree_order)
        quotient = Polynomial({})
        rest = self
        for _ in range(len(self.numerators) * 2 + 2):
            if not rest.numerators:
                return quotient
            monomial = max(rest.numerators, key=_degree_order)
            left = _without(monomial, lead)
            if left is None:
                return None
            share = Fraction(rest.numerators[monomial] * divisor.denominator, divisor.numerators[lead] * rest.denominator)
            step = Polynomial.of({left: share})
            quotient = quotient + step
            rest = rest - step * divisor
        return None

    def text(self, name: Callable[[int], str]) -> str:
        """Readable form, highest degree first: `4096*s10 - 1`."""
        if not self.numerators:
            return "0"
        parts: list[str] = []
        for monomial, coefficient in sorted(self.terms.items(), key=lambda term: (-len(term[0]), term[0])):
            factors = [name(atom) for atom in monomial]
            if len(factors) > 1 or (factors and abs(coefficient) != 1):
                factors = [f if f.isidentifier() else f"({f})" for f in factors]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            sign = "-" if coefficient < 0 else "+"
            body = "*".join(factors)
            parts.append(f"{sign} {body}" if parts else (f"-{body}" if sign == "-" else body))
        return " ".join(parts)


def _sum(left: dict[Monomial, int], right: dict[Monomial, int]) -> dict[Monomial, int]:
    result = dict(left)
    for monomial, numerator in right.items():
        total = result.get(monomial, 0) + numerator
        if total:
            result[monomial] = total
        else:
            del result[monomial]
    return result


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
