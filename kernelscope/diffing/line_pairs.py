"""Which removed line became which added one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
#: Numbers that Inductor and C++ count up, which a line more or less shifts in all lines after it.
_COUNTED = re.compile(r"\b(tmp|var_|buf|x|y|z|r\d_)\d+\b")
#: Below this share of common tokens two lines are another line each, and marks in them say nothing.
_LEAST_ALIKE = 0.5
#: Blocks with more pairs of lines than this are paired from the top, which takes less.
_MOST_PAIRS = 10_000

_Bag = Counter[str]


def matching_lines(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of places, rising on both sides, such that the lines have most in common in sum."""
    first, second = [_bag(line) for line in left], [_bag(line) for line in right]
    if len(first) * len(second) > _MOST_PAIRS:
        return [(n, n) for n in range(min(len(first), len(second))) if _worth(first[n], second[n])]
    worth = [[_worth(a, b) for b in second] for a in first]
    best = [[0.0] * (len(second) + 1) for _ in range(len(first) + 1)]  # from each place on
    for a in reversed(range(len(first))):
        for b in reversed(range(len(second))):
            best[a][b] = max(best[a + 1][b], best[a][b + 1], worth[a][b] + best[a + 1][b + 1] if worth[a][b] else 0.0)
    pairs: list[tuple[int, int]] = []
    a = b = 0
    while a < len(first) and b < len(second):
        if worth[a][b] and best[a][b] == worth[a][b] + best[a + 1][b + 1]:
            pairs.append((a, b))
            a, b = a + 1, b + 1
        elif best[a][b] == best[a + 1][b]:
            a += 1
        else:
            b += 1
    return pairs


def _bag(line: str) -> _Bag:
    """A line's tokens and pairs of neighbours, so that their order counts; counted names without their number."""
    tokens = [token for token in TOKEN.findall(_COUNTED.sub(r"\1", line)) if not token.isspace()]
    return Counter([*tokens, *(f"{a} {b}" for a, b in pairwise(tokens))])


def _worth(left: _Bag, right: _Bag) -> float:
    """The share of common tokens; 0 for lines that have too little in common to be a pair."""
    share = 2 * (left & right).total() / max(1, left.total() + right.total())
    return share if share >= _LEAST_ALIKE else 0.0
