"""SARIF that the published schema accepts, with rules, flows and suppressions; annotations that GitHub reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kernelscope.audit import audit
from kernelscope.gate import gate
from kernelscope.gate.baseline import Baseline
from kernelscope.gate.suppression import read_suppression
from kernelscope.report.github_annotations import annotations_text
from kernelscope.report.sarif import sarif_text
from kernelscope.report.titles import title_of

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures"
#: The schema that OASIS published, as it was for 2.1.0-rtm.5.
SCHEMA = json.loads((Path(__file__).parent / "schemas" / "sarif-2.1.0-rtm.5.json").read_text())
NAMES = [
    "layernorm.unbounded",
    "resnet18.unbounded",
    "softmax2d.huge",
    "cat.small",
    "upsample.unbounded",
    "extra/flex.unbounded",
]


def sarif(*names: str, **given: Any) -> dict[str, Any]:
    gated = gate(audit([str(FIXTURES / f"{name}.pt2") for name in names]), **given)
    document: dict[str, Any] = json.loads(sarif_text(gated, ["kernelscope", "audit"]))
    jsonschema.Draft4Validator(SCHEMA).validate(document)
    return document


@pytest.mark.parametrize("name", NAMES)
def test_the_published_schema_accepts_it(name: str) -> None:
    (run,) = sarif(name)["runs"]
    used = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in run["results"]} == used
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_several_packages_and_an_unreadable_one_are_one_run(tmp_path: Path) -> None:
    broken = tmp_path / "broken.pt2"
    broken.write_text("no")
    gated = gate(audit([str(broken), str(FIXTURES / "layernorm.unbounded.pt2")]))
    document = json.loads(sarif_text(gated, []))
    jsonschema.Draft4Validator(SCHEMA).validate(document)
    (invocation,) = document["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False and "broken.pt2" in str(invocation["toolExecutionNotifications"])


def test_a_finding_lies_in_a_file_nested_in_its_package() -> None:
    (run,) = sarif("layernorm.unbounded")["runs"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    inner = run["artifacts"][place["artifactLocation"]["index"]]
    assert inner["location"]["uri"] == place["artifactLocation"]["uri"] and inner["location"]["uri"].endswith(
        ".wrapper.cpp"
    )
    assert run["artifacts"][inner["parentIndex"]]["location"]["uri"].endswith("layernorm.unbounded.pt2")
    region = place["region"]
    assert region["snippet"]["text"][region["startColumn"] - 1 : region["endColumn"] - 1] == "4096*x0"


def test_the_flow_leads_from_the_size_over_the_argument_to_the_access() -> None:
    (run,) = sarif("layernorm.unbounded")["runs"]
    (thread,) = run["results"][0]["codeFlows"][0]["threadFlows"]
    messages = [step["location"]["message"]["text"] for step in thread["locations"]]
    assert messages[0] == "the size s10 (input0[0]) is 524289"
    assert messages[1] == "the argument xnumel is s10"
    assert messages[2] == "4096*x0 is 2147483648, in int32 -2147483648"
    assert messages[-1].startswith("out-of-bounds access: ")


def test_unknowns_are_warnings_and_notes_are_notes() -> None:
    (run,) = sarif("resnet18.unbounded", "upsample.unbounded", "extra/flex.unbounded")["runs"]
    levels = {(result["properties"]["verdict"], result["level"]) for result in run["results"]}
    assert levels <= {("unsafe", "error"), ("unknown", "warning"), ("note", "note")} and ("unsafe", "error") in levels


def test_what_does_not_count_carries_its_suppression() -> None:
    (run,) = sarif("layernorm.unbounded", suppressions=[read_suppression("KS101")])["runs"]
    assert {r["suppressions"][0]["justification"] for r in run["results"]} == {"KS101"}
    gated = gate(audit([str(FIXTURES / "layernorm.unbounded.pt2")]))
    baseline = Baseline("b.json", gated.accepted("known", None))
    (run,) = sarif("layernorm.unbounded", baseline=baseline)["runs"]
    assert {r["suppressions"][0]["kind"] for r in run["results"]} == {"external"}
    assert {r["baselineState"] for r in run["results"]} == {"unchanged"}


def test_annotations_are_one_escaped_line_a_finding() -> None:
    text = annotations_text(gate(audit([str(FIXTURES / "layernorm.unbounded.pt2"), "no:where.pt2"])), title_of)
    lines = text.splitlines()
    assert len(lines) == 4 and all(line.startswith("::error file=") for line in lines)
    assert "file=no%3Awhere.pt2,title=kernelscope::" in lines[0]
    assert (
        ",title=KS101 index arithmetic wraps::triton_red" in lines[1] and "line=" not in lines[1].partition("::tri")[0]
    )


def test_an_annotation_of_a_file_of_its_own_has_line_and_column() -> None:
    path = str(FIXTURES / "extra" / "outer.unbounded.py")
    lines = annotations_text(gate(audit([path])), title_of).splitlines()
    assert lines and all(",line=" in line for line in lines)


def test_what_is_accepted_is_not_annotated() -> None:
    gated = gate(audit([str(FIXTURES / "layernorm.unbounded.pt2")]), suppressions=[read_suppression("KS1xx")])
    assert annotations_text(gated, title_of) == ""
