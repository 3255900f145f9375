"""What a patch run did, as an HTML page: verdict before and after, each kernel's lines, cost and candidates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernelscope.audit.results import AuditResult, KernelResult, ModelResult, UnsafeFinding
from kernelscope.diffing.hunks import changed_tokens
from kernelscope.diffing.results import LineKind
from kernelscope.patching.report import ChangedLine, KernelPatchResult, PatchDeclined, Patched, PatchFailed, PatchReport
from kernelscope.replay.equivalence import Equivalence
from kernelscope.report.answer import answers_of
from kernelscope.report.assumptions_text import assumption_lines
from kernelscope.report.html.cards import FindingCard, finding_card, folded_findings
from kernelscope.report.html.diff_page import WORDS, SideLine
from kernelscope.report.html.marked_code import Mark, marked_line
from kernelscope.report.html.page import page
from kernelscope.report.patch_remaining import remaining
from kernelscope.report.patch_text import check_text, cost_text


@dataclass(frozen=True, slots=True)
class PatchCard:
    """`detail`: why it was not patched. `findings`: what was wrong before."""

    anchor: str
    name: str
    word: str
    patched: Patched | None
    detail: str
    rows: tuple[tuple[SideLine | None, SideLine | None], ...]
    cost: str
    findings: tuple[FindingCard, ...]


def patch_html(report: PatchReport, command: Sequence[str], checks: Sequence[Equivalence] = ()) -> str:
    """The page; `command` is how the program was called, `checks` how old and new kernels compare."""
    after = report.after
    return page(
        "patch.html", report.source.rsplit("/", 1)[-1], command, report=report, cards=tuple(_cards(report)),
        before=report.verdict_before.word, after=after.verdict.word if after is not None else None,
        answers=[answer for artifact in (after or report.before).artifacts for answer in answers_of(artifact)],
        left=remaining(report), checks=[(one, check_text(one)) for one in checks],
        assumptions=assumption_lines(after or report.before),
    )  # fmt: skip


def _cards(report: PatchReport) -> Iterator[PatchCard]:
    for number, result in enumerate(report.kernels):
        anchor = f"kernel-{number}"
        findings = tuple(_findings(anchor, result.kernel, report.before))
        match result:
            case Patched():
                rows = tuple(map(_pair, result.changes))
                cost = cost_text(result.before, result.after)
                yield PatchCard(anchor, result.kernel, "patched", result, "", rows, cost, findings)
            case PatchDeclined() | PatchFailed():
                word = "declined" if isinstance(result, PatchDeclined) else "failed"
                yield PatchCard(anchor, result.kernel, word, None, _why(result), (), "", findings)


def _why(result: KernelPatchResult) -> str:
    match result:
        case PatchDeclined(reason=reason, code=code):
            return f"{code}: {reason}" if code else reason
        case PatchFailed(error=error):
            return error
        case Patched():
            return ""


def _pair(change: ChangedLine) -> tuple[SideLine, SideLine]:
    removed, added = changed_tokens(change.before, change.after)
    return _side(change.line, change.before, LineKind.REMOVED, removed), _side(
        change.line, change.after, LineKind.ADDED, added
    )


def _side(number: int, text: str, kind: LineKind, spans: Sequence[tuple[int, int]]) -> SideLine:
    word = WORDS[kind]
    return SideLine(str(number), kind.value, word, marked_line(text, "python", [Mark(*span, word) for span in spans]))


def _findings(anchor: str, name: str, before: AuditResult) -> Iterator[FindingCard]:
    for model, kernel in _places(before):
        if kernel.name == name:
            unsafe = [f for f in kernel.findings if isinstance(f, UnsafeFinding)]
            for number, (finding, others) in enumerate(folded_findings(unsafe)):
                yield finding_card(f"{anchor}-{number}", finding, others, model, kernel)
            return


def _places(result: AuditResult) -> Iterator[tuple[ModelResult, KernelResult]]:
    return ((model, kernel) for artifact in result.artifacts for model in artifact.models for kernel in model.kernels)
