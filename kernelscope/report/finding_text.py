"""One finding: its source line, why it is wrong, and the point at which it was seen to happen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from kernelscope.audit.results import Consequence, KernelResult, Note, UnknownFinding, UnsafeFinding, Verdict
from kernelscope.launches.expression_text import host_expression_text
from kernelscope.replay.results import Replay
from kernelscope.report.console import TextStyle
from kernelscope.report.excerpt import excerpt
from kernelscope.report.expression_tree import expression_tree
from kernelscope.report.folding import Repeated
from kernelscope.report.layout import INDENT, Unbroken, bullet, indented, labelled, paragraph
from kernelscope.report.quantities import bytes_text, listed, sizes_text

_MAX_NAMES = 4
_MAX_LINES = 8
_MAX_GRID = 40


def kernel_heading(kernel: KernelResult, verdict: Verdict = Verdict.UNSAFE) -> Iterator[RenderableType]:
    """The kernel's verdict and name, and the model operations and grid that it is launched with."""
    yield Unbroken(Text.assemble((verdict.name, verdict.word), "  ", (kernel.name, "name")))
    if kernel.launches:
        launch = kernel.launches[0]
        grid = ", ".join(_short(host_expression_text(dimension)) for dimension in launch.grid)
        nodes = list(dict.fromkeys(node for one in kernel.launches for node in one.source_nodes))
        times = f", launched {len(kernel.launches)} times" if len(kernel.launches) > 1 else ""
        yield paragraph(f"{'from ' + listed(nodes, _MAX_NAMES) + ', ' if nodes else ''}grid ({grid}){times}")


def _short(text: str) -> str:
    return text if len(text) <= _MAX_GRID else f"{text[: _MAX_GRID - 3]}..."


def unsafe_finding(
    repeated: Repeated, title: str, same: Sequence[str], style: TextStyle, replay: Replay | None = None
) -> Iterator[RenderableType]:
    """Everything about an unsafe finding; `same` names the other kernels that have it too."""
    finding = repeated.finding
    yield from _place(finding, title, style)
    yield paragraph(finding.explanation)
    if finding.tree is not None:
        yield Text("")
        yield indented(expression_tree(finding.tree, style))
    yield Text("")
    for label, value in _facts(finding):
        yield labelled(label, value)
    if replay is not None:
        yield labelled("replay", replay.state.value + (f": {replay.detail}" if replay.detail else ""))
    if repeated.other_lines:
        yield labelled("also", f"line {listed([str(line) for line in repeated.other_lines], _MAX_LINES)}")
    if same:
        yield labelled("also in", listed(list(same), _MAX_NAMES))


def unknown_finding(
    finding: UnknownFinding, title: str, same: Sequence[str], style: TextStyle
) -> Iterator[RenderableType]:
    """What could not be proved, and which of the three reasons it has."""
    yield from _place(finding, title, style)
    yield paragraph(f"unknown, because {finding.reason.value}: {finding.detail}")
    if same:
        yield labelled("also in", listed(list(same), _MAX_NAMES))


def unsafe_brief(name: str, finding: UnsafeFinding) -> RenderableType:
    """An unsafe finding on one line."""
    condition = f" unless {finding.condition}" if finding.condition else ""
    return bullet(
        f"{name}: {finding.code} line {finding.location.line}: {finding.expression}: "
        f"{finding.consequence.value}{condition}"
    )


def unknown_brief(name: str, finding: UnknownFinding) -> RenderableType:
    """An unknown finding on one line."""
    return bullet(f"{name}: {finding.code} line {finding.location.line}: {finding.reason.value}: {finding.detail}")


def note_text(note: Note, kernels: Sequence[str]) -> RenderableType:
    """A note, where it was first met, and the kernels that it is about."""
    where = f" in {listed(list(kernels), 2)}" if kernels else ""
    return bullet(f"{note.code}{where}, line {note.location.line}: {note.expression}: {note.detail}")


def _place(finding: UnsafeFinding | UnknownFinding, title: str, style: TextStyle) -> Iterator[RenderableType]:
    location = finding.location
    yield Text.assemble(" " * INDENT, (finding.code, "heading"), f" {title}")
    if location.file:
        place = f"{location.file}:{location.line}:{location.column + 1}"
        yield Unbroken(Text(" " * INDENT + place, "quiet"))
    yield from excerpt(location, style.width)


def _facts(finding: UnsafeFinding) -> Iterator[tuple[str, str]]:
    if finding.consequence is not Consequence.DOES_NOT_COMPILE:
        yield "witness", witness_text(finding)
        if finding.condition:
            yield "safe when", finding.condition
        limits = {name: value for name, value in finding.largest_safe.items() if value is not None}
        if limits:
            yield "safe up to", sizes_text(limits)
    yield "more", f"kernelscope explain {finding.code}"


def witness_text(finding: UnsafeFinding) -> str:
    """The point at which a finding was seen to happen, on one line."""
    witness = finding.witness
    parts = [sizes_text(witness.symbols)] if witness.symbols else []
    if witness.lane:
        parts.append(f"program {_tuple(witness.program_id)}, lane {_tuple(witness.lane)}")
    if witness.loop:
        parts.append(f"loop {sizes_text(witness.loop)}")
    if witness.loaded:
        parts.append(f"loaded {sizes_text(witness.loaded)}")
    if finding.smallest_trigger_bytes is not None:
        parts.append(f"tensors of {bytes_text(finding.smallest_trigger_bytes)}")
    return "; ".join(parts) or "every launch"


def _tuple(numbers: Sequence[int]) -> str:
    return f"({', '.join(map(str, numbers))})"
