"""Whether a patch settles a finding is found by rewriting the kernel and proving it, without compiling."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernelscope import cli
from kernelscope.audit import audit
from kernelscope.patching.availability import patchable_findings

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.mark.parametrize(
    ("name", "patches"),
    [
        ("layernorm.unbounded", {"KS101": True}),
        ("userkernel.huge", {"KS101": True}),
        ("softmax2d.unbounded", {"KS202": True, "KS301": True, "KS302": False}),
        ("cat.small", {}),
    ],
)
def test_what_is_proved_once_rewritten_is_available(name: str, patches: dict[str, bool]) -> None:
    result = audit([str(FIXTURES / f"{name}.pt2")])
    available = patchable_findings(result)
    found = {f.code: f.id in available for m in result.artifacts[0].models for k in m.kernels for f in k.findings}
    assert found == patches


def test_json_says_so_only_when_asked() -> None:
    path = str(FIXTURES / "layernorm.unbounded.pt2")
    for options, expected in (((), None), (("--patchable",), "available")):
        done = CliRunner().invoke(cli.main, ["audit", path, "--format", "json", *options])
        (kernel,) = json.loads(done.stdout)["artifacts"][0]["models"][0]["kernels"]
        assert {f["patch"] for f in kernel["findings"]} == {expected}


def test_an_unreadable_artifact_has_none(tmp_path: Path) -> None:
    broken = tmp_path / "broken.pt2"
    broken.write_text("no")
    assert patchable_findings(audit([str(broken)])) == frozenset()
