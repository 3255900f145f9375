from __future__ import annotations

import io

import pytest

from kernelscope.report import progress
from kernelscope.report.progress import AuditProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def report_on(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, patience: float) -> str:
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", patience)
    monkeypatch.setenv("TERM", "xterm")
    with AuditProgress() as report:
        for done in range(3):
            report(done, 3, "triton_\x1b]0;x\x07poi")
    return stream.getvalue()


def test_a_bar_is_drawn_where_someone_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = report_on(Terminal(), monkeypatch, patience=0)
    assert "/3" in drawn
    assert "\x1b]0" not in drawn


def test_nothing_is_drawn_early_or_where_no_one_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert report_on(Terminal(), monkeypatch, patience=60) == ""
    assert report_on(io.StringIO(), monkeypatch, patience=0) == ""
