"""An audit works where torch, triton, libcst and z3 are not installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("torch", "triton", "libcst", "z3", "elftools", "fsspec", "sympy")


@pytest.mark.parametrize("module", ["kernelscope", "kernelscope.artifact", "kernelscope.bounds", "kernelscope.audit"])
def test_importing_a_stage_of_the_audit_imports_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
