"""Outputs of two stages compared: integers bit by bit, floats within the tolerance of their type. Runs in a child."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

#: Relative and absolute tolerance by dtype: those of `torch.testing.assert_close`, ten times wider for what sums in
#: another order.
_TOLERANCES = {
    torch.float16: (1e-2, 1e-3),
    torch.bfloat16: (1.6e-1, 1e-3),
    torch.float32: (1.3e-5, 1e-4),
    torch.float64: (1e-6, 1e-6),
    torch.complex64: (1.3e-5, 1e-4),
    torch.complex128: (1e-6, 1e-6),
}


def differences(found: Sequence[object], expected: Sequence[object]) -> list[dict[str, Any]]:
    """One entry for each output that differs; empty where all agree."""
    if len(found) != len(expected):
        return [_entry(0, "count", "", f"{len(found)} outputs, expected {len(expected)}")]
    return [
        entry
        for index, (left, right) in enumerate(zip(found, expected, strict=True))
        if (entry := _difference(index, left, right)) is not None
    ]


def _difference(index: int, found: Any, expected: Any) -> dict[str, Any] | None:  # noqa: ANN401  whatever a model gives
    if not isinstance(found, torch.Tensor) or not isinstance(expected, torch.Tensor):
        same = type(found) is type(expected) and found == expected
        return None if same else _entry(index, "value", type(found).__name__, f"{found!r}, expected {expected!r}"[:200])
    dtype = str(found.dtype).removeprefix("torch.")
    if found.dtype != expected.dtype:
        return _entry(index, "dtype", dtype, f"{dtype}, expected {str(expected.dtype).removeprefix('torch.')}")
    if found.shape != expected.shape:
        return _entry(index, "shape", dtype, f"{tuple(found.shape)}, expected {tuple(expected.shape)}")
    found, expected = found.detach().cpu(), expected.detach().cpu()
    wrong = _wrong(found, expected)
    count = int(wrong.sum())
    if count == 0:
        return None
    nan = _nan(found) != _nan(expected)
    at = _worst(nan if bool(nan.any()) else wrong, found, expected)
    kind = "nan" if bool(nan.any()) else "value"
    share = f"{count} of {found.numel()} elements"
    text = f"{share}, worst {found[at].item()!r}, expected {expected[at].item()!r}"
    return _entry(index, kind, dtype, text, at)


def _wrong(found: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    if found.dtype not in _TOLERANCES:
        return found != expected
    relative, absolute = _TOLERANCES[found.dtype]
    return ~torch.isclose(found, expected, rtol=relative, atol=absolute, equal_nan=True)


def _nan(tensor: torch.Tensor) -> torch.Tensor:
    return torch.isnan(tensor) if tensor.dtype in _TOLERANCES else torch.zeros_like(tensor, dtype=torch.bool)


def _worst(wrong: torch.Tensor, found: torch.Tensor, expected: torch.Tensor) -> tuple[int, ...]:
    """Where the difference is largest among the wrong elements (the first, where it has no size)."""
    wide = torch.complex128 if found.is_complex() else torch.float64
    gap = (found.to(wide) - expected.to(wide)).abs()
    gap = torch.where(torch.isfinite(gap), gap, torch.inf)
    flat = int(torch.where(wrong, gap, -torch.ones_like(gap)).reshape(-1).argmax())
    place = []
    for size in reversed(found.shape):
        place.append(flat % size)
        flat //= size
    return tuple(reversed(place))


def _entry(index: int, kind: str, dtype: str, detail: str, at: tuple[int, ...] = ()) -> dict[str, Any]:
    return {"index": index, "kind": kind, "dtype": dtype, "detail": detail, "at": list(at)}
