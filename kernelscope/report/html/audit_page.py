"""An audit as an HTML page."""

from __future__ import annotations

from collections.abc import Sequence

from kernelscope.audit.results import AuditResult
from kernelscope.gate.gating import GatedAudit
from kernelscope.replay.results import Replayed
from kernelscope.report.answer import answers_of
from kernelscope.report.assumptions_text import assumption_lines
from kernelscope.report.html.cards import kernel_cards
from kernelscope.report.html.page import page
from kernelscope.report.totals import totals_of


def audit_html(gated: GatedAudit, command: Sequence[str], replayed: Replayed | None = None) -> str:
    """The page; `command` is how the program was called, `replayed` what witnesses did when they were run."""
    result = gated.audit
    several = sum(len(artifact.models) for artifact in result.artifacts) > 1
    return page(
        "audit.html", _title(result), command,
        verdict=gated.verdict.word, gated=gated, answers=[a for artifact in result.artifacts for a in answers_of(artifact)],
        totals=totals_of(result).by_word(), cards=kernel_cards(gated, replayed or {}), several=several,
        models=[m for artifact in result.artifacts for m in artifact.models], assumptions=assumption_lines(result),
    )  # fmt: skip


def _title(result: AuditResult) -> str:
    names = [artifact.path.rsplit("/", 1)[-1] for artifact in result.artifacts]
    return names[0] if len(names) == 1 else f"{len(names)} artifacts"
