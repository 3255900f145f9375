"""Compiling and packaging with the audit built in, on real compilations without a GPU."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kernelscope.audit import audit
from kernelscope.audit.results import Verdict
from kernelscope.errors import KernelscopeError
from kernelscope.packaging.torch_names import declared_ranges

ROOT = Path(__file__).parents[2]
CAPTURE = ROOT / "fixtures" / "capture"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("packages")
    environment = {**os.environ, "VIRTUAL_GPU_DIR": str(tmp_path_factory.mktemp("gpu")), "PYTHONPATH": str(ROOT)}
    command = [str(CAPTURE / "run"), sys.executable, str(Path(__file__).parent / "compile_policies.py"), str(folder)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads((folder / "found.json").read_text())
    return result


@pytest.mark.torch
@pytest.mark.slow
class TestCompiled:
    def test_ranges_that_fit_give_torchs_own_bytes(self, found: dict[str, Any]) -> None:
        case = found["fits"]
        assert case["returned"] == case["path"] and case["audits"] == ["safe"] and not case["warnings"]
        assert hashlib.sha256(Path(case["path"]).read_bytes()).hexdigest() == case["torch_hash"]

    def test_an_unbounded_dimension_raises_and_leaves_nothing(self, found: dict[str, Any]) -> None:
        case = found["error"]
        assert not case["exists"] and not case["left"]
        assert "at s33 = 524289" in case["error"] and "declare max=524288 for s33 (input0[0])" in case["error"]

    def test_huge_bounds_in_several_dimensions_raise(self, found: dict[str, Any]) -> None:
        assert not found["three_dimensions"]["exists"] and "out-of-bounds access" in found["three_dimensions"]["error"]

    def test_the_audit_warns_and_packages(self, found: dict[str, Any]) -> None:
        case = found["audit"]
        assert case["exists"] and case["audits"] == ["unsafe"] and len(case["warnings"]) == 1
        assert audit([case["path"]]).verdict is Verdict.UNSAFE

    def test_the_patched_package_is_safe_for_the_programs_own_ranges(self, found: dict[str, Any]) -> None:
        case = found["patch"]
        assert case["exists"] and case["audits"] == ["safe"] and not case["warnings"] and not case["left"]
        assert audit([case["path"]]).verdict is Verdict.SAFE

    def test_off_is_torchs_call_alone(self, found: dict[str, Any]) -> None:
        case = found["off"]
        assert case["exists"] and case["audits"] == [] and not case["warnings"]


class _Infinity:
    def __int__(self) -> int:
        raise TypeError


def test_infinite_ends_are_no_bound() -> None:
    program = SimpleNamespace(range_constraints={"s0": SimpleNamespace(lower=2, upper=_Infinity())})
    assert declared_ranges(program) == {"s0": (2, None)}


def test_what_is_no_program_is_refused() -> None:
    with pytest.raises(KernelscopeError, match="range_constraints"):
        declared_ranges(object())
