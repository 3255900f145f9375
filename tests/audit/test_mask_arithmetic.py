"""Conditions have one bit, in which true + true is false; and one that is not followed proves nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelscope.audit import audit
from kernelscope.audit.results import UnsafeFinding, Verdict

KERNEL = """import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, n, m, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + rows, 1.0, mask={mask})
"""
LAUNCH = """kernel = "kernel"
grid = ["cdiv(n, BLOCK)", "1", "1"]
[symbols]
n = [1, 1048576]
m = [1, 1048576]
[arguments]
n = "n"
m = "m"
[types]
n = "i32"
m = "i32"
[constexpr]
BLOCK = 1024
[tensors]
x_ptr = {dtype = "fp32", shape = ["1048576"], strides = ["1"]}
"""


def verdict_of(folder: Path, mask: str) -> tuple[Verdict, int]:
    (folder / "k.py").write_text(KERNEL.format(mask=mask))
    (folder / "k.toml").write_text(LAUNCH)
    (artifact,) = audit([str(folder / "k.py")], launch_file=str(folder / "k.toml")).artifacts
    assert artifact.error is None
    findings = [f for model in artifact.models for kernel in model.kernels for f in kernel.findings]
    return artifact.verdict, sum(isinstance(finding, UnsafeFinding) for finding in findings)


@pytest.mark.parametrize("mask", ["(rows < n) & (rows < m)", "(rows < n) | (rows < m)", "(rows < n) * (rows < m)"])
def test_logic_on_conditions_is_exact(tmp_path: Path, mask: str) -> None:
    assert verdict_of(tmp_path, mask) == (Verdict.SAFE, 0)


@pytest.mark.parametrize("mask", ["(rows < n) + (rows < m)", "((rows < n) + (rows < m)) & (rows >= 0)"])
def test_a_sum_of_conditions_loses_lanes_where_both_hold(tmp_path: Path, mask: str) -> None:
    verdict, unsafe = verdict_of(tmp_path, mask)
    assert verdict is Verdict.UNSAFE and unsafe


@pytest.mark.parametrize("mask", ["(rows < n) - (rows < m)", "(rows < n) << (rows < m)", "~((rows < n) + (rows < m))"])
def test_other_arithmetic_on_conditions_is_not_called_safe(tmp_path: Path, mask: str) -> None:
    assert verdict_of(tmp_path, mask)[0] is not Verdict.SAFE


@pytest.mark.parametrize(
    "mask",
    [
        "tl.inline_asm_elementwise('x', '=r,r', [rows * 4096], dtype=tl.int1, is_pure=True, pack=1)",
        "(rows < n) & tl.inline_asm_elementwise('x', '=r,r', [rows], dtype=tl.int1, is_pure=True, pack=1)",
        "tl.not_in_triton(rows * 4096)",
        "~tl.not_in_triton(rows * 4096)",
    ],
)
def test_a_condition_that_is_not_followed_is_unknown(tmp_path: Path, mask: str) -> None:
    assert verdict_of(tmp_path, mask) == (Verdict.UNKNOWN, 0)
