"""A slice of `make fuzz` in every test run."""

from __future__ import annotations

import pytest

from tests.fuzz.trial import try_seed

#: Seeds whose input is known to be judged wrongly, each with the reason; empty when all is well.
KNOWN_WRONG: frozenset[int] = frozenset()


@pytest.mark.fuzz
@pytest.mark.parametrize("first", range(0, 200, 20))
def test_mutated_inputs_neither_crash_nor_hang_nor_pass_wrongly(first: int) -> None:
    problems = [t for t in map(try_seed, range(first, first + 20)) if t.problem and t.seed not in KNOWN_WRONG]
    assert not problems, "\n".join(f"seed {t.seed} ({t.kind}): {t.problem}" for t in problems)
