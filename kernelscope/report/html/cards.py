"""What the page tells about each kernel: its findings with their explanation, and its source with the faults marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from kernelscope.audit.results import (
    ArtifactResult,
    AuditResult,
    Finding,
    KernelResult,
    KernelSource,
    Location,
    ModelResult,
    Note,
    Proof,
    UnknownFinding,
    UnsafeFinding,
)
from kernelscope.gate.gating import Disposition, GatedAudit
from kernelscope.replay.results import Replay, Replayed
from kernelscope.report.finding_text import witness_text
from kernelscope.report.folding import signature, trigger
from kernelscope.report.html.marked_code import CodeLine, Mark, marked_line, marked_lines
from kernelscope.report.html.value_plot import ValuePlot, value_plot
from kernelscope.report.quantities import sizes_text
from kernelscope.report.safe_table import share, tightest
from kernelscope.report.titles import title_of
from kernelscope.report.value_flow import FlowStep, flow_steps

#: Characters of source that a page shows; the kernels that are not safe come first.
SOURCE_BUDGET = 500_000
#: Findings that a page explains in full.
FINDING_BUDGET = 400
#: How an expression is underlined, by the word of its finding; the most serious first.
_CLASSES = {"unsafe": "fault", "unknown": "doubt", "note": "hint"}


@dataclass(frozen=True, slots=True)
class FindingCard:
    """`others`: where else in the kernel the same holds. `passed`: why the finding does not count, if so."""

    anchor: str
    finding: Finding
    word: str  # unsafe, unknown, note
    title: str
    excerpt: Markup | None
    witness: str
    limits: str
    steps: tuple[FlowStep, ...]
    plot: ValuePlot | None
    others: tuple[Location, ...]
    passed: str
    replay: Replay | None

    @property
    def other_lines(self) -> tuple[int, ...]:
        return tuple(sorted({place.line for place in self.others} - {self.finding.location.line}))


@dataclass(frozen=True, slots=True)
class KernelCard:
    """`same_as`: anchor and name of an earlier kernel with the same findings, which are told there."""

    anchor: str
    artifact: str
    model: str
    kernel: KernelResult
    origin: tuple[str, ...]  # model operations
    findings: tuple[FindingCard, ...]
    same_as: tuple[str, str] | None
    proof: Proof | None
    share: float
    summary: str
    limits: str
    preamble: tuple[CodeLine, ...]  # imports and metadata, above the functions
    source: tuple[CodeLine, ...]
    source_left_out: bool


def kernel_cards(gated: GatedAudit, replayed: Replayed) -> tuple[KernelCard, ...]:
    """A card for each kernel: unsafe ones first, the easiest to trigger on top, then unknown, then the nearest to their
    limit."""
    maker = _Maker(gated, replayed)
    return tuple(maker.card(number, *place) for number, place in enumerate(_ordered(gated.audit)))


def _ordered(result: AuditResult) -> list[tuple[ArtifactResult, ModelResult, KernelResult]]:
    places = [(a, m, k) for a in result.artifacts for m in a.models for k in m.kernels]
    return sorted(places, key=lambda place: (place[2].verdict, _least_trigger(place[2]), -share(place[2])))


def _least_trigger(kernel: KernelResult) -> float:
    return min((trigger(f) for f in kernel.findings if isinstance(f, UnsafeFinding)), default=0.0)


class _Maker:
    """Keeps what one page has used up already."""

    def __init__(self, gated: GatedAudit, replayed: Replayed) -> None:
        self._replayed = replayed
        self._passed = {
            (f.artifact, f.model, f.finding.id): f"{f.disposition.value}: {f.why}"
            for f in gated.findings
            if f.disposition is not Disposition.COUNTS
        }
        self._source_left = SOURCE_BUDGET
        self._findings_left = FINDING_BUDGET
        self._seen: dict[object, tuple[str, str]] = {}

    def card(self, number: int, artifact: ArtifactResult, model: ModelResult, kernel: KernelResult) -> KernelCard:
        anchor = f"kernel-{number}"
        same = self._same(artifact, model, kernel, anchor)
        findings = () if same else tuple(self._findings(anchor, artifact, model, kernel))
        lines, left_out = self._source(kernel, findings)
        proof = tightest(kernel)
        limits = _largest_safe(kernel)
        origin = tuple(dict.fromkeys(node for launch in kernel.launches for node in launch.source_nodes))
        return KernelCard(
            anchor, artifact.path, model.name, kernel, origin, findings, same, proof, share(kernel),
            _summary(kernel, proof), limits, *_split(lines), left_out,
        )  # fmt: skip

    def _same(
        self, artifact: ArtifactResult, model: ModelResult, kernel: KernelResult, anchor: str
    ) -> tuple[str, str] | None:
        unsafe = [f for f in kernel.findings if isinstance(f, UnsafeFinding)]
        if not unsafe or len(unsafe) != len(kernel.findings):
            return None
        key = artifact.path, model.name, tuple(map(signature, unsafe))
        if key in self._seen:
            return self._seen[key]
        self._seen[key] = anchor, kernel.name
        return None

    def _findings(
        self, anchor: str, artifact: ArtifactResult, model: ModelResult, kernel: KernelResult | None
    ) -> Iterator[FindingCard]:
        findings = model.findings if kernel is None else kernel.findings
        for number, (finding, others) in enumerate(folded_findings(findings)):
            if self._findings_left <= 0:
                return
            self._findings_left -= 1
            passed = self._passed.get((artifact.path, model.name, finding.id), "")
            replay = self._replayed.get((artifact.path, finding.id))
            yield finding_card(f"{anchor}-{number}", finding, others, model, kernel, passed, replay)

    def _source(self, kernel: KernelResult, findings: Sequence[FindingCard]) -> tuple[tuple[CodeLine, ...], bool]:
        source = kernel.source
        if source is None:
            return (), False
        if len(source.text) > self._source_left:
            return (), True
        self._source_left -= len(source.text)
        return tuple(marked_lines(source.text, "python", _marks(source, findings), source.first_line)), False


def finding_card(
    anchor: str, finding: Finding, others: Sequence[Location], model: ModelResult, kernel: KernelResult | None,
    passed: str = "", replay: Replay | None = None,
) -> FindingCard:  # fmt: skip
    """The card of one finding; `others`: the other places at which it occurs."""
    unsafe = finding if isinstance(finding, UnsafeFinding) else None
    return FindingCard(
        anchor=anchor,
        finding=finding,
        word="unsafe" if unsafe else "unknown" if isinstance(finding, UnknownFinding) else "note",
        title=title_of(finding.code),
        excerpt=_excerpt(finding.location),
        witness=witness_text(unsafe) if unsafe else "",
        limits=_limits(unsafe) if unsafe else "",
        steps=flow_steps(unsafe, model, kernel) if unsafe else (),
        plot=value_plot(unsafe, model) if unsafe else None,
        others=tuple(others),
        passed=passed,
        replay=replay,
    )


def folded_findings(findings: Iterable[Finding]) -> list[tuple[Finding, tuple[Location, ...]]]:
    """Each finding once, with the other places at which the same holds."""
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(_kind(finding), []).append(finding)
    return [(group[0], tuple(finding.location for finding in group[1:])) for group in groups.values()]


def _kind(finding: Finding) -> tuple[object, ...]:
    match finding:
        case UnsafeFinding():
            return signature(finding)
        case UnknownFinding(reason=reason, detail=detail) as unknown:
            return unknown.code, unknown.expression, reason, detail
        case Note(detail=detail) as note:
            return note.code, note.expression, detail


def _limits(finding: UnsafeFinding) -> str:
    return sizes_text({name: value for name, value in finding.largest_safe.items() if value is not None})


def _largest_safe(kernel: KernelResult) -> str:
    least: dict[str, int] = {}
    for finding in kernel.findings:
        if isinstance(finding, UnsafeFinding):
            for name, value in finding.largest_safe.items():
                if value is not None:
                    least[name] = min(value, least.get(name, value))
    return sizes_text(least)


def _summary(kernel: KernelResult, proof: Proof | None) -> str:
    unsafe = [f for f in kernel.findings if isinstance(f, UnsafeFinding)]
    if unsafe:
        first = min(unsafe, key=trigger)
        condition = f" unless {first.condition}" if first.condition else ""
        return f"{first.code} {first.expression}: {first.consequence.value}{condition}"
    unknown = next((f for f in kernel.findings if isinstance(f, UnknownFinding)), None)
    if unknown is not None:
        return f"{unknown.code} {unknown.expression}: {unknown.reason.value}"
    return f"at most {proof.bound}" if proof is not None else "no index that could wrap"


# -- the source -------------------------------------------------------------------------------------------------------


def _marks(source: KernelSource, findings: Sequence[FindingCard]) -> dict[int, list[Mark]]:
    """The faulty expressions by line of the source, from 0; the most serious first, since marks do not overlap."""
    marks: dict[int, list[Mark]] = {}
    for card in sorted(findings, key=lambda c: tuple(_CLASSES).index(c.word)):
        for location in (card.finding.location, *card.others):
            line = location.line - source.first_line
            start, end = max(0, location.column - source.indent), location.end_column - source.indent
            overlaps = any(start < mark.end and mark.start < end for mark in marks.get(line, ()))
            if location.file == source.file and line >= 0 and start < end and not overlaps:
                mark = Mark(start, end, _CLASSES[card.word], card.anchor, f"{card.finding.code} {card.title}")
                marks.setdefault(line, []).append(mark)
    return marks


def _split(lines: Sequence[CodeLine]) -> tuple[tuple[CodeLine, ...], tuple[CodeLine, ...]]:
    """What comes before the first jitted function, and the rest."""
    start = next((n for n, line in enumerate(lines) if line.text.startswith("@triton.jit")), 0)
    return tuple(lines[:start]), tuple(lines[start:])


def _excerpt(location: Location) -> Markup | None:
    """The line that a finding is about, its expression marked."""
    text = location.text.rstrip()
    stripped = text.lstrip()
    if not stripped:
        return None
    indent = len(text) - len(stripped)
    mark = Mark(max(0, location.column - indent), max(0, location.end_column - indent), "fault")
    return marked_line(stripped, "python", [mark])
