"""Findings as workflow commands, which GitHub shows beside the changed files."""

from __future__ import annotations

from collections.abc import Callable

from kernelscope.audit.results import Note, UnknownFinding, UnsafeFinding
from kernelscope.gate.gating import Disposition, GatedAudit, GatedFinding

TitleOf = Callable[[str], str]


def annotations_text(gated: GatedAudit, title_of: TitleOf) -> str:
    """One line for each finding that counts, and for each artifact that cannot be read; notes are left out."""
    lines = [
        f"::error file={_property(a.path)},title=kernelscope::{_data(a.error)}"
        for a in gated.audit.artifacts
        if a.error is not None
    ]
    lines += [_line(f, title_of) for f in gated.findings if f.disposition is Disposition.COUNTS and _shown(f)]
    return "".join(f"{line}\n" for line in lines)


def _shown(gated: GatedFinding) -> bool:
    return not isinstance(gated.finding, Note)


def _line(gated: GatedFinding, title_of: TitleOf) -> str:
    finding = gated.finding
    assert not isinstance(finding, Note)
    level = "error" if isinstance(finding, UnsafeFinding) else "warning"
    alone = finding.location.file in ("", gated.artifact) or finding.location.file.endswith(gated.artifact)
    place = f"file={_property(gated.artifact)}"
    if alone:
        place += f",line={finding.location.line},col={finding.location.column + 1}"
    title = _property(f"{finding.code} {title_of(finding.code)}")
    return f"::{level} {place},title={title}::{_data(_message(gated, finding, alone))}"


def _message(gated: GatedFinding, finding: UnsafeFinding | UnknownFinding, alone: bool) -> str:
    where = "" if alone else f" ({finding.location.file}:{finding.location.line})"
    if isinstance(finding, UnsafeFinding):
        safe = f" Safe when {finding.condition}." if finding.condition else ""
        return f"{gated.kernel}: {finding.explanation}{safe}{where}"
    return f"{gated.kernel or gated.model}: {finding.detail}{where}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
