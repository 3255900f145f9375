"""Types and ranges of index expressions, against values worked out by hand and against the audit's own evidence."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelscope.artifact import open_artifact
from kernelscope.audit.index_ranges import IndexRange
from kernelscope.audit.kernel_facts import FoundKernels, kernel_facts
from kernelscope.audit.kernel_text import KernelText
from kernelscope.audit.results import UnsafeFinding, Verdict
from kernelscope.audit.run import read_model
from kernelscope.report.show_text import kernel_names

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures"

KERNEL = """import triton
import triton.language as tl

@triton.jit
def copy(p, q, n, k, BLOCK: tl.constexpr):
    blocks = tl.cdiv(n, BLOCK)
    x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = x < n
    y = tl.where(x > 7, x - 8, x + 1)
    for i in range(0, k, 4):
        v = tl.load(p + (2*x + 1), inside)
        tl.store(q + (y + 100*i.to(tl.int64) + blocks), v, inside)
"""
LAUNCH = """
grid = ["cdiv(n, BLOCK)", "1", "1"]
[symbols]
s0 = [1, 20]
s1 = [1, 10]
[arguments]
n = "s0"
k = "s1"
[types]
p = "*fp32"
q = "*fp32"
n = "i32"
k = "i32"
[constexpr]
BLOCK = 8
[tensors]
p = {dtype = "fp32", shape = ["64"]}
q = {dtype = "fp32", shape = ["4096"]}
"""


def facts(path: str, launch: str | None = None, **more: object) -> FoundKernels:
    models = [read_model(model, launch) for model in open_artifact(path).models]
    return kernel_facts(path, models, kernel_names(models)[0], launch_file=launch, **more)  # type: ignore[arg-type]


def by_text(found: FoundKernels) -> dict[str, IndexRange]:
    (one,) = found.kernels
    assert one.kernel.source is not None
    text = KernelText.of(one.kernel.source)
    return {text.slice(r.span): r for r in one.ranges}


@pytest.fixture
def copied(tmp_path: Path) -> dict[str, IndexRange]:
    (tmp_path / "copy.py").write_text(KERNEL, encoding="utf-8")
    (tmp_path / "copy.toml").write_text(LAUNCH, encoding="utf-8")
    return by_text(facts(str(tmp_path / "copy.py"), str(tmp_path / "copy.toml")))


@pytest.mark.parametrize(
    ("expression", "type_", "low", "high"),
    [
        ("2*x + 1", "int32", 1, 39),  # of live lanes: x below n
        ("2*x", "int32", 0, 38),
        ("tl.program_id(0) * BLOCK", "int32", 0, 16),
        ("x - 8", "int32", 0, 11),  # where x > 7
        ("x + 1", "int32", 1, 8),  # elsewhere
        ("i", "int32", 0, 8),
        ("i.to(tl.int64)", "int64", 0, 8),
        ("100*i.to(tl.int64)", "int64", 0, 800),
        ("tl.cdiv(n, BLOCK)", "int32", 1, 3),  # and not what is computed on the way
    ],
)
def test_ranges_are_those_worked_out_by_hand(
    copied: dict[str, IndexRange], expression: str, type_: str, low: int, high: int
) -> None:
    one = copied[expression]
    assert (one.type, one.minimum, one.maximum, one.fits) == (type_, low, high, True)


def test_a_mask_is_told_on_every_lane(copied: dict[str, IndexRange]) -> None:
    left, right = copied["x < n"].compared
    assert (left.minimum, left.maximum, right.minimum, right.maximum) == (0, 23, 1, 20)


def test_a_range_from_the_command_line_narrows_the_facts() -> None:
    path = str(FIXTURES / "layernorm.unbounded.pt2")
    one = by_text(facts(path, ranges={"s10": (2, 100)}))["4096*x0"]
    assert (one.minimum, one.maximum, one.fits) == (0, 99 * 4096, True)


@pytest.mark.parametrize("package", sorted(p.name for p in FIXTURES.glob("*.pt2") if "small" not in p.name))
def test_ranges_hold_the_values_at_witnesses(package: str) -> None:
    path = str(FIXTURES / package)
    models = [read_model(model, None) for model in open_artifact(path).models]
    checked = 0
    for name in kernel_names(models):
        for one in kernel_facts(path, models, name).kernels:
            assert one.kernel.source is not None and one.ranges
            text = KernelText.of(one.kernel.source)
            places = {text.location(r.span): r for r in one.ranges if not r.compared}
            for finding in one.kernel.findings:
                known = places.get(finding.location)
                if isinstance(finding, UnsafeFinding) and known is not None and known.type == finding.type:
                    assert known.minimum is not None and known.minimum <= finding.witness.exact
                    assert known.maximum is not None and known.maximum >= finding.witness.exact
                    assert not known.fits
                    checked += 1
            if one.kernel.verdict is Verdict.SAFE:
                assert sum(not r.fits for r in one.ranges) <= 1  # sums whose parts cancel
    if package in ("layernorm.unbounded.pt2", "resnet18.unbounded.pt2", "transpose.huge.pt2"):
        assert checked
