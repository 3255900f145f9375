from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from kernelscope import __version__
from kernelscope.audit.results import BoundsResult, Consequence
from kernelscope.gate import gate
from kernelscope.report.json_report import audit_json, bounds_json
from tests.report import results

SCHEMAS = Path(__file__).parents[2] / "docs" / "schema"
COMMAND = ["kernelscope", "audit", "--format", "json", "x.pt2"]


def validator(name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads((SCHEMAS / name).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("name", ["layernorm", "network", "several"])
def test_audit_document_is_the_expected_one_and_valid(name: str, golden: Callable[[str, str], None]) -> None:
    text = audit_json(gate(getattr(results, name)()), COMMAND)
    validator("audit-1.json").validate(json.loads(text))
    golden(f"audit_{name}.json", text.replace(f'"{__version__}"', '"VERSION"'))


def test_finding_has_the_keys_of_the_contract() -> None:
    document = json.loads(audit_json(gate(results.layernorm()), COMMAND))
    model = document["artifacts"][0]["models"][0]
    assert model["symbols"]["s10"]["source"] == "input0[0]"
    assert model["symbols"]["s10"]["declared"] == [2, None]
    assert model["symbols"]["s10"]["assumed_by_inductor"] == 2147483647
    launch = model["kernels"][0]["launches"][0]
    assert launch["grid"] == ["s10", "1", "1"]
    assert launch["arguments"] == {"in_ptr0": "in_ptr0: fp32[s10, 4096]", "xnumel": "s10", "total": "s10*4096"}
    assert launch["source_nodes"] == ["layer_norm"]
    finding = model["kernels"][0]["findings"][0]
    assert finding["condition"] == "4096*s10 <= 2147483648"
    assert finding["largest_safe"] == {"s10": 524288}
    assert finding["witness"]["symbols"] == {"s10": 524289}
    assert finding["witness"]["program_id"] == [524288, 0, 0]
    assert (finding["witness"]["exact"], finding["witness"]["wrapped"]) == (2147483648, -2147483648)
    assert (finding["consequence"], finding["smallest_trigger_bytes"]) == ("out-of-bounds access", 8589950976)
    assert finding["patch"] is None  # not looked for
    for ids, word in ((frozenset(), "none"), (frozenset({finding["id"]}), "available")):
        told = json.loads(audit_json(gate(results.layernorm()), COMMAND, ids))
        assert told["artifacts"][0]["models"][0]["kernels"][0]["findings"][0]["patch"] == word


def test_notes_are_no_findings() -> None:
    document = json.loads(audit_json(gate(results.network()), COMMAND))
    kernels = document["artifacts"][0]["models"][0]["kernels"]
    noted = [kernel for kernel in kernels if kernel["notes"]]
    assert [kernel["verdict"] for kernel in noted] == ["safe"]
    assert noted[0]["findings"] == []


def test_totals_and_command_are_told() -> None:
    document = json.loads(audit_json(gate(results.several()), COMMAND))
    assert document["totals"] == {"safe": 1, "unsafe": 1, "unknown": 1}
    assert document["tool"] == {"name": "kernelscope", "version": __version__, "command": COMMAND}
    assert document["artifacts"][2]["error"].startswith("torn.pt2: ")


def test_a_kernel_that_does_not_compile_has_no_values() -> None:
    finding = replace(results.UNSAFE, consequence=Consequence.DOES_NOT_COMPILE)
    kernel = replace(results.unsafe_kernel(), findings=(finding,))
    document = json.loads(audit_json(gate(results.audit_result(results.artifact(results.model(kernel)))), COMMAND))
    validator("audit-1.json").validate(document)
    witness = document["artifacts"][0]["models"][0]["kernels"][0]["findings"][0]["witness"]
    assert (witness["exact"], witness["wrapped"]) == (None, None)


def test_text_that_is_not_utf_8_survives() -> None:
    result = results.audit_result(results.artifact(results.model(results.unsafe_kernel("k\udcff"))))
    assert audit_json(gate(result), COMMAND).isascii()


def test_bounds_document_is_valid_and_an_unknown_limit_is_not_called_no_limit() -> None:
    result = BoundsResult({"s25": 64}, {"s10": 524288, "s21": None, "s7": None}, {"s7": "not modelled: f"})
    document = json.loads(bounds_json(result, COMMAND))
    validator("bounds-1.json").validate(document)
    assert document["largest_safe"] == {"s10": 524288, "s21": None}
    assert document["fixed"] == {"s25": 64}
    assert document["unknown"] == {"s7": "not modelled: f"}
