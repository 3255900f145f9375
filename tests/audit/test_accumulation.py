"""Counts that a loop adds up and that index memory: proved where they fit, never called safe where they may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelscope.audit.results import Verdict
from tests.audit.test_hidden_ways import audited

_LOOP = "for i in range(0, n, B):\n    o = i + tl.arange(0, B)\n    t = tl.load(i_ptr + o, mask=o < n, other=0)\n"
_ONE = '["1", "1", "1"]'
#: A running position among the kept elements, as `masked_scatter` counts it, in a given type.
_COUNTED = (
    "c = tl.full([], {start}, {type})\n" + _LOOP + "    k = (t != 0).to({type})\n    s = tl.cumsum(k, 0)\n"
    "    tl.store(x_ptr + {index}, 1.0, mask=(t != 0) & (o < n))\n    c = c + {amount}"
)


def counted(type_: str, index: str = "(c + s - 1)", amount: str = "tl.sum(k, 0)", start: str = "0") -> str:
    return _COUNTED.format(type=type_, index=index, amount=amount, start=start)


SAFE = {
    "in 64 bits": counted("tl.int64"),
    "scaled in 64 bits": counted("tl.int64", "(c + s - 1) * 4096"),
    "counted down": counted("tl.int64", "(c + s)", "(-tl.sum(k, 0))", "1000"),
    "in 32 bits with a bounded loop": counted("tl.int32").replace("range(0, n, B)", "range(0, 4096, B)"),
    "started anew": counted("tl.int64", amount="0").replace("c = c + 0", "c = tl.where(i > 4096, c + s, s).to(tl.int64)")
    .replace("tl.full([], 0, tl.int64)", "tl.zeros([B], tl.int64)"),
}  # fmt: skip
_SCALAR = "c = tl.full([], 0, tl.int64)\nfor i in range(n):\n    tl.store(x_ptr + c, 1.0)\n    "
NOT_SAFE = {
    "chosen by a condition that wraps": _SCALAR + "c = tl.where(i * 4096 > 5, c + 1, c)",
    "of comparisons that wrap": _SCALAR + "c = c + (i * 4096 > 5).to(tl.int64)",
    "of what wraps before it is widened": _SCALAR + "c = c + (i * 4096).to(tl.int64)",
    "started anew with what wraps": _SCALAR + "t = tl.load(i_ptr + i)\n    c = tl.where(t > 3, c + 1, (i * 4096).to(tl.int64))",
    "in a branch whose condition wraps": _SCALAR + "if i * 4096 > 5:\n        c = c + 1",
    "scaled in 32 bits": counted("tl.int32", "(c + s - 1) * 4096"),
    "of data": counted("tl.int32", amount="tl.sum(t, 0)"),
    "doubled each time": counted("tl.int32", amount="c + 1"),
    "each of two adds the other": "e = 1\n" + counted("tl.int32", "(c + e)", "e").replace("    k =", "    e = e + c\n    k ="),
}  # fmt: skip


@pytest.mark.parametrize("body", SAFE.values(), ids=SAFE.keys())
def test_a_count_that_fits_is_proved(body: str, tmp_path: Path) -> None:
    result = audited(tmp_path, body, 2**30, _ONE)
    assert result.verdict is Verdict.SAFE


@pytest.mark.parametrize("body", NOT_SAFE.values(), ids=NOT_SAFE.keys())
def test_a_count_that_may_wrap_is_not_called_safe(body: str, tmp_path: Path) -> None:
    assert audited(tmp_path, body, 2**30, _ONE).verdict is not Verdict.SAFE
