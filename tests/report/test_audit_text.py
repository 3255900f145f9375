from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from kernelscope.audit.results import AuditResult, Consequence, Location, Verdict
from kernelscope.report.audit_text import audit_text
from kernelscope.report.console import TextStyle
from kernelscope.report.titles import title_of
from tests.report import results

PLAIN = TextStyle(width=80)
ASCII = TextStyle(width=80, ascii_only=True)

Golden = Callable[[str, str], None]


def report(result: AuditResult, style: TextStyle = PLAIN) -> str:
    return audit_text(result, style, title_of)


@pytest.mark.parametrize("name", ["layernorm", "network", "several"])
def test_report_is_the_expected_one(name: str, golden: Golden) -> None:
    golden(f"audit_{name}.txt", report(getattr(results, name)()))


def test_first_line_is_the_verdict_and_the_largest_safe_size() -> None:
    first = " ".join(report(results.layernorm()).split("\n\n")[0].split())
    assert first == (
        "UNSAFE layernorm.unbounded.pt2: safe up to s10 (input0[0]) = 524288; "
        "524289 accesses memory out of bounds in 1 of 1 kernels"
    )


def test_only_paths_are_wider_than_the_terminal() -> None:
    for line in report(results.network()).splitlines():
        assert len(line) <= 80 or ".cpp:" in line


def test_underline_lies_below_the_expression_also_where_the_line_is_cut() -> None:
    for width in (60, 80, 120):
        lines = report(results.layernorm(), TextStyle(width=width)).splitlines()
        number = next(n for n, line in enumerate(lines) if "^^^" in line)
        start, end = lines[number].index("^"), lines[number].rindex("^") + 1
        assert lines[number - 1][start:end] == "r0_1 + 4096*x0"


def test_without_colour_there_is_no_escape_and_with_it_there_is() -> None:
    assert "\x1b" not in report(results.network())
    assert "\x1b[" in report(results.network(), TextStyle(color=True))


def test_ascii_report_can_be_written_to_any_stream() -> None:
    assert report(results.network(), ASCII).isascii()
    assert not report(results.network()).isascii()


def test_control_characters_of_the_artifact_never_reach_the_terminal() -> None:
    hostile = "triton_\x1b]0;owned\x07_\u202e0"
    kernel = replace(results.unsafe_kernel(), name=hostile)
    text = report(results.audit_result(results.artifact(results.model(kernel), path="a\x1b[2Jb.pt2")))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "a\\x1b[2Jb.pt2" in text


def test_a_finding_of_many_kernels_is_shown_once() -> None:
    text = report(results.network())
    assert text.count("does not fit") == 2
    assert "and 2 more" in text


def test_the_same_expression_on_several_lines_of_a_kernel_is_shown_once() -> None:
    again = replace(results.UNSAFE, id="KS101-1", location=results.location(500))
    text = report(results.audit_result(results.artifact(results.model(results.unsafe_kernel("k", again)))))
    assert text.count("safe when") == 1
    assert "line 500" in text


def test_many_different_findings_are_folded_into_lines() -> None:
    kernels = [
        replace(results.unsafe_kernel(f"k{n}"), findings=(replace(results.UNSAFE, expression=f"{n}*x0"),))
        for n in range(30)
    ]
    text = report(results.audit_result(results.artifact(results.model(*kernels))))
    assert text.count("safe when") == 5
    assert "25 more unsafe" in text
    assert "and 13 more" in text
    assert "Totals: 30 unsafe" in text


def test_totals_count_damaged_parts_and_unreadable_artifacts_as_unknown() -> None:
    assert "Totals: 7 unsafe, 2 unknown, 3 safe" in report(results.network())
    assert "Totals: 1 unsafe, 1 unknown, 1 safe" in report(results.several())


def test_a_kernel_that_does_not_compile_has_no_witness() -> None:
    finding = replace(
        results.UNSAFE,
        code="KS104",
        consequence=Consequence.DOES_NOT_COMPILE,
        explanation="It never compiles.",
        tree=None,
    )
    kernel = replace(results.unsafe_kernel(), findings=(finding,))
    text = report(results.audit_result(results.artifact(results.model(kernel))))
    assert "1 kernel cannot compile at any size" in text
    assert "witness" not in text


def test_a_model_without_kernels_says_so_with_its_notes() -> None:
    model = replace(results.model(), device="cpu", notes=("loops of the C++ kernels count in int64_t",))
    text = report(results.audit_result(results.artifact(model, path="cpu.pt2")))
    assert "SAFE  cpu.pt2: no Triton kernels" in text
    assert "loops of the C++ kernels count in int64_t" in text


def test_a_patched_package_says_so_below_its_answer() -> None:
    whole = replace(results.artifact(results.model(results.kernel("k"), largest=None)), patched=True)
    lines = report(results.audit_result(whole)).splitlines()
    assert lines[0].startswith("SAFE") and any(line.startswith("  patched by kernelscope: extra/") for line in lines[1:4])


def test_unknown_is_told_with_its_reason() -> None:
    kernel = results.kernel("k", results.UNKNOWN, verdict=Verdict.UNKNOWN)
    text = " ".join(report(results.audit_result(results.artifact(results.model(kernel, largest=None)))).split())
    assert text.startswith("UNKNOWN layernorm.unbounded.pt2: nothing unsafe was found, but 1 of 1 part")
    assert "because a fact is missing: the values loaded from index_ptr have no range" in text


def test_a_line_without_text_has_no_excerpt() -> None:
    nowhere = replace(results.UNKNOWN, location=Location("a.cpp", 1, 0, 0, ""))
    kernel = results.kernel("k", nowhere, verdict=Verdict.UNKNOWN)
    assert "^" not in report(results.audit_result(results.artifact(results.model(kernel))))


def test_limits_of_several_sizes_say_where_the_others_are() -> None:
    other = replace(results.S10, name="s21", source="input0[1]")
    witness = replace(results.UNSAFE.witness, symbols={"s10": 524289, "s21": 2})
    finding = replace(results.UNSAFE, witness=witness, largest_safe={"s10": 524288, "s21": 4096})
    model = results.model(replace(results.unsafe_kernel(), findings=(finding,)))
    model = replace(model, symbols=(results.S10, other), largest_safe={"s10": 524288, "s21": 4096})
    text = " ".join(report(results.audit_result(results.artifact(model))).split("\n\n")[0].split())
    assert "= 524288 with the others at their minimum; s10 = 524289, s21 = 2 accesses" in text
    assert "safe up to s21 (input0[1]) = 4096" in text


def test_the_finding_that_the_smallest_tensors_trigger_comes_first() -> None:
    later = replace(results.UNSAFE, expression="2*x0", location=results.location(300), smallest_trigger_bytes=1 << 40)
    kernel = replace(results.unsafe_kernel(), findings=(later, results.UNSAFE))
    text = report(results.audit_result(results.artifact(results.model(kernel))))
    assert text.index("cpp:412") < text.index("cpp:300")


def test_a_long_kernel_name_stays_in_one_piece() -> None:
    name = "triton_poi_fused_" + "convolution_relu_" * 6 + "0"
    text = report(results.audit_result(results.artifact(results.model(results.unsafe_kernel(name)))))
    assert f"\nUNSAFE  {name}\n" in text
