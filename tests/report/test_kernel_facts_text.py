"""Kernels with their facts as `show` tells them, looked at: five kernels, with colour and without, narrow and wide."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kernelscope import __version__
from kernelscope.artifact import open_artifact
from kernelscope.audit.kernel_facts import FoundKernels, kernel_facts
from kernelscope.audit.run import read_model
from kernelscope.report.console import TextStyle
from kernelscope.report.kernel_facts_text import kernel_facts_text
from kernelscope.report.show_json import kernel_facts_json
from kernelscope.report.show_text import kernel_names

FIXTURES = Path(__file__).parents[2] / "fixtures"
SHOWN = ["layernorm.unbounded", "transpose.unbounded", "cat.unbounded", "cumsum.unbounded", "softmax2d.huge"]


@pytest.fixture
def facts(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], FoundKernels]:
    """The facts of a fixture's first kernel, under a path without a machine's folders."""
    monkeypatch.chdir(FIXTURES.parent)

    def read(name: str) -> FoundKernels:
        path = f"fixtures/{name}.pt2"
        models = [read_model(model, None) for model in open_artifact(path).models]
        return kernel_facts(path, models, kernel_names(models)[0])

    return read


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("name", SHOWN)
def test_text_is_the_expected_one(
    name: str, color: bool, width: int, golden: Callable[[str, str], None], facts: Callable[[str], FoundKernels]
) -> None:
    text = kernel_facts_text(facts(name), TextStyle(width, color))
    golden(f"show/{name.partition('.')[0]}.{width}{'.color' if color else ''}.txt", text)


def test_json_is_the_expected_one(
    golden: Callable[[str, str], None], facts: Callable[[str], FoundKernels]
) -> None:
    text = kernel_facts_json(facts("cumsum.unbounded"), ["kernelscope", "show", "cumsum.unbounded.pt2"])
    golden("show/cumsum.json", text.replace(f'"{__version__}"', '"VERSION"'))


@pytest.mark.parametrize("preamble", [False, True])
@pytest.mark.parametrize("name", [*SHOWN, "resnet18.unbounded", "vit.unbounded", "userkernel.huge"])
def test_no_line_but_a_path_or_name_is_wider_than_the_terminal(
    name: str, preamble: bool, facts: Callable[[str], FoundKernels]
) -> None:
    found = facts(name)
    for width in (60, 80, 120):
        lines = kernel_facts_text(found, TextStyle(width), preamble).splitlines()
        assert [line for line in lines if len(line) > width and " " in line.strip().replace("  ", "", 1)] == []


@pytest.mark.parametrize("name", SHOWN)
def test_the_source_can_be_put_together_again(name: str, facts: Callable[[str], FoundKernels]) -> None:
    found = facts(name)
    source = found.kernels[0].kernel.source
    assert source is not None
    shown = re.findall(r"^ *\d+ \|(?: (.*))?$", kernel_facts_text(found, TextStyle(100_000), preamble=True), re.M)
    assert shown == [line.rstrip() for line in source.text.rstrip("\n").split("\n")] or shown == [
        line.rstrip() for line in source.text.split("\n")
    ]


def test_ascii_terminals_get_ascii(facts: Callable[[str], FoundKernels]) -> None:
    text = kernel_facts_text(facts("layernorm.unbounded"), TextStyle(80, ascii_only=True))
    assert text.isascii() and "= `- 4096*x0" in text


def test_a_finding_is_told_in_full_once(facts: Callable[[str], FoundKernels]) -> None:
    text = kernel_facts_text(facts("layernorm.unbounded"), TextStyle(120))
    assert text.count("out-of-bounds access at s10 = 524289") == 1 and text.count("KS101 4096*x0: as at line") == 2


def test_json_has_the_type_and_range_of_expressions(facts: Callable[[str], FoundKernels]) -> None:
    document = json.loads(kernel_facts_json(facts("layernorm.unbounded"), []))
    (kernel,) = document["kernels"]
    index = next(e for e in kernel["expressions"] if e["text"] == "4096*x0")
    assert (index["type"], index["minimum"], index["fits"]) == ("int32", 0, False)
    mask = next(e for e in kernel["expressions"] if e["text"] == "xindex < xnumel")
    assert mask["operator"] == "<" and [side["minimum"] for side in mask["compared"]] == [0, 2]
    line = kernel["source"]["text"].split("\n")[index["line"] - kernel["source"]["first_line"]]
    indent = index["column"] - line.index("4096*x0")
    assert indent >= 0 and index["end_column"] - index["column"] == len("4096*x0")
