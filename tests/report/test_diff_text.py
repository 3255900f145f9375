"""Comparisons as text, looked at: five models, with colour and without, narrow and wide."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kernelscope.diffing import diff
from kernelscope.report.console import TextStyle
from kernelscope.report.diff_text import diff_text

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("model", ["layernorm", "i64bound", "softmax2d", "cat", "embedding"])
def test_text_is_the_expected_one(
    model: str, color: bool, width: int, golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FIXTURES.parent)
    text = diff_text(diff(f"fixtures/{model}.unbounded.pt2", f"fixtures/{model}.huge.pt2"), TextStyle(width, color))
    golden(f"diff/{model}.{width}{'.color' if color else ''}.txt", text)


@pytest.mark.parametrize("side_by_side", [False, True])
@pytest.mark.parametrize("model", ["layernorm", "i64bound", "softmax2d", "cat", "embedding", "transpose"])
def test_no_line_is_wider_than_the_terminal(model: str, side_by_side: bool) -> None:
    found = diff(str(FIXTURES / f"{model}.unbounded.pt2"), str(FIXTURES / f"{model}.huge.pt2"))
    for width in (80, 120):
        text = diff_text(found, TextStyle(width), side_by_side)
        assert max(map(len, text.splitlines())) <= width


def test_changed_tokens_are_underlined_where_there_is_no_colour_and_reversed_where_there_is() -> None:
    found = diff(str(FIXTURES / "i64bound.unbounded.pt2"), str(FIXTURES / "i64bound.huge.pt2"))
    plain, colored = diff_text(found, TextStyle(80)), diff_text(found, TextStyle(80, color=True))
    assert "?     ^^^^^^^" in plain and "\x1b" not in plain
    assert re.search(r"\x1b\[1;7;31\S*mint32_t\x1b", colored) and re.search(r"\x1b\[1;7;32\S*mint64_t\x1b", colored)
    assert "^^^" not in colored
