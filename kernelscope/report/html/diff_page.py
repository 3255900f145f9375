"""A comparison as an HTML page: each kernel that differs side by side, with the findings that a change answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from kernelscope.diffing.results import ArtifactDiff, DiffLine, KernelDiff, LineKind, PairKind, TextDiff
from kernelscope.report.answered_findings import answered_sentences
from kernelscope.report.diff_text import cost_change, diff_summary, hunk_range, size_change
from kernelscope.report.html.marked_code import Mark, marked_line
from kernelscope.report.html.page import page
from kernelscope.report.side_by_side import paired_lines

#: Characters of changed source that a page shows.
_SOURCE_BUDGET = 700_000
#: The class of a line.
WORDS = {LineKind.SAME: "same", LineKind.REMOVED: "removed", LineKind.ADDED: "added"}


@dataclass(frozen=True, slots=True)
class SideLine:
    number: str
    sign: str
    kind: str  # same, removed, added
    html: Markup


@dataclass(frozen=True, slots=True)
class HunkCard:
    title: str
    findings: tuple[str, ...]
    rows: tuple[tuple[SideLine | None, SideLine | None], ...]


@dataclass(frozen=True, slots=True)
class KernelDiffCard:
    """`left_out`: its lines are not on the page, which would grow too large."""

    anchor: str
    name: str
    word: str
    badge: str
    alike: str
    findings: tuple[str, ...]
    hunks: tuple[HunkCard, ...]
    cost: str
    left_out: bool


def diff_html(diff: ArtifactDiff, command: Sequence[str]) -> str:
    """The page; `command` is how the program was called."""
    cards = tuple(_cards(diff))
    same = [kernel.before or "" for kernel in diff.kernels if kernel.kind is PairKind.SAME]
    return page(
        "diff.html", f"{_last(diff.before)} and {_last(diff.after)}", command, diff=diff, summary=diff_summary(diff),
        cards=cards, same=same, size_changes=[size_change(change) for change in diff.sizes],
    )  # fmt: skip


def _last(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1]


def _cards(diff: ArtifactDiff) -> Iterator[KernelDiffCard]:
    left = _SOURCE_BUDGET
    for number, kernel in enumerate(k for k in diff.kernels if k.kind is not PairKind.SAME):
        size = sum(len(line.text) for text in kernel.texts for hunk in text.hunks for line in hunk.lines)
        left -= size
        yield _card(number, kernel, left < 0)


def _card(number: int, kernel: KernelDiff, left_out: bool) -> KernelDiffCard:
    name = kernel.before or kernel.after or ""
    if kernel.before and kernel.after and kernel.before != kernel.after:
        name = f"{kernel.before} -> {kernel.after}"
    told: set[str] = set()
    badge = kernel.kind.name.lower() if kernel.kind in (PairKind.ADDED, PairKind.REMOVED) else "changed"
    return KernelDiffCard(
        anchor=f"kernel-{number}",
        name=name,
        word=kernel.kind.value,
        badge=badge,
        alike=f"{kernel.similarity:.0%} alike" if kernel.kind is PairKind.MOVED else "",
        findings=_new(answered_sentences(kernel.findings, kernel), told),
        hunks=() if left_out else tuple(_hunks(kernel, told)),
        cost=cost_change(kernel.cost) if kernel.cost is not None else "",
        left_out=left_out,
    )


def _new(sentences: Sequence[str], told: set[str]) -> tuple[str, ...]:
    fresh = [sentence for sentence in dict.fromkeys(sentences) if sentence not in told]
    told.update(fresh)
    return tuple(fresh)


def _hunks(kernel: KernelDiff, told: set[str]) -> Iterator[HunkCard]:
    for text in kernel.texts:
        for hunk in text.hunks:
            rows = tuple((_side(left, text, True), _side(right, text, False)) for left, right in paired_lines(hunk))
            findings = _new(answered_sentences(hunk.findings, kernel), told)
            yield HunkCard(f"{text.title} {hunk_range(hunk)}", findings, rows)


def _side(line: DiffLine | None, text: TextDiff, before: bool) -> SideLine | None:
    if line is None:
        return None
    word = WORDS[line.kind]
    marks = [Mark(start, end, word) for start, end in line.marks]
    number = line.before if before else line.after
    html = marked_line(line.text, text.language.value, marks)
    return SideLine(str(number if number is not None else ""), line.kind.value, word, html)
