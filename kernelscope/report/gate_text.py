"""What a baseline and suppressions made of an audit's findings, below the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from kernelscope.audit.results import Note, UnsafeFinding, Verdict
from kernelscope.gate.gating import Disposition, GatedAudit
from kernelscope.report.console import TextStyle, render
from kernelscope.report.layout import bullet, heading
from kernelscope.report.quantities import counted


def gate_text(gated: GatedAudit, style: TextStyle) -> str:
    """Empty where nothing was gated."""
    return render(_parts(gated), style) if gated.is_gated else ""


def _parts(gated: GatedAudit) -> Iterator[RenderableType]:
    yield Text("")
    yield heading("Gate")
    counting = [f for f in gated.findings if f.disposition is Disposition.COUNTS and not isinstance(f.finding, Note)]
    unsafe = sum(isinstance(f.finding, UnsafeFinding) for f in counting)
    word = gated.verdict.word
    new = f"{counted(unsafe, 'unsafe finding')} and {len(counting) - unsafe} unknown count"
    yield Text.assemble("  ", (word.upper(), word), f": {new if counting else 'no finding counts'}")
    reasons = Counter((f.disposition, f.why) for f in gated.findings if f.disposition is not Disposition.COUNTS)
    for (disposition, why), times in reasons.items():
        yield bullet(f"{counted(times, 'finding')} {disposition.value}: {why}")
    for entry in gated.stale:
        yield bullet(
            f"no longer occurs, take it out of the baseline: {entry.code} {entry.expression} of {entry.kernel}"
        )
    if gated.verdict is Verdict.SAFE and gated.audit.verdict is Verdict.UNSAFE:
        yield bullet("the verdict above stays: what is accepted is not safe")
