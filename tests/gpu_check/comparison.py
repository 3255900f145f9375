"""A result beside eager's, a chunk at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from tests.gpu_check.planning import chunks


@dataclass(frozen=True, slots=True)
class Difference:
    """How many elements differ, and the first row that has one."""

    elements: int
    first_row: int | None


def difference(
    result: torch.Tensor, eager: Callable[..., torch.Tensor], inputs: Sequence[torch.Tensor], chunk: int, tolerance: float
) -> Difference:
    """`result` against `eager(rows of the first input, the other inputs)`."""
    elements, first_row = 0, None
    for start, end in chunks(inputs[0].shape[0], chunk):
        expected, got = eager(inputs[0][start:end], *inputs[1:]), result[start:end]
        wrong = ~torch.isclose(got, expected, rtol=tolerance, atol=tolerance) if tolerance else got != expected
        found = int(torch.count_nonzero(wrong))
        if found and first_row is None:
            rows = wrong.reshape(end - start, -1).any(1)
            first_row = start + int(torch.nonzero(rows)[0])
        elements += found
    return Difference(elements, first_row)
