"""Which kernel of one side is which of the other: by name, else by content."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_WORD = re.compile(r"\w+|[^\w\s]")
_SHINGLE = 4
#: Kernels that share fewer of their token sequences are others; versions of one kernel in the fixtures share far more
#: (tests/diffing measures it).
_LEAST_SIMILAR = 0.5


@dataclass(frozen=True, slots=True)
class ComparedKernel:
    """A kernel of one side: `texts` by title; `key` is its content without its own name."""

    name: str
    key: str
    source: str
    shingles: frozenset[int] = field(default=frozenset(), compare=False)


def keyed(name: str, source: str) -> ComparedKernel:
    """A kernel as it is matched."""
    return ComparedKernel(name, source.replace(name, "\0"), source)


def matched(
    before: Sequence[ComparedKernel], after: Sequence[ComparedKernel]
) -> list[tuple[ComparedKernel | None, ComparedKernel | None, float]]:
    """Pairs in the order of `before`, then what is only in `after`; with each the similarity of its texts.

    A name that both sides have pairs them unless another kernel has the very same text: Inductor numbers kernels, so that a
    kernel more shifts all names after it."""
    free = dict(enumerate(after))
    pairs: dict[int, tuple[int, float]] = {}
    by_both = {(k.name, k.key): i for i, k in free.items()}
    for number, kernel in enumerate(before):
        index = by_both.get((kernel.name, kernel.key))
        if index is not None and index in free:
            pairs[number] = (index, 1.0)
            del free[index]
    _same_content(before, free, pairs)
    _same_name(before, free, pairs)
    _similar(before, free, pairs)
    result: list[tuple[ComparedKernel | None, ComparedKernel | None, float]] = []
    for number, kernel in enumerate(before):
        index, similarity = pairs.get(number, (-1, 0.0))
        result.append((kernel, after[index] if index >= 0 else None, similarity))
    return result + [(None, kernel, 0.0) for kernel in free.values()]


def _open(
    before: Sequence[ComparedKernel], pairs: dict[int, tuple[int, float]]
) -> Iterator[tuple[int, ComparedKernel]]:
    return ((n, k) for n, k in enumerate(before) if n not in pairs)


def _same_content(
    before: Sequence[ComparedKernel], free: dict[int, ComparedKernel], pairs: dict[int, tuple[int, float]]
) -> None:
    places: dict[str, list[int]] = {}
    for index, kernel in free.items():
        places.setdefault(kernel.key, []).append(index)
    for number, kernel in list(_open(before, pairs)):
        if places.get(kernel.key):
            index = places[kernel.key].pop(0)
            pairs[number] = (index, 1.0)
            del free[index]


def _same_name(
    before: Sequence[ComparedKernel], free: dict[int, ComparedKernel], pairs: dict[int, tuple[int, float]]
) -> None:
    names = {kernel.name: index for index, kernel in free.items()}
    for number, kernel in list(_open(before, pairs)):
        index = names.get(kernel.name)
        if index is not None and index in free:
            similarity = _of_lines(kernel.key, free[index].key)
            if similarity < _LEAST_SIMILAR:
                similarity = _similarity(shingles(kernel.key), shingles(free[index].key))
            if similarity >= _LEAST_SIMILAR:
                pairs[number] = (index, similarity)
                del free[index]


def _similar(
    before: Sequence[ComparedKernel], free: dict[int, ComparedKernel], pairs: dict[int, tuple[int, float]]
) -> None:
    """The most similar pairs first."""
    left = {number: shingles(kernel.key) for number, kernel in _open(before, pairs)}
    right = {index: shingles(kernel.key) for index, kernel in free.items()}
    holders: dict[int, list[int]] = {}
    for index, found in right.items():
        for shingle in found:
            holders.setdefault(shingle, []).append(index)
    scored: list[tuple[float, int, int]] = []
    for number, found in left.items():
        shared: dict[int, int] = {}
        for shingle in found:
            for index in holders.get(shingle, ()):
                shared[index] = shared.get(index, 0) + 1
        for index, count in shared.items():
            similarity = count / (len(found) + len(right[index]) - count)
            if similarity >= _LEAST_SIMILAR:
                scored.append((similarity, number, index))
    for similarity, number, index in sorted(scored, key=lambda s: (-s[0], s[1], s[2])):
        if number not in pairs and index in free:
            pairs[number] = (index, similarity)
            del free[index]


def _of_lines(left: str, right: str) -> float:
    """The share of common lines, which versions of one kernel mostly have and which takes less to find out."""
    first, second = Counter(left.split("\n")), Counter(right.split("\n"))
    return (first & second).total() / max(1, (first | second).total())


def shingles(text: str) -> frozenset[int]:
    """Hashes of every four tokens in a row."""
    tokens = _WORD.findall(text)
    return frozenset(hash(tuple(tokens[i : i + _SHINGLE])) for i in range(max(1, len(tokens) - _SHINGLE + 1)))


def _similarity(left: frozenset[int], right: frozenset[int]) -> float:
    """The share of common elements, Jaccard's index."""
    return len(left & right) / max(1, len(left | right))
