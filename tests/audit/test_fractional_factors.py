"""A product whose factor has fractional coefficients is bounded by what that factor really reaches."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelscope.audit import audit
from kernelscope.audit.results import UnsafeFinding, Verdict

CASES = Path(__file__).parents[1] / "cases"
CASE = "22_inductor_yz_grid_split_safe"


@pytest.mark.parametrize("offset", ["x1 * 64*y0", "x1 * (64*y0)", "64*y0 * x1", "(64*x1) * y0"])
def test_a_product_over_a_grid_that_is_split_wraps_where_it_does(offset: str, tmp_path: Path) -> None:
    """63 * 64 * (ynumel - 1) passes 2**31 - 1 from ynumel = 532612 on."""
    text = (CASES / f"{CASE}.py").read_text()
    assert "out_ptr0 + (x1 + 64*y0)" in text
    kernel = tmp_path / "k.py"
    kernel.write_text(text.replace("out_ptr0 + (x1 + 64*y0)", f"out_ptr0 + ({offset})"))
    result = audit([str(kernel)], launch_file=str(CASES / f"{CASE}.toml"))
    findings = [
        f for m in result.artifacts[0].models for k in m.kernels for f in k.findings if isinstance(f, UnsafeFinding)
    ]
    assert result.verdict is Verdict.UNSAFE
    assert {f.largest_safe["ynumel"] for f in findings} == {532611}
