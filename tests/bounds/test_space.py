"""Bounds of polynomials over atoms agree with brute force on small ranges."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from kernelscope.bounds.polynomial import ONE, Polynomial
from kernelscope.bounds.proof import Claim, Prover
from kernelscope.bounds.space import Space

constant = Polynomial.constant


def atom(number: int) -> Polynomial:
    return Polynomial.atom(number)


def small_polynomials(count: int) -> st.SearchStrategy[Polynomial]:
    monomials = st.lists(st.integers(0, count - 1), max_size=2).map(lambda m: tuple(sorted(m)))
    terms = st.dictionaries(monomials, st.integers(-6, 6).filter(bool), min_size=1, max_size=4)
    return terms.map(lambda t: Polynomial.of(dict(t)))


@given(small_polynomials(3), st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=3, max_size=3))
def test_the_maximum_over_a_box_is_never_below_any_value_in_it(
    polynomial: Polynomial, sides: list[tuple[int, int]]
) -> None:
    space = Space()
    for index, (low, length) in enumerate(sides):
        space.new_symbol(f"s{index}", low, low + length)
    values = product(*(range(low, low + length + 1) for low, length in sides))
    assert space.maximum(polynomial) >= max(polynomial.evaluate(dict(enumerate(v))) for v in values)


@given(
    st.integers(1, 9), st.integers(1, 7), st.integers(-3, 3), st.integers(-3, 3), st.integers(0, 5), st.integers(1, 40)
)
@settings(max_examples=300)
def test_quotients_and_remainders_are_bounded_by_their_true_values(
    divisor: int, factor: int, on_quotient: int, on_remainder: int, on_index: int, numel: int
) -> None:
    space = Space()
    size = space.new_symbol("n", numel, numel)
    index = space.new_atom("x", 0)
    index.uppers.append(atom(size.number) - ONE)
    scaled = atom(index.number).scaled(factor)
    quotient = space.divide(scaled, constant(divisor))
    remainder = space.remainder(scaled, constant(divisor))
    assert quotient is not None and remainder is not None
    total = quotient.scaled(on_quotient) + remainder.scaled(on_remainder) + scaled.scaled(on_index)
    largest = max(
        on_quotient * (x * factor // divisor) + on_remainder * (x * factor % divisor) + on_index * x * factor
        for x in range(numel)
    )
    bounds = [space.maximum(b) for b in space.upper_bounds(total)]
    assert bounds and min(bounds) >= largest


def test_a_quotient_of_a_product_by_a_factor_is_the_other_factor() -> None:
    space = Space()
    s10, s25 = (atom(space.new_symbol(name, 2, 1 << 40).number) for name in ("s10", "s25"))
    assert space.divide(s10 * s25, s25) == s10
    assert space.divide(s10 * s25 - ONE, s25) == s10 - ONE
    assert space.remainder(s10 * s25, s25) == constant(0)


def test_a_transposed_index_stays_below_the_product_of_the_sizes() -> None:
    """`y0 + ks0*x2 + ks0*ks1*y1` is at most s10*s21*s25 - 1, not a product of maxima."""
    space = Space()
    s10, s21, s25 = (atom(space.new_symbol(name, 2, 1 << 20).number) for name in ("s10", "s21", "s25"))
    y = space.new_atom("yindex", 0)
    y.uppers.append(s10 * s25 - ONE)
    x = space.new_atom("xindex", 0)
    x.uppers.append(s21 - ONE)
    y0, y1 = space.remainder(atom(y.number), s25), space.divide(atom(y.number), s25)
    assert y0 is not None and y1 is not None
    index = y0 + s25 * atom(x.number) + s25 * s21 * y1
    assert s10 * s21 * s25 - ONE in space.upper_bounds(index)


def test_the_y_and_z_grid_rounding_gives_the_exact_last_safe_size() -> None:
    """transpose.huge: 33554400 rows of 64 with YBLOCK 32; surplus programs reach 2**31 from the next row on."""
    space = Space()
    rows = space.new_symbol("s10", 2, 1 << 40)
    raw = space.divide(atom(rows.number).scaled(64).plus(31), constant(32))
    assert raw is not None
    planes = space.divide(raw.plus(65534), constant(65535))
    assert planes is not None
    per_plane = space.divide(raw + planes - ONE, planes)
    assert per_plane is not None
    last = (per_plane * planes).scaled(32) - ONE
    claims = [Claim(space, (last,), 2**31 - 1), Claim(space, space.upper_bounds(per_plane), 65535)]
    prover = Prover(space, (), {})
    assert prover.largest_safe(claims, rows.number, dict(space.box)) == 33554400


def test_the_last_block_of_a_power_of_two_ends_exactly_at_the_limit() -> None:
    space = Space()
    n = space.new_symbol("n", 1, 2**31 - 1)
    blocks = space.divide(atom(n.number).plus(1023), constant(1024))
    assert blocks is not None
    assert space.maximum(blocks.scaled(1024) - ONE) == 2**31 - 1


@given(st.integers(1, 50), st.integers(1, 60), st.integers(2, 7))
def test_the_largest_safe_size_is_the_last_one_before_the_first_failure(limit: int, top: int, block: int) -> None:
    """Rounded-up sizes are not linear: compare with trying every size."""
    space = Space()
    n = space.new_symbol("n", 1, top)
    blocks = space.divide(atom(n.number).plus(block - 1), constant(block))
    assert blocks is not None
    claim = Claim(space, (blocks.scaled(block) - ONE,), limit)
    found = Prover(space, (), {}).largest_safe([claim], n.number, dict(space.box))
    good = [-(-s // block) * block - 1 <= limit for s in range(1, top + 1)]
    expected = None if all(good) else good.index(False)
    assert found == expected


def test_memory_rules_out_sizes_that_no_device_holds() -> None:
    space = Space()
    rows, columns = (space.new_symbol(name, 2, 1 << 33) for name in ("s0", "s1"))
    numel = atom(rows.number) * atom(columns.number)
    memory = constant(1 << 30) - numel.scaled(4)
    claim = Claim(space, (numel - ONE,), (1 << 28) - 1)
    assert Prover(space, (memory,), {}).proves([claim], dict(space.box))
    assert not Prover(space, (), {}).proves([claim], dict(space.box))


def test_steps_restrict_the_sizes_considered() -> None:
    space = Space()
    n = space.new_symbol("n", 16, 262144)
    tiles = space.divide(atom(n.number), constant(16))
    assert tiles is not None
    claim = Claim(space, ((tiles * tiles).scaled(16),), 2**31 - 1)
    prover = Prover(space, (), {n.number: (16, 16)})
    assert prover.largest_safe([claim], n.number, dict(space.box)) == 185360
