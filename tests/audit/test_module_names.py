"""Constants and functions around a kernel: their values are used only where they are certain."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelscope.audit.results import UnknownFinding, Verdict
from tests.audit.test_hidden_ways import audited

_HEAD = "pid = tl.program_id(0)\no = pid * B + tl.arange(0, B)\n"
_CONSTANT = _HEAD + "tl.store(x_ptr + o * M, 1.0, mask=o < n)"
_CALL = _HEAD + "tl.store(x_ptr + f(o), 1.0, mask=o < n)"
_F = "@triton.jit\ndef f(o):\n    return o\n"
#: Each makes M 4, or f multiply by 4, which wraps from n = 2**29 + 1 on.
UNCERTAIN = {
    "branch": (_CONSTANT, "M = tl.constexpr(1)\nif triton.__version__:\n    M = tl.constexpr(4)\n"),
    "loop": (_CONSTANT, "M = 1\nfor M in (2, 4):\n    pass\n"),
    "augmented": (_CONSTANT, "M = 1\nM *= 4\n"),
    "tuple": (_CONSTANT, "M = 1\nM, N = 4, 5\n"),
    "global statement": (_CONSTANT, "M = 1\ndef g():\n    global M\n    M = 4\ng()\n"),
    "assignment expression": (_CONSTANT, "M = 1\nprint(M := 4)\n"),
    "computed from a name that is set again": (_CONSTANT, "A = 4\nM = A * 1\nA = 1\n"),
    "function in a branch": (_CALL, _F + "if triton.__version__:\n    @triton.jit\n    def f(o):\n        return o * 4\n"),
    "default that is set again": (_CALL, "K = 4\n@triton.jit\ndef f(o, k: tl.constexpr = K):\n    return o * k\nK = 1\n"),
    "function given another one's name": (_CALL, _F + "@triton.jit\ndef g(o):\n    return o * 4\nf = g\n"),
}
CERTAIN = {
    "two names": (_CONSTANT, "M = N = tl.constexpr(4)\n"),
    "set twice": (_CONSTANT, "M = tl.constexpr(1)\nM = tl.constexpr(4)\n"),
    "function defined twice": (_CALL, _F + _F.replace("return o", "return o * 4")),
}


@pytest.mark.parametrize(("body", "before"), UNCERTAIN.values(), ids=UNCERTAIN.keys())
def test_a_value_that_is_not_certain_makes_nothing_safe(tmp_path: Path, body: str, before: str) -> None:
    assert audited(tmp_path, body, 1 << 30, before=before).verdict is not Verdict.SAFE


@pytest.mark.parametrize(("body", "before"), CERTAIN.values(), ids=CERTAIN.keys())
def test_the_last_of_several_plain_bindings_counts(tmp_path: Path, body: str, before: str) -> None:
    assert audited(tmp_path, body, before=before).largest_safe["n"] == 2**29


def test_an_unknown_name_is_no_error_of_the_kernel(tmp_path: Path) -> None:
    model = audited(tmp_path, _CONSTANT, 1 << 20)
    assert model.verdict is Verdict.UNKNOWN
    assert {type(finding) for kernel in model.kernels for finding in kernel.findings} == {UnknownFinding}
