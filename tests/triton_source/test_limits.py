"""Hostile and absurd kernels: one clear error or an explicit unknown, in bounded time."""

from __future__ import annotations

import itertools

import pytest

from kernelscope.errors import KernelscopeError
from kernelscope.triton_source.interpreter import inductor_functions, language_functions
from tests.triton_source.build import program


@pytest.mark.parametrize(
    "body",
    [
        "x = 0x" + "f" * 100_000,
        "x = 1 << 10**9",
        "x = 10**10000000",
        "for i in tl.static_range(10**9):\n    pass",
        "x: tl.constexpr = (1,) * 10**9",
        'x: tl.constexpr = "a" * 10**9',
        'x: tl.constexpr = "%1000000000d" % 3',
        "x: tl.constexpr = (1, 2)\n" + "x: tl.constexpr = x + x\n" * 60,
        "x: tl.constexpr = 3\n" + "x: tl.constexpr = x * x\n" * 60,
    ],
    ids=lambda body: body[:30],
)
def test_absurd_sizes_are_refused(body: str) -> None:
    with pytest.raises(KernelscopeError) as caught:
        program(body)
    assert "line " in caught.value.where


@pytest.mark.parametrize(
    "body",
    [
        "x = n\n" + "x = x + x\n" * 2000 + "tl.load(p + x)",
        "x = n\nfor i in range(0, m):\n" + "    x = x + x\n" * 1000,
        "\n".join("    " * depth + f"for i{depth} in range(0, n):" for depth in range(18)) + "\n" + "    " * 18 + "n += 1",
        "x = " + " + ".join(["n"] * 400) + "\ntl.load(p + x)",
    ],
    ids=["doubling", "doubling in a loop", "nested loops", "a long sum"],
)
def test_deep_programs_are_built(body: str) -> None:
    assert not program(body).unmodelled


@pytest.mark.parametrize(
    "body",
    ["f = lambda a: a", "del n", "try:\n    x = 1\nexcept Exception:\n    x = 2", "for i in (1, 2):\n    pass", "x = {1: 2}",
     "for i in range(0, n):\n    break", "class A:\n    pass", "for i in range(0, n):\n    return"],
)  # fmt: skip
def test_syntax_that_is_not_followed_is_reported(body: str) -> None:
    assert program(body).unmodelled


_ARGUMENTS = (
    "", "n", "p, n", "n, n, n", "p, n, n, n, n, n", "tl.arange(0, 8), tl.arange(0, 8), 0, 0, 0, 0, 0, 0", "1, 2, 3",
    "p, (n,), (n,), (n,), (8,), (0,)", "tl.arange(0, 8), 0", "tl.arange(0, 8)[:, None], -5, True, True", "(n, m)",
    "unknown", "p, unknown, unknown", "unknown, n, p", "None", "tl.int32, tl.int32, tl.int32",
)  # fmt: skip
_FUNCTIONS = [
    *(f"tl.{name}" for name in language_functions.FUNCTIONS),
    *(f"triton_helpers.{name}" for name in inductor_functions.FUNCTIONS),
]


def test_no_arguments_break_a_library_function() -> None:
    for function, arguments in itertools.product(_FUNCTIONS, _ARGUMENTS):
        try:
            program(f"x = {function}({arguments})\ntl.store(p + n, x)")
        except KernelscopeError:
            continue
