"""Atoms with what is known of them, and bounds of polynomials over them.

An atom's bounds may mention other atoms (a lane is at most `xnumel - 1 - XBLOCK*program_id` where the mask holds), so that
terms stay correlated: to bound a polynomial its atoms are replaced one at a time by their bounds, by the sign of their
coefficient, until only sizes are left. Every alternative bound is tried; each gives a valid result, the least one counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor

from kernelscope.bounds.division import Division
from kernelscope.bounds.maxima import Maxima
from kernelscope.bounds.polynomial import ONE, Polynomial, simplified

#: Stands for "no numeric bound".
UNBOUNDED = 1 << 200
#: Largest value of a size without any bound: PyTorch keeps sizes in int64.
LARGEST_SIZE = (1 << 63) - 1
_MOST_CANDIDATES = 24

Range = tuple[int, int]


@dataclass(slots=True)
class Atom:
    """An integer unknown. `quotient` (n, d) says that it is exactly floor(n / d) with d >= 1; `scaled_uppers` (k, b) that
    k * atom <= b with k >= 1. `of_sizes`: it depends on size symbols only."""

    number: int
    name: str
    low: int = -UNBOUNDED
    high: int = UNBOUNDED
    of_sizes: bool = False
    is_symbol: bool = False
    quotient: tuple[Polynomial, Polynomial] | None = None
    remainder: tuple[Polynomial, Polynomial] | None = None
    extremes: tuple[Polynomial, Polynomial, str] | None = None
    uppers: list[Polynomial] = field(default_factory=list)
    lowers: list[Polynomial] = field(default_factory=list)
    scaled_uppers: list[tuple[Polynomial, Polynomial]] = field(default_factory=list)
    scaled_lowers: list[tuple[Polynomial, Polynomial]] = field(default_factory=list)


class Space:
    """The atoms of one launch in one context (a set of conditions known to hold)."""

    def __init__(self) -> None:
        self.atoms: list[Atom] = []
        self.box: dict[int, Range] = {}
        self.root: dict[int, Range] = {}
        self._maxima = Maxima(self)
        self._ranges: dict[int, Range] = {}
        self._candidates: dict[Polynomial, tuple[Polynomial, ...]] = {}
        self._division = Division(self)
        #: The minimum or maximum of two values is one atom, however often a program computes it.
        self.extremes: dict[tuple[frozenset[Polynomial], str], Polynomial] = {}

    # -- building ---------------------------------------------------------------------------------------------------

    def fork(self) -> Space:
        """An independent copy, to add facts to."""
        copy = Space()
        copy.atoms = [
            Atom(
                a.number, a.name, a.low, a.high, a.of_sizes, a.is_symbol, a.quotient, a.remainder, a.extremes,
                list(a.uppers), list(a.lowers), list(a.scaled_uppers), list(a.scaled_lowers),
            )
            for a in self.atoms
        ]  # fmt: skip
        copy.box, copy.root = dict(self.box), dict(self.root)
        copy._division = self._division.fork(copy)
        copy._maxima = self._maxima.fork(copy)
        copy.extremes = dict(self.extremes)
        return copy

    def new_atom(self, name: str, low: int = -UNBOUNDED, high: int = UNBOUNDED, *, of_sizes: bool = False) -> Atom:
        atom = Atom(len(self.atoms), name, low, high, of_sizes)
        self.atoms.append(atom)
        return atom

    def new_symbol(self, name: str, low: int, high: int) -> Atom:
        atom = self.new_atom(name, low, high, of_sizes=True)
        atom.is_symbol = True
        self.box[atom.number] = self.root[atom.number] = (low, high)
        return atom

    def set_box(self, box: Mapping[int, Range]) -> None:
        """Consider only sizes within `box` from now on; it lies within the ranges that the symbols were made with."""
        self.box.update(box)
        self._ranges.clear()

    def forget(self) -> None:
        """Drop cached bounds after facts were added."""
        self._ranges.clear()
        self._candidates.clear()

    def name_of(self, number: int) -> str:
        atom = self.atoms[number]
        for definition, sign in ((atom.quotient, "//"), (atom.remainder, "%")):
            if definition is not None and not atom.name:
                left, right = (_factor_text(self.text(part)) for part in definition)
                return f"{left}{sign}{right}"
        return atom.name

    def text(self, polynomial: Polynomial) -> str:
        return polynomial.text(self.name_of)

    def is_of_sizes(self, polynomial: Polynomial) -> bool:
        return all(self.atoms[a].of_sizes for a in polynomial.atoms())

    def atoms_below(self, polynomial: Polynomial) -> set[int]:
        """The atoms of a polynomial, and those that its quotients, remainders and extremes are made of."""
        found: set[int] = set()
        waiting = list(polynomial.atoms())
        while waiting:
            number = waiting.pop()
            if number in found:
                continue
            found.add(number)
            atom = self.atoms[number]
            parts = [*(atom.quotient or ()), *(atom.remainder or ())]
            if atom.extremes is not None:
                parts += [atom.extremes[0], atom.extremes[1]]
            for part in parts:
                waiting.extend(part.atoms())
        return found

    def assume_non_negative(self, polynomial: Polynomial) -> None:
        """Add the fact `polynomial >= 0` as a bound of each atom in it."""
        for number in polynomial.atoms():
            atom = self.atoms[number]
            coefficients = polynomial.coefficients_of(number)
            factor = coefficients[1].constant_value if len(coefficients) == 2 else None
            if len(coefficients) != 2 or atom.is_symbol:
                continue
            rest = coefficients[0]
            if factor is None:
                self._assume_scaled(atom, coefficients[1], rest)
            elif factor < 0:
                self._bound(atom, _quotient_bound(rest, -factor, upper=True), upper=True)
            else:
                self._bound(atom, _quotient_bound(-rest, factor, upper=False), upper=False)
        self.forget()

    def _bound(self, atom: Atom, bound: Polynomial, *, upper: bool) -> None:
        """Add a bound. Of a value made of sizes, one that depends on more than sizes (a lane, an iteration) keeps only its
        number: bounds that name each other would loosen both."""
        if atom.of_sizes and not self.is_of_sizes(bound):
            number = self.range_of(bound)[1 if upper else 0]
            if abs(number) >= UNBOUNDED:
                return
            bound = Polynomial.constant(floor(number) if upper else ceil(number))
        (atom.uppers if upper else atom.lowers).insert(0, bound)

    def _assume_scaled(self, atom: Atom, factor: Polynomial, rest: Polynomial) -> None:
        if atom.of_sizes and not (self.is_of_sizes(factor) and self.is_of_sizes(rest)):
            return
        low, high = self.range_of(factor)
        if low >= 1:
            atom.scaled_lowers.append((factor, -rest))
        elif high <= -1:
            atom.scaled_uppers.append((-factor, rest))

    # -- numeric ranges ---------------------------------------------------------------------------------------------

    def range_of_atom(self, number: int) -> Range:
        known = self._ranges.get(number)
        if known is not None:
            return known
        atom = self.atoms[number]
        low, high = self.box.get(number, (atom.low, atom.high))
        self._ranges[number] = (low, high)  # guards against circular bounds
        if atom.is_symbol:
            return low, high
        if atom.quotient is not None:
            low, high = _tighter((low, high), self._range_of_quotient(*atom.quotient))
        if atom.extremes is not None:
            low, high = _tighter((low, high), self._range_of_extreme(*atom.extremes))
        for upper in atom.uppers:
            high = min(high, floor(self.range_of(upper)[1]))
        for lower in atom.lowers:
            low = max(low, ceil(self.range_of(lower)[0]))
        for scale, bound in atom.scaled_uppers:
            most, least = self.range_of(bound)[1], self.range_of(scale)[0]
            if least >= 1 and 0 <= most < UNBOUNDED:
                high = min(high, floor(most // least))
        self._ranges[number] = (low, high)
        return low, high

    def _range_of_quotient(self, numerator: Polynomial, denominator: Polynomial) -> Range:
        least, most = self.range_of(numerator)
        small, large = self.range_of(denominator)
        if small < 1:
            return -UNBOUNDED, UNBOUNDED
        low = least // (large if least >= 0 else small)
        high = most // (small if most >= 0 else large)
        return low, high

    def _range_of_extreme(self, left: Polynomial, right: Polynomial, kind: str) -> Range:
        a, b = self.range_of(left), self.range_of(right)
        low = max(a[0], b[0]) if kind == "max" else min(a[0], b[0])
        high = min(a[1], b[1]) if kind == "min" else max(a[1], b[1])
        return floor(low), ceil(high)

    def range_of(self, polynomial: Polynomial) -> Range:
        """A numeric range of the polynomial, term by term (correlation between terms is lost)."""
        low: int = 0
        high: int = 0
        known = self._ranges
        for monomial, numerator in polynomial.numerators.items():
            least, most = 1, 1
            for number in monomial:
                a, b = known.get(number) or self.range_of_atom(number)
                if least >= 0 and a >= 0:
                    least, most = least * a, most * b
                else:
                    corners = (least * a, least * b, most * a, most * b)
                    least, most = min(corners), max(corners)
            if numerator >= 0:
                low += numerator * least
                high += numerator * most
            else:
                low += numerator * most
                high += numerator * least
        denominator = polynomial.denominator
        return (low, high) if denominator == 1 else (_divided(low, denominator), _divided(high, denominator))

    # -- bounds in sizes --------------------------------------------------------------------------------------------

    def upper_bounds(self, polynomial: Polynomial, most: int = _MOST_CANDIDATES) -> tuple[Polynomial, ...]:
        """Polynomials in sizes, each an upper bound of `polynomial`; the least of them at a given size counts."""
        known = self._candidates.get(polynomial)
        if known is None:
            found: dict[Polynomial, None] = {}
            self._eliminate(polynomial, frozenset(), found, most)
            known = tuple(found)
            if len(known) < most or most == _MOST_CANDIDATES:
                self._candidates[polynomial] = known
        return known[:most]

    def _eliminate(
        self, polynomial: Polynomial, gone: frozenset[int], found: dict[Polynomial, None], most: int
    ) -> None:
        if len(found) >= most:
            return
        inner = [a for a in polynomial.atoms() if not self.atoms[a].of_sizes]
        if not inner:
            found[polynomial] = None
            return
        number = max(inner)
        gone = gone | {number}
        tried: set[Polynomial] = set()
        for replaced in self.replacements(polynomial, number):
            if replaced not in tried and not (gone & replaced.atoms()):
                tried.add(replaced)
                self._eliminate(replaced, gone, found, most)

    def replacements(self, polynomial: Polynomial, number: int) -> Iterable[Polynomial]:
        """`polynomial` with one atom replaced by each of its bounds, every result at least as large."""
        atom = self.atoms[number]
        coefficients = polynomial.coefficients_of(number)
        factor = coefficients[1] if len(coefficients) == 2 else polynomial.derivative(number)
        low, high = self.sign_range(factor)
        if low >= 0:
            exact_bounds, scaled, intrinsic = atom.uppers, atom.scaled_uppers, atom.high
        elif high <= 0:
            exact_bounds, scaled, intrinsic = atom.lowers, atom.scaled_lowers, atom.low
        else:
            yield from self._numeric_replacement(coefficients, number)
            return
        some = False
        for bound in exact_bounds:
            some = True
            yield polynomial.substitute(number, bound)
        if len(coefficients) == 2:
            for scale, bound in scaled:
                ratio = factor.rational_quotient(scale)
                if ratio is not None and self.has_sign(ratio, low >= 0):
                    some = True
                    yield coefficients[0] + ratio * bound
        if abs(intrinsic) < UNBOUNDED:
            yield polynomial.substitute(number, Polynomial.constant(intrinsic))
        elif not some:
            numeric = self.range_of_atom(number)[1 if low >= 0 else 0]
            if abs(numeric) < UNBOUNDED:
                yield polynomial.substitute(number, Polynomial.constant(numeric))

    def has_sign(self, polynomial: Polynomial, positive: bool) -> bool:
        low, high = self.sign_range(polynomial)
        return low >= 0 if positive else high <= 0

    def sign_range(self, polynomial: Polynomial) -> Range:
        """A range good enough to tell the sign: term by term, else (for sizes) at the corners of the box."""
        low, high = self.range_of(polynomial)
        if low < 0 < high and len(polynomial.terms) > 1 and self.is_of_sizes(polynomial):
            return -self.maximum(-polynomial), self.maximum(polynomial)
        return low, high

    def _numeric_replacement(self, coefficients: list[Polynomial], number: int) -> Iterable[Polynomial]:
        if len(coefficients) != 2:
            return
        low, high = self.range_of(coefficients[1])
        least, most = self.range_of_atom(number)
        extreme = max(low * least, low * most, high * least, high * most)
        if extreme < UNBOUNDED:
            yield coefficients[0].plus(extreme)

    # -- maxima over the box ----------------------------------------------------------------------------------------

    def maximum(self, polynomial: Polynomial) -> int:
        """An upper bound over the box of a polynomial in sizes (exact where it is monotone in every symbol)."""
        value = polynomial.constant_value
        return floor(value) if value is not None else self._maxima.maximum(polynomial)

    @contextmanager
    def widest_box(self) -> Iterator[None]:
        """Look at the whole box that the symbols were made with."""
        box, ranges = self.box, self._ranges
        self.box, self._ranges = dict(self.root), {}
        try:
            yield
        finally:
            self.box, self._ranges = box, ranges

    def without_rounding(self, polynomial: Polynomial, number: int) -> Polynomial | None:
        """An upper bound of `polynomial` with a quotient atom n//d replaced by n/d (or (n - d + 1)/d, by sign)."""
        definition = self.atoms[number].quotient
        coefficients = polynomial.coefficients_of(number)
        if definition is None or len(coefficients) != 2:
            return None
        numerator, denominator = definition
        low, high = self.sign_range(coefficients[1])
        ratio = coefficients[1].rational_quotient(denominator)
        if ratio is None or low < 0 < high:
            return None
        return coefficients[0] + ratio * (numerator if low >= 0 else numerator - denominator + ONE)

    # -- division ---------------------------------------------------------------------------------------------------

    def divide(self, numerator: Polynomial, denominator: Polynomial) -> Polynomial | None:
        """floor(numerator / denominator), None unless the denominator is at least 1."""
        return self._division.divide(numerator, denominator)

    def remainder(self, numerator: Polynomial, denominator: Polynomial) -> Polynomial | None:
        """numerator mod denominator (sign of the divisor), None unless the denominator is at least 1."""
        return self._division.remainder(numerator, denominator)

    def rejoined(self, polynomial: Polynomial) -> Polynomial:
        """`d*(n // d) + n % d` written as n."""
        return self._division.rejoined(polynomial)


def _quotient_bound(rest: Polynomial, factor: int | object, *, upper: bool) -> Polynomial:
    """rest / factor, rounded inwards where it is a number."""
    share = rest.scaled(simplified(Fraction(1) / Fraction(factor)))  # type: ignore[arg-type]
    value = share.constant_value
    if value is None:
        return share
    return Polynomial.constant(floor(value) if upper else ceil(value))


def _divided(value: int, denominator: int) -> int:
    return simplified(Fraction(value, denominator))  # type: ignore[return-value]


def _factor_text(text: str) -> str:
    return text if text.isidentifier() or text.isdigit() else f"({text})"


def _tighter(left: Range, right: Range) -> Range:
    return max(left[0], right[0]), min(left[1], right[1])
