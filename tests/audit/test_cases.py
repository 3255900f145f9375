"""Small kernels after public reports, each with its launch file; the safe ones are traps for pattern matchers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from kernelscope.audit import audit
from kernelscope.audit.results import Verdict
from tests.audit.packages import only_model, unknown_findings, unsafe_findings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CASES = Path(__file__).parents[1] / "cases"
TABLE: dict[str, dict[str, Any]] = tomllib.loads((CASES / "expected.toml").read_text(encoding="utf-8"))


def test_every_case_is_in_the_table() -> None:
    assert sorted(TABLE) == sorted(path.stem for path in CASES.glob("[0-9]*.py"))


@pytest.mark.parametrize(("name", "expected"), TABLE.items(), ids=list(TABLE))
def test_case_gets_its_verdict_lines_and_size(name: str, expected: dict[str, Any]) -> None:
    (artifact,) = audit([str(CASES / f"{name}.py")], launch_file=str(CASES / f"{name}.toml")).artifacts
    model = only_model(artifact)
    assert artifact.verdict.word == expected["verdict"]
    assert unknown_findings(artifact) == []
    findings = unsafe_findings(artifact)
    lines = {finding.location.line for finding in findings}
    if expected["fault_lines"]:
        assert lines and lines <= set(expected["fault_lines"]), lines
    else:
        assert lines == set()
    if expected["verdict"] == "unsafe" and "largest_safe" in expected:
        limited = {symbol: size for symbol, size in model.largest_safe.items() if size is not None}
        assert limited == expected["largest_safe"]
    if expected["whole_range"]:
        (symbol,) = expected["largest_safe"]
        assert {s.name: s.maximum for s in model.symbols}[symbol] == expected["largest_safe"][symbol]
        assert model.kernels[0].verdict is Verdict.SAFE
