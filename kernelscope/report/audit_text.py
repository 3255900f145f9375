"""An audit's result as text: the answer first, then what is unsafe, unknown and safe, totals and assumptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from rich.console import RenderableType
from rich.text import Text

from kernelscope.audit.results import ArtifactResult, AuditResult, ModelResult, Note, UnknownFinding, Verdict
from kernelscope.replay.results import Replay, Replayed
from kernelscope.report.answer import Answer, answers_of
from kernelscope.report.answer_line import answer_line
from kernelscope.report.assumptions_text import assumption_lines
from kernelscope.report.console import TextStyle, render
from kernelscope.report.finding_text import (
    kernel_heading,
    note_text,
    unknown_brief,
    unknown_finding,
    unsafe_brief,
    unsafe_finding,
)
from kernelscope.report.folding import UnknownFold, UnsafeFold, note_folds, unknown_folds, unsafe_folds
from kernelscope.report.layout import bullet, heading, indented, paragraph
from kernelscope.report.safe_table import safe_table
from kernelscope.report.totals import totals_of

_MAX_FULL = 5
_MAX_FINDINGS = 3
_MAX_BRIEF = 12

TitleOf = Callable[[str], str]


def audit_text(result: AuditResult, style: TextStyle, title_of: TitleOf, replayed: Replayed | None = None) -> str:
    """The report; `title_of` gives the title of a code, `replayed` what witnesses did when they were run."""
    return render(_parts(result, style, title_of, replayed or {}), style)


def _parts(
    result: AuditResult, style: TextStyle, title_of: TitleOf, replayed: Replayed
) -> Iterator[RenderableType]:
    for artifact in result.artifacts:
        for answer in answers_of(artifact):
            yield from _answer(answer)
    several = sum(len(artifact.models) for artifact in result.artifacts) > 1
    for artifact in result.artifacts:
        for model in artifact.models:
            told = {identity: one for (path, identity), one in replayed.items() if path == artifact.path}
            body = list(_model(model, style, title_of, told))
            if body and several:
                yield Text("")
                yield heading(f"== {_subject(artifact, model)}")
            yield from body
    yield Text("")
    yield _totals(result)
    yield Text("")
    yield heading("Assumptions")
    yield from (bullet(line) for line in assumption_lines(result))


def _subject(artifact: ArtifactResult, model: ModelResult) -> str:
    return f"{artifact.path} [{model.name}]" if len(artifact.models) > 1 else artifact.path


def _answer(answer: Answer) -> Iterator[RenderableType]:
    yield answer_line(answer)
    yield from (paragraph(line) for line in answer.more)


def _totals(result: AuditResult) -> Text:
    totals = totals_of(result)
    text = Text.assemble(("Totals", "heading"), ": ")
    for number, (word, count) in enumerate(
        (("unsafe", totals.unsafe), ("unknown", totals.unknown), ("safe", totals.safe))
    ):
        text.append(", " if number else "")
        text.append(f"{count} {word}", word if count else "")
    return text


# -- one model --------------------------------------------------------------------------------------------------------


def _model(
    model: ModelResult, style: TextStyle, title_of: TitleOf, replayed: Mapping[str, Replay]
) -> Iterator[RenderableType]:
    for note in model.notes:
        yield paragraph(note)
    yield from _unsafe(unsafe_folds(model.kernels), style, title_of, replayed)
    of_model = [finding for finding in model.findings if isinstance(finding, UnknownFinding)]
    yield from _unknown(unknown_folds(model.kernels, of_model), style, title_of)
    yield from _notes(model)
    safe = [kernel for kernel in model.kernels if kernel.verdict is Verdict.SAFE]
    if safe:
        yield Text("")
        yield Text.assemble(("SAFE", "safe"), "  largest index of each kernel, nearest to its limit first")
        yield indented(safe_table(safe))


def _unsafe(
    folds: list[UnsafeFold], style: TextStyle, title_of: TitleOf, replayed: Mapping[str, Replay]
) -> Iterator[RenderableType]:
    for fold in folds[:_MAX_FULL]:
        yield Text("")
        yield from kernel_heading(fold.kernel)
        for repeated in fold.findings[:_MAX_FINDINGS]:
            yield Text("")
            finding = repeated.finding
            yield from unsafe_finding(repeated, title_of(finding.code), fold.also, style, replayed.get(finding.id))
        if len(fold.findings) > _MAX_FINDINGS:
            yield Text("")
        for repeated in fold.findings[_MAX_FINDINGS:]:
            yield unsafe_brief("also", repeated.finding)
    yield from _brief([unsafe_brief(_name(fold), fold.findings[0].finding) for fold in folds[_MAX_FULL:]], "unsafe")


def _name(fold: UnsafeFold) -> str:
    return f"{fold.kernel.name} and {len(fold.also)} more" if fold.also else fold.kernel.name


def _unknown(folds: list[UnknownFold], style: TextStyle, title_of: TitleOf) -> Iterator[RenderableType]:
    previous = None
    for fold in folds[:_MAX_FULL]:
        yield Text("")
        if fold.kernel is None:
            yield Text("UNKNOWN", "unknown")
        elif fold.kernel is not previous:
            yield from kernel_heading(fold.kernel, Verdict.UNKNOWN)
        previous = fold.kernel
        yield from unknown_finding(fold.finding, title_of(fold.finding.code), fold.also, style)
    rest = folds[_MAX_FULL:]
    yield from _brief([unknown_brief(f.kernel.name if f.kernel else "model", f.finding) for f in rest], "unknown")


def _brief(lines: list[RenderableType], word: str) -> Iterator[RenderableType]:
    if lines:
        yield Text("")
        yield Text(f"{len(lines)} more {word}", word)
        yield from lines[:_MAX_BRIEF]
    if len(lines) > _MAX_BRIEF:
        yield paragraph(f"... and {len(lines) - _MAX_BRIEF} more: see --format json", "quiet")


def _notes(model: ModelResult) -> Iterator[RenderableType]:
    folds = note_folds(model.kernels)
    of_model = [finding for finding in model.findings if isinstance(finding, Note)]
    if folds or of_model:
        yield Text("")
        yield heading("Notes")
    yield from (note_text(note, ()) for note in of_model)
    yield from (note_text(fold.note, fold.kernels) for fold in folds)
