"""The fewest casts that prove a kernel, each on an operand."""

from __future__ import annotations

import re
import sys
from importlib import import_module

import pytest

from kernelscope.audit import audit
from kernelscope.audit.results import Verdict
from kernelscope.rewrite.minimal import minimal, minimal_at_use
from kernelscope.rewrite.rewriting import NothingToDo, Rewriting
from kernelscope.rewrite.subject import edited, standing
from tests.rewrite.subjects import CASES, FIXTURES, PATCHES, case, fixture

tomllib = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
EXPECTED = tomllib.loads((CASES / "expected.toml").read_text())
#: What no rewrite of the kernel cures: grids beyond CUDA's limits.
GRIDS = {
    "21_inductor_y_grid_limit", "23_bmm_batch_on_grid_y", "24_x_grid_overflow_small_block",
    "25_grid_product_launcher", "33_split_scan_xnumel_on_grid_y",
}  # fmt: skip
UNSAFE = sorted(name for name, entry in EXPECTED.items() if entry["verdict"] == "unsafe" and name not in GRIDS)
UNTOUCHED = sorted(set(EXPECTED) - set(UNSAFE))
_WIDENED = re.compile(r"^(?P<name>\w+)\s*=\s*[\"']i32[\"']", re.MULTILINE)


@pytest.mark.parametrize("name", UNSAFE)
def test_unsafe_cases_are_patched_and_audit_safe(name, tmp_path):
    result = minimal(case(name), PATCHES)
    assert isinstance(result, Rewriting), result
    kernel, launch = tmp_path / "kernel.py", tmp_path / "launch.toml"
    kernel.write_text(result.text)
    facts = (CASES / f"{name}.toml").read_text()
    launch.write_text(_WIDENED.sub(lambda m: m[0].replace("i32", "i64") if m["name"] in result.widened else m[0], facts))
    audited = audit([str(kernel)], launch_file=str(launch))
    assert audited.verdict is Verdict.SAFE


@pytest.mark.parametrize("name", UNTOUCHED)
def test_cases_without_a_cure_or_a_fault_are_left_alone(name):
    assert isinstance(minimal(case(name), PATCHES), NothingToDo)


@pytest.mark.parametrize("name", UNSAFE)
def test_no_cast_lands_on_a_finished_product(name):
    for write in (minimal, minimal_at_use):
        result = write(case(name), PATCHES)
        if isinstance(result, Rewriting):
            casts = re.findall(r"(\([^()]*\))\.to\(tl\.int64\)", result.text)
            before = re.findall(r"(\([^()]*\))\.to\(tl\.int64\)", case(name).kernel.source)
            assert not [c for c in casts if "*" in c and c not in before]


@pytest.mark.parametrize("name", UNSAFE)
def test_every_cast_is_needed(name):
    subject = case(name)
    result = minimal(subject, PATCHES)
    for cast in result.edits:
        rest = [edit for edit in result.edits if edit is not cast]
        assert not standing(edited(subject, rest)).is_proved


@pytest.mark.parametrize(
    ("name", "widened"),
    [("layernorm", set()), ("embedding", set()), ("cumsum", set()), ("userkernel", set()), ("i64bound", {"xnumel"}),
     ("softmax2d", {"r0_numel"})],
)  # fmt: skip
def test_arguments_stay_narrow_where_they_fit(name, widened):
    for subject in fixture(f"{name}.unbounded").values():
        assert minimal(subject, PATCHES).widened == widened


def test_layernorm_needs_one_cast():
    (subject,) = fixture("layernorm.unbounded").values()
    result = minimal(subject, PATCHES)
    assert len(result.edits) == 1
    assert "xoffset = tl.program_id(0).to(tl.int64) * XBLOCK\n" in result.text


def test_all_but_the_edit_stays_byte_for_byte():
    (subject,) = fixture("layernorm.unbounded").values()
    assert minimal(subject, PATCHES).text.replace("(0).to(tl.int64) * XBLOCK", "(0) * XBLOCK") == subject.kernel.source


def test_casts_at_the_use_leave_the_program_id_narrow():
    (subject,) = fixture("layernorm.unbounded").values()
    result = minimal_at_use(subject, PATCHES)
    assert result.text.count("4096*x0.to(tl.int64)") == 3
    assert "tl.program_id(0) * XBLOCK" in result.text


UNBOUNDED = sorted(path.stem for path in FIXTURES.glob("*.unbounded.pt2"))
OTHERS = ["transpose.huge", "userkernel.huge"]
OLDER = sorted(f"{p.parent.name}/{p.stem}" for p in FIXTURES.glob("torch2*/*.pt2"))
EXTRA = sorted(f"extra/{path.stem}" for path in (FIXTURES / "extra").glob("*.unbounded.pt2"))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*UNBOUNDED, *OTHERS, *OLDER])
def test_every_kernel_of_the_fixtures_is_proved_after_the_rewrite(name):
    for subject in fixture(name).values():
        result = minimal(subject, PATCHES)
        assert isinstance(result, (Rewriting, NothingToDo)), result
        if isinstance(result, Rewriting):
            assert standing(edited(subject, result.edits)).is_proved
