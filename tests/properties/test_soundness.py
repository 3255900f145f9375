"""Nothing that brute force can break is called safe, every witness is real, and every threshold holds."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.properties.agreement import compare, small_case, small_kernel
from tests.properties.program_text import text_of

#: Seeds at which the analysis is known to be wrong, each with the reason; empty when all is well.
KNOWN_WRONG: frozenset[int] = frozenset()


@settings(deadline=None, derandomize=True, max_examples=150, suppress_health_check=list(HealthCheck), database=None)
@given(st.integers(0, 1 << 48))
def test_analysis_agrees_with_brute_force_on_random_programs(seed: int) -> None:
    _check(1000 + seed)


@pytest.mark.parametrize("seed", sorted(set(range(150)) - KNOWN_WRONG))
def test_analysis_agrees_with_brute_force(seed: int) -> None:
    _check(seed)


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_audits_of_random_kernel_texts_agree_with_brute_force(first: int) -> None:
    for seed in range(first, first + 10):
        text, case = small_kernel(Random(seed))
        found = compare(case).disagreements
        assert not found, f"seed {seed}\n{text.source()}\n{text.launch()}\n" + "\n".join(found)


def _check(seed: int) -> None:
    case = small_case(Random(seed))
    agreement = compare(case)
    assert not agreement.disagreements, f"seed {seed}\n{text_of(case)}\n" + "\n".join(agreement.disagreements)
