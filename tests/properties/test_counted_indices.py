"""Random int8 counts that a loop adds up, against runs of the loop with every size and with extreme data."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from kernelscope.audit import audit
from kernelscope.audit.claims import BUFFER_RULE
from kernelscope.audit.results import Verdict

_LARGEST, _EXTENT = 150, 100
_FACTS = f"""
grid = ["1", "1", "1"]
kernel = "k"
[symbols]
n = [1, {_LARGEST}]
[arguments]
n = "n"
[types]
n = "i32"
[tensors]
x_ptr = {{dtype = "fp32", shape = ["{_EXTENT}"], strides = ["1"]}}
i_ptr = {{dtype = "i8", shape = ["n"], strides = ["1"], values = [LOW, HIGH]}}
"""


@dataclass(frozen=True)
class Term:
    """`read` of the iteration, the data loaded in it, the count so far, and whether arithmetic wraps."""

    text: str
    read: Callable[[int, int, int, bool], int]


def wrapped(value: int, wraps: bool) -> int:
    return (value + 128) % 256 - 128 if wraps else value


def scaled(factor: int) -> Term:
    return Term(f"(i.to(tl.int8) * {factor})", lambda i, t, c, w: wrapped(wrapped(i, w) * factor, w))


DATA = Term("t", lambda i, t, c, w: t)
COUNT = Term("c", lambda i, t, c, w: c)


def compared(term: Term, limit: int) -> Term:
    return Term(f"({term.text} < {limit})", lambda i, t, c, w: int(term.read(i, t, c, w) < limit))


def as_number(term: Term) -> Term:
    return Term(f"{term.text}.to(tl.int8)", term.read)


def constant(value: int) -> Term:
    return Term(f"tl.full([], {value}, tl.int8)", lambda i, t, c, w: value)


def plus(left: Term, right: Term) -> Term:
    return Term(f"{left.text} + {right.text}", lambda i, t, c, w: wrapped(left.read(i, t, c, w) + right.read(i, t, c, w), w))


def chosen(condition: Term, yes: Term, no: Term) -> Term:
    def read(i: int, t: int, c: int, w: bool) -> int:
        return yes.read(i, t, c, w) if condition.read(i, t, c, w) else no.read(i, t, c, w)

    return Term(f"tl.where({condition.text}, {yes.text}, {no.text})", read)


small = st.integers(-4, 4)
terms = st.one_of(st.just(DATA), st.integers(1, 3).map(scaled), small.map(constant))
conditions = st.builds(compared, st.one_of(st.just(DATA), st.integers(1, 3).map(scaled)), st.integers(-50, 100))
amounts = st.one_of(small.map(constant), conditions.map(as_number), terms)
added = amounts.map(lambda amount: plus(COUNT, amount))
updates = st.one_of(added, st.builds(chosen, conditions, added, st.one_of(st.just(COUNT), terms, added)))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(updates, st.integers(-5, 5), st.tuples(st.integers(-3, 3), st.integers(-3, 3)), st.sampled_from([1, 2]))
def test_no_count_called_safe_differs_in_any_run(update: Term, start: int, ends: tuple[int, int], factor: int) -> None:
    low, high = sorted(ends)
    index = "c" if factor == 1 else f"c * {factor}"
    body = (
        f"    c = tl.full([], {start}, tl.int8)\n    for i in range(n):\n        t = tl.load(i_ptr + i)\n"
        f"        tl.store(x_ptr + {index}, 1.0)\n        c = {update.text}\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        source, facts = Path(folder, "k.py"), Path(folder, "k.toml")
        source.write_text(f"import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(x_ptr, i_ptr, n):\n{body}")
        facts.write_text(_FACTS.replace("LOW", str(low)).replace("HIGH", str(high)))
        result = audit([str(source)], launch_file=str(facts))
    assert result.artifacts[0].error is None
    if result.verdict is not Verdict.SAFE:
        return
    for data in ((low, low), (high, high), (low, high), (high, low)):
        exact = machine = start
        for i in range(_LARGEST):
            right, wrong = exact * factor, wrapped(machine * factor, True)
            outside = BUFFER_RULE in result.assumptions.rules and not 0 <= right < _EXTENT
            assert outside or right == wrong, (body, low, high, i)
            t = data[i % 2]
            exact, machine = update.read(i, t, exact, False), update.read(i, t, machine, True)
