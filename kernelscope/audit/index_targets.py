"""Index values worth trying when a witness is looked for."""

from __future__ import annotations

from collections.abc import Mapping

from kernelscope.bounds.polynomial import Polynomial
from kernelscope.bounds.space import Space

_TARGETS = 10


def linear_part(polynomial: Polynomial, space: Space, ranges: Mapping[int, tuple[int, int]]) -> Polynomial:
    """The part of a polynomial that is linear in free atoms, sizes replaced by their values; empty unless all its
    coefficients have one sign."""
    terms: dict[tuple[int, ...], int] = {}
    for monomial, coefficient in polynomial.terms.items():
        inner = [n for n in monomial if not space.atoms[n].of_sizes]
        if len(inner) != 1 or inner[0] not in ranges:
            continue
        factor = coefficient
        for n in monomial:
            if n != inner[0]:
                factor *= space.range_of_atom(n)[1]
        terms[inner[0],] = terms.get((inner[0],), 0) + int(factor)
    sign = 1 if terms and max(terms.values(), key=abs) > 0 else -1
    linear = Polynomial.of({m: c * sign for m, c in terms.items() if c})
    return linear if all(c > 0 for c in linear.terms.values()) else Polynomial({})


def index_targets(top: int, periods: list[int], residues: list[tuple[int, int]]) -> list[int]:
    """Index values worth trying: the last one, the last one with the largest live remainder of each divisor, and the last
    and first of the last full period of each divisor."""
    found: dict[int, None] = {top: None}
    for period, residue in residues:
        if 0 <= residue <= top:
            found[(top - residue) // period * period + residue] = None
    for period in periods:
        for value in ((top + 1) // period * period - 1, top // period * period, top - period, top // period * period - period):
            if 0 <= value <= top:
                found[value] = None
    found[0] = None
    return list(found)[:_TARGETS]
