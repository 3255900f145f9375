"""Integers made from indices that are stored: wrong where an operation on the way reads a wrapped one in full."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelscope.audit.results import Consequence, UnsafeFinding, Verdict
from tests.audit.test_hidden_ways import audited

_HEAD = "pid = tl.program_id(0)\no = pid * B + tl.arange(0, B)\n"
_DATA = _HEAD + "t = tl.load(i_ptr + o, mask=o < n, other=0)\n"
_STORE = _HEAD + "tl.store({pointer} + o, {value}, mask=o < n)"
_SUM = "s = tl.zeros([B], tl.float32)\nfor i in range(0, n, B):\n"
_END = "tl.store(x_ptr, tl.sum(s, 0))"
_ONE = '["1", "1", "1"]'


def stored(value: str, pointer: str = "i_ptr") -> str:
    return _STORE.format(pointer=pointer, value=value)


LIMITS = {
    "quotient": (stored("(o * 4) // 3"), 2**29),
    "quotient of a negative": (stored("-(o * 4) // 3"), 2**29 + 1),
    "remainder": (stored("(o * 4) % 1000"), 2**29),
    "shifted right": (stored("(o * 4) >> 3"), 2**29),
    "lesser": (stored("tl.minimum(o * 4, 100)"), 2**29),
    "distance from zero": (stored("tl.abs(o * 4)"), 2**29),
    "quotient inside a sum": (stored("(o * 4) // 3 + o * 8"), 2**29),
    "quotient of a scan's operand": (stored("tl.cumsum((o * 4) // 3, 0)"), 2**29),
    "equal to loaded data": (_DATA + "tl.store(x_ptr + o, t == o * 4, mask=o < n)", 2**30),
    "compared with loaded data": (_DATA + "tl.store(x_ptr + o, tl.where(t < o * 4, 1.0, 0.0), mask=o < n)", 2**29),
    "greatest of a block": (_HEAD + "tl.store(i_ptr + pid, tl.max(tl.where(o < n, o * 4, 0), 0))", 2**29),
    "position of the greatest": (_HEAD + "tl.store(i_ptr + pid, tl.argmax(tl.where(o < n, o * 4, 0), 0))", 2**29),
    "sum of a block as floats": (_HEAD + "tl.store(x_ptr + pid, tl.sum(tl.where(o < n, o * 4, 0).to(tl.float32), 0))", 2**29),
}  # fmt: skip
LOOPS = {
    "summed over a loop as floats": ("s = 0.0\nfor i in range(n):\n    s += (i * 4).to(tl.float32)\ntl.store(x_ptr, s)", 2**29),
    "quotients summed over a loop": ("s = 0\nfor i in range(n):\n    s += (i * 4) // 3\ntl.store(i_ptr, s)", 2**29),
    "summed over a loop in blocks": (
        _SUM + "    o = i + tl.arange(0, B)\n    s = tl.where(o < n, s + (o * 4).to(tl.float32), s)\n" + _END, 2**29,
    ),
}  # fmt: skip
EARLIER = {
    "integers": "s = 0\nfor i in range(n):\n    tl.store(i_ptr + i, s)\n    s += (i * 4) // 3",
    "floats": "s = 0.0\nfor i in range(n):\n    tl.store(x_ptr + i, s)\n    s += (i * 4).to(tl.float32)",
    "another variable": "s, t = 0.0, 0.0\nfor i in range(n):\n    s, t = t, s + (i * 4).to(tl.float32)\ntl.store(x_ptr, s)",
}
MODULAR = {
    "product": stored("o * 4"),
    "sum and product": stored("o * 4 + n"),
    "bits": stored("(o * 4) ^ 5"),
    "low bits": stored("(o * 4) & 1023"),
    "sum of products of a block": _HEAD + "tl.store(i_ptr + pid, tl.sum(tl.where(o < n, o * 4, 0), 0))",
}


@pytest.mark.parametrize(("body", "largest"), LIMITS.values(), ids=LIMITS.keys())
def test_largest_safe_size(tmp_path: Path, body: str, largest: int) -> None:
    model = audited(tmp_path, body)
    assert (model.verdict, model.largest_safe["n"]) == (Verdict.UNSAFE, largest)
    findings = [f for k in model.kernels for f in k.findings if isinstance(f, UnsafeFinding)]
    assert Consequence.WRONG_RESULT in {f.consequence for f in findings if f.largest_safe["n"] == largest}


@pytest.mark.parametrize(("body", "largest"), LOOPS.values(), ids=LOOPS.keys())
def test_largest_safe_size_of_what_a_loop_sums(tmp_path: Path, body: str, largest: int) -> None:
    model = audited(tmp_path, body, grid=_ONE)
    assert (model.verdict, model.largest_safe["n"]) == (Verdict.UNSAFE, largest)


@pytest.mark.parametrize("body", EARLIER.values(), ids=EARLIER.keys())
def test_what_earlier_iterations_made_of_a_variable_counts(tmp_path: Path, body: str) -> None:
    assert audited(tmp_path, body, 1 << 29, grid=_ONE).verdict is Verdict.SAFE
    assert audited(tmp_path, body, 1 << 30, grid=_ONE).verdict is not Verdict.SAFE


SUMS = {
    "of conditions": _HEAD + "tl.store(x_ptr + pid.to(tl.int64) * B + tl.sum((o < n).to(tl.int32), 0), 1.0)",
    "of lanes": "tl.store(x_ptr + tl.sum(tl.arange(0, B), 0), 1.0)",
}


@pytest.mark.parametrize("body", SUMS.values(), ids=SUMS.keys())
def test_a_sum_over_a_block_is_bounded(tmp_path: Path, body: str) -> None:
    assert audited(tmp_path, body, (1 << 31) - 256).verdict is Verdict.SAFE


@pytest.mark.parametrize("body", MODULAR.values(), ids=MODULAR.keys())
def test_the_low_bits_of_a_wrapped_integer_are_right(tmp_path: Path, body: str) -> None:
    assert audited(tmp_path, body, (1 << 31) - 256).verdict is Verdict.SAFE
