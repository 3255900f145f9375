"""Indices read from memory and computed with, behind an assertion: what wraps and is caught by it is safe, and only that."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelscope.audit.results import Verdict
from tests.audit.test_hidden_ways import audited

_ANYTHING = "[-2147483648, 2147483647]"

_HEAD = "o = tl.program_id(0) * B + tl.arange(0, B)\nt = tl.load(i_ptr + o, mask=o < n, other=0)\n"
_END = "\ntl.store(x_ptr + i, 1.0, mask=o < n)"
_INSIDE = "tl.device_assert(((0 <= i) & (i < 514)) | ~(o < n))"


def kernel(index: str, assertion: str = _INSIDE) -> str:
    return _HEAD + index + "\n" + assertion + _END


CAUGHT = {
    "moved up": kernel("i = t + 100"),
    "moved down": kernel("i = t - 100"),
    "counted from the end where negative": kernel("j = t + 1\ni = tl.where(j < 0, j + 514, j)"),
    "kept or zero, and moved": kernel("j = t * (o % 3 != 0).to(tl.int32) + 1\ni = tl.where(j < 0, j + 514, j)"),
    "counted from the end of a size": kernel(
        "j = t + 100\ni = tl.where(j < 0, j + n, j)", "tl.device_assert(((0 <= i) & (i < n)) | ~(o < n))"
    ),
    "wraps a second time, in part": kernel("j = t + 100\ni = tl.where(j < 0, j - 50, j)"),
    "masked lanes are not asked about": kernel("i = t + 100", "tl.device_assert((o >= n) | ((i > 0) & (i < 514)))"),
}
_FROM_END = "i = tl.where(j < 0, j + 514, j)"
NOT_CAUGHT = {
    "no lower limit": kernel("j = t + 100\n" + _FROM_END, "tl.device_assert((i < 514) | ~(o < n))"),
    "no upper limit": kernel("j = t - 100\ni = tl.where(j > 513, j - 514, j)", "tl.device_assert((0 <= i) | ~(o < n))"),
    "limits that hold the wrapped": kernel(
        "j = t + 100\n" + _FROM_END, "tl.device_assert(((-2147483648 <= i) & (i < 514)) | ~(o < n))"
    ),
    "wraps to anything": kernel("j = t * 2\n" + _FROM_END),
    "wraps many times": kernel("j = t * 1001\n" + _FROM_END),
    "lanes that are not live": kernel("i = t + 100", "tl.device_assert(((0 <= i) & (i < 514)) | (o < n))"),
    "another value": kernel("i = t + 100", "tl.device_assert(((0 <= t) & (t < 514)) | (t > 2147483000) | ~(o < n))"),
    "brought back by a product of a size": kernel(
        "j = t + 100\ni = tl.where(j < 0, j + n * 4, j)", "tl.device_assert(((0 <= i) & (i < n)) | ~(o < n))"
    ),
    "brought back in part": kernel("j = t + 100\ni = tl.where(j < 0, j - 2147483600, j)"),
    "brought back by the other branch": kernel("j = t + 100\ni = tl.where(j < 0, 3, j)"),
    "another mask": kernel("j = t + 100\n" + _FROM_END, "tl.device_assert(((0 <= i) & (i < 514)) | ~(o < n - 1))"),
}


@pytest.mark.parametrize("body", CAUGHT.values(), ids=CAUGHT.keys())
def test_a_wrap_that_the_assertion_stops_is_safe(body: str, tmp_path: Path) -> None:
    assert audited(tmp_path, body, 2**29, values=_ANYTHING).verdict is Verdict.SAFE


@pytest.mark.parametrize("body", NOT_CAUGHT.values(), ids=NOT_CAUGHT.keys())
def test_a_wrap_that_passes_the_assertion_is_not_called_safe(body: str, tmp_path: Path) -> None:
    assert audited(tmp_path, body, 2**29, values=_ANYTHING).verdict is not Verdict.SAFE
