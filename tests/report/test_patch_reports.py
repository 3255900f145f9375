from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from kernelscope import __version__
from kernelscope.patching.report import Patched, WrapperChange
from kernelscope.report.console import TextStyle
from kernelscope.report.patch_json import patch_json
from kernelscope.report.patch_remaining import remaining
from kernelscope.report.patch_text import cost_text, patch_text
from tests.report import patch_reports, results

COMMAND = ["kernelscope", "patch", "in.pt2", "-o", "out.pt2"]


@pytest.mark.parametrize("name", ["cured", "mixed", "dry"])
def test_text_is_the_expected_one(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"patch_{name}.txt", patch_text(getattr(patch_reports, name)(), TextStyle(width=80)))


def test_json_is_the_expected_one(golden: Callable[[str, str], None]) -> None:
    text = patch_json(patch_reports.mixed(), COMMAND)
    golden("patch_mixed.json", text.replace(f'"{__version__}"', '"VERSION"'))


def test_json_tells_the_outcome_of_each_kernel() -> None:
    document = json.loads(patch_json(patch_reports.mixed(), COMMAND))
    assert [k["result"] for k in document["kernels"]] == ["patched", "patched", "declined", "failed"]
    assert (document["verdict_before"], document["verdict_after"], document["ok"]) == ("unsafe", "unsafe", False)
    assert document["kernels"][0]["cost"]["after"]["spills"] == 3
    assert {one["kernel"] for one in document["not_safe"]} == {"declined", "failed"}


def test_without_a_result_json_has_no_verdict_after() -> None:
    document = json.loads(patch_json(patch_reports.dry(), COMMAND))
    assert (document["output"], document["verdict_after"], document["totals_after"]) == (None, None, None)


def test_what_was_not_asked_for_is_not_hidden() -> None:
    before = patch_reports.audited(results.unsafe_kernel(patch_reports.NORM), results.unsafe_kernel("other"))
    (left,) = remaining(replace(patch_reports.cured(), before=before, after=None))
    assert (left.kernel, left.reason) == ("other", "it was not asked for")


def test_a_kernel_of_the_same_name_in_another_model_is_not_hidden_by_a_patched_one() -> None:
    failed = replace(patch_reports.FAILED, kernel=patch_reports.NORM)
    report = patch_reports.report((patch_reports.PATCHED, failed), None, False, WrapperChange.NONE)
    assert {left.reason for left in remaining(report)} == {patch_reports.FAILED.error}


def test_a_grid_that_cuda_cannot_launch_asks_for_a_limit() -> None:
    grid = replace(results.UNSAFE, code="KS302")
    kernel = replace(results.unsafe_kernel(patch_reports.NORM), findings=(grid,))
    (left,) = remaining(replace(patch_reports.cured(), after=patch_reports.audited(kernel)))
    assert left.reason.endswith("declare a limit")


def test_cost_that_was_not_measured_is_not_a_number() -> None:
    assert cost_text(patch_reports.BEFORE, None) == "registers 32 -> ?, spills 0 -> ?, instructions 664 -> ?"
    assert cost_text(None, None).startswith("not measured")


def test_a_long_list_of_changes_is_cut_and_says_so() -> None:
    patched = replace(patch_reports.PATCHED, changes=patch_reports.PATCHED.changes * 20)
    assert isinstance(patched, Patched)
    text = patch_text(replace(patch_reports.cured(), kernels=(patched,)), TextStyle(width=80))
    assert "and 8 more lines: see --format json" in text
