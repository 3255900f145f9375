"""Kernels with 64-bit indices are narrowed where 32 bits are proved to be enough, and nowhere else."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from kernelscope import audit
from kernelscope.audit.overwide import narrowing_changes, with_changes
from kernelscope.audit.results import Note, Verdict
from kernelscope.patching import patch
from kernelscope.patching.report import PatchDeclined, Patched
from kernelscope.replay.equivalence import EquivalenceState, check_equivalence
from kernelscope.rewrite.narrow import narrow, narrow_loaded
from kernelscope.rewrite.rewriting import NotRewritten, Rewriting
from tests.rewrite.subjects import FIXTURES, PATCHES, fixture

HUGE = ["cat", "embedding", "i64bound", "layernorm", "softmax2d"]


def symbols(name: str) -> list[str]:
    (subject,) = fixture(f"{name}.huge").values()
    return [symbol.name for symbol in subject.symbols]


def up_to(name: str, maximum: int) -> dict[str, tuple[int, int]]:
    return dict.fromkeys(symbols(name), (2, maximum))


def bounded(name: str, maximum: int):
    (subject,) = fixture(f"{name}.huge").values()
    return replace(subject, ranges=up_to(name, maximum))


@pytest.mark.parametrize("name", HUGE)
def test_small_ranges_are_narrowed_and_proved(name: str) -> None:
    result = narrow(bounded(name, 1024), PATCHES)
    assert isinstance(result, Rewriting) and not result.widened
    body = result.text[result.text.index("@triton.jit") :]
    assert "program_id(0).to(tl.int64)" not in body and "arange(0, XBLOCK)[:].to(tl.int64)" not in body
    assert len(result.text.splitlines()) == len(bounded(name, 1024).kernel.source.splitlines())
    ast.parse(result.text)


@pytest.mark.parametrize("name", HUGE)
def test_large_ranges_are_left_alone(name: str) -> None:
    result = narrow(bounded(name, 2**33), PATCHES)
    assert isinstance(result, NotRewritten) and ("need 64 bits" in result.reason or "not proved" in result.reason)


def test_the_last_batch_that_fits_is_narrowed_and_the_next_is_not() -> None:
    """4096*s10 - 1 is the last element of layernorm: 2**31 of them fit, as in the 32-bit package."""
    assert isinstance(narrow(bounded("layernorm", 524288), PATCHES), Rewriting)
    assert isinstance(narrow(bounded("layernorm", 524289), PATCHES), NotRewritten)


def test_a_kernel_in_32_bits_has_nothing_to_narrow() -> None:
    (subject,) = fixture("layernorm.small").values()
    result = narrow(subject, PATCHES)
    assert isinstance(result, NotRewritten) and "no 64-bit program ids" in result.reason


def test_a_loaded_index_is_narrowed_where_an_assertion_bounds_it() -> None:
    result = narrow_loaded(bounded("embedding", 1024), PATCHES)
    assert isinstance(result, Rewriting) and "4096*tmp0.to(tl.int32)" in result.text


def test_casts_of_what_was_loaded_or_computed_stay() -> None:
    source = """@triton.jit
def kernel(in_ptr, n, BLOCK: tl.constexpr):
    i = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
    j = tl.load(in_ptr + i).to(tl.int64)
    k = n.to(tl.int64) + i
    tl.store(in_ptr + j, k, i < n)
"""
    changed = with_changes(source, narrowing_changes(source, "kernel", frozenset({"n"})))
    assert "i = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))\n" in changed
    assert "tl.load(in_ptr + i).to(tl.int64)" in changed and "n.to(tl.int32).to(tl.int64) + i" in changed
    assert "i < n.to(tl.int32))" in changed


@pytest.mark.parametrize("source", ["", "def kernel(:", "x = 1", "def other(): pass"])
def test_what_is_no_such_kernel_has_no_changes(source: str) -> None:
    assert narrowing_changes(source, "kernel", frozenset()) == ()


@pytest.mark.parametrize("name", HUGE)
def test_an_audit_notes_it_within_small_ranges_only(name: str) -> None:
    package = FIXTURES / f"{name}.huge.pt2"
    for maximum, noted in ((1024, True), (2**33, False)):
        result = audit(package, ranges=up_to(name, maximum))
        codes = [f.code for m in result.artifacts[0].models for k in m.kernels for f in k.findings if isinstance(f, Note)]
        assert ("KS501" in codes) is noted
        assert not noted or result.verdict is Verdict.SAFE


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("name", ["cat", "softmax2d"])
def test_the_narrowed_package_is_cheaper_safe_and_gives_the_same_bits(name: str, tmp_path: Path) -> None:
    package, output = FIXTURES / f"{name}.huge.pt2", tmp_path / "narrow.pt2"
    report = patch(package, output, narrow=True, ranges=up_to(name, 1024))
    (kernel,) = report.kernels
    assert isinstance(kernel, Patched) and kernel.before is not None and kernel.after is not None
    assert kernel.after.registers < kernel.before.registers and kernel.after.instructions < kernel.before.instructions
    assert report.after is not None and report.after.verdict is Verdict.SAFE
    assert [one.state for one in check_equivalence(package, output)] == [EquivalenceState.EQUAL]
    assert audit(output).verdict is Verdict.UNSAFE  # without the promised ranges


@pytest.mark.torch
@pytest.mark.slow
def test_a_kernel_that_costs_no_less_is_declined_with_both_costs(tmp_path: Path) -> None:
    report = patch(FIXTURES / "embedding.huge.pt2", tmp_path / "out.pt2", narrow=True, ranges=up_to("embedding", 1024))
    (kernel,) = report.kernels
    assert isinstance(kernel, PatchDeclined) and "costs no less with 32-bit indices: registers" in kernel.reason
    assert not (tmp_path / "out.pt2").exists()
