"""A check's examples are its tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelscope.audit import audit
from kernelscope.audit.checks import Example, all_checks, check_of
from kernelscope.audit.results import UnsafeFinding, verdict_of
from kernelscope.errors import KernelscopeError

EXAMPLES = [(check.code, example) for check in all_checks() for example in check.examples]

#: Arithmetic that only a wrapper can hold, and faults of the artifact: no kernel and launch file can show them.
_WITHOUT_EXAMPLES = {"KS303", "KS305", "KS901", "KS902", "KS903"}


@pytest.mark.parametrize(("code", "example"), EXAMPLES, ids=[f"{code}: {e.about}" for code, e in EXAMPLES])
def test_example_gets_its_verdict(code: str, example: Example, tmp_path: Path) -> None:
    kernel, launch = tmp_path / "kernel.py", tmp_path / "launch.toml"
    kernel.write_text(example.source, encoding="utf-8")
    launch.write_text(example.launch, encoding="utf-8")
    (artifact,) = audit([str(kernel)], launch_file=str(launch)).artifacts
    assert artifact.error is None
    assert artifact.verdict is example.verdict
    findings = [finding for kernel in artifact.models[0].kernels for finding in kernel.findings]
    if example.verdict.word != "safe":
        assert {f.code for f in findings if verdict_of(f) is example.verdict} == {code}
    if example.expression is not None:
        assert example.expression in [f.expression for f in findings if isinstance(f, UnsafeFinding)]
    if example.largest_safe:
        assert artifact.models[0].largest_safe == example.largest_safe


def test_codes_are_unique_and_well_formed() -> None:
    codes = [check.code for check in all_checks()]
    assert len(set(codes)) == len(codes)
    assert all(len(code) == 5 and code.startswith("KS") and code[2:].isdigit() for code in codes)


def test_every_check_of_arithmetic_shows_what_is_unsafe_and_what_is_safe() -> None:
    for check in all_checks():
        if check.code < "KS4" and check.code not in _WITHOUT_EXAMPLES:
            assert check.unsafe and check.safe, check.code


def test_every_check_explains_itself() -> None:
    for check in all_checks():
        assert len(check.explanation) > 150, check.code
        assert check.title[0].islower() and not check.title.endswith("."), check.code


def test_a_code_is_found_in_small_letters_and_an_unknown_one_is_refused() -> None:
    assert check_of("ks101").title == "index arithmetic wraps"
    with pytest.raises(KernelscopeError, match="no such code"):
        check_of("KS999")
