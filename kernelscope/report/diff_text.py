"""A comparison as text: unified or side by side, with the findings that a hunk answers above it and the cost below."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kernelscope.audit.results import UnsafeFinding, Verdict
from kernelscope.diffing.results import (
    ArtifactDiff,
    CostChange,
    DiffLine,
    Hunk,
    KernelDiff,
    LineKind,
    PairKind,
    TextDiff,
)
from kernelscope.report.console import TextStyle, render
from kernelscope.report.highlighting import highlighted
from kernelscope.report.layout import Unbroken, bullet, paragraph
from kernelscope.report.quantities import counted, listed
from kernelscope.report.side_by_side import paired_lines

_SIGN = {LineKind.SAME: "", LineKind.REMOVED: "unsafe", LineKind.ADDED: "safe"}
_MARK = {LineKind.SAME: "", LineKind.REMOVED: "bold reverse red", LineKind.ADDED: "bold reverse green"}
_MOST_NAMES = 8
_NUMBER = 5


def diff_text(diff: ArtifactDiff, style: TextStyle, side_by_side: bool = False) -> str:
    """The sentence that sums it up, then each kernel that differs; unchanged ones are named once."""
    return render(_parts(diff, style, side_by_side), style)


def _parts(diff: ArtifactDiff, style: TextStyle, side_by_side: bool) -> Iterator[RenderableType]:
    yield Text.assemble((diff.before, "name"), " -> ", (diff.after, "name"), f": {diff_summary(diff)}", overflow="fold")
    yield from (paragraph(note) for note in diff.notes)
    same = [k.before or "" for k in diff.kernels if k.kind is PairKind.SAME]
    for kernel in diff.kernels:
        if kernel.kind is not PairKind.SAME:
            yield Text("")
            yield from _kernel(kernel, style, side_by_side)
    if same:
        yield Text("")
        yield Text.assemble(
            (f"{counted(len(same), 'kernel')} unchanged: ", "quiet"), listed(same, _MOST_NAMES), overflow="fold"
        )


def diff_summary(diff: ArtifactDiff) -> str:
    """How many kernels differ, and how."""
    counts = Counter(k.kind for k in diff.kernels)
    parts = [f"{counts[kind]} {kind.value}" for kind in PairKind if counts[kind] and kind is not PairKind.SAME]
    if not parts:
        others = sum(a != b for a, b in diff.files.values())
        return f"no kernel differs, {counted(others, 'file')} do" if others else "no kernel differs"
    return f"{', '.join(parts)} of {counted(len(diff.kernels), 'kernel')}"


def _kernel(kernel: KernelDiff, style: TextStyle, side_by_side: bool) -> Iterator[RenderableType]:
    name = kernel.before or kernel.after or ""
    if kernel.before and kernel.after and kernel.before != kernel.after:
        name = f"{kernel.before} -> {kernel.after}"
    word = {PairKind.REMOVED: "unsafe", PairKind.ADDED: "safe"}.get(kernel.kind, "unknown")
    alike = f"  ({kernel.similarity:.0%} alike)" if kernel.kind is PairKind.MOVED else ""
    yield Text.assemble((kernel.kind.value.upper(), word), "  ", (name, "heading"), (alike, "quiet"), overflow="fold")
    told: set[str] = set()
    yield from _findings(kernel.findings, kernel, told)
    for text in kernel.texts:
        yield from _text(text, kernel, told, style, side_by_side)
    if kernel.cost is not None:
        yield Text("")
        yield paragraph(cost_change(kernel.cost))


def _text(
    text: TextDiff, kernel: KernelDiff, told: set[str], style: TextStyle, side_by_side: bool
) -> Iterator[RenderableType]:
    for hunk in text.hunks:
        yield Text("")
        yield from _findings(hunk.findings, kernel, told)
        yield Text(f"  @@ {text.title} {hunk_range(hunk)} @@", "quiet")
        yield from _side_by_side(hunk, text, style) if side_by_side else _unified(hunk, text, style)


def _findings(findings: Sequence[UnsafeFinding], kernel: KernelDiff, told: set[str]) -> Iterator[RenderableType]:
    """What was unsafe, once for each kind, and whether it still is."""
    for finding in findings:
        sentence = answered(finding, kernel)
        if sentence not in told:
            told.add(sentence)
            yield bullet(sentence)


def answered(finding: UnsafeFinding, kernel: KernelDiff) -> str:
    """`settled: KS101 4096*x0 could reach 38654697472; safe only when 4096*s10 <= 2147483648`."""
    reach = finding.tree.maximum if finding.tree is not None and finding.tree.maximum is not None else None
    what = f"{finding.code} {finding.expression}" + (f" could reach {reach}" if reach else "")
    safe = f"; safe only when {finding.condition}" if finding.condition else ""
    return f"{'settled: ' if kernel.verdict_after is Verdict.SAFE else ''}{what}{safe}"


def hunk_range(hunk: Hunk) -> str:
    """`-13,7 +13,7`, as a unified diff has it."""
    before = [line.before for line in hunk.lines if line.before is not None]
    after = [line.after for line in hunk.lines if line.after is not None]
    return f"-{_span(before)} +{_span(after)}"


def _span(numbers: Sequence[int]) -> str:
    return f"{numbers[0]},{len(numbers)}" if numbers else "0,0"


# -- unified ----------------------------------------------------------------------------------------------------------


def _unified(hunk: Hunk, text: TextDiff, style: TextStyle) -> Iterator[RenderableType]:
    for line in hunk.lines:
        number = line.before if line.before is not None else line.after
        start = f"{number:>{_NUMBER}} {line.kind.value} "
        code, carets = _code(line, text, style), "" if style.color else _carets(line)
        for place, (first, last) in enumerate(_pieces(line, max(20, style.width - len(start) - 6))):
            shown = start if place == 0 else " " * len(start)
            cut = Text("..." if first else ""), Text("..." if last < len(line.text) else "")
            sign = Text(shown, _SIGN[line.kind] or "quiet")
            yield Unbroken(Text.assemble(sign, cut[0], code[first:last], cut[1]))
            if carets[first:last].strip():
                margin = " " * (_NUMBER + 1) + "? " + " " * len(cut[0])
                yield Unbroken(Text((margin + carets[first:last]).rstrip()))


def _pieces(line: DiffLine, room: int) -> list[tuple[int, int]]:
    """The columns to show: a long line is cut to what changed in it; one that is new as a whole is shown in full."""
    length = len(line.text)
    if length <= room + 6:
        return [(0, length)]
    if line.kind is LineKind.SAME:
        return [(0, room)]
    if not line.marks:
        return [(start, min(length, start + room)) for start in range(0, length, room)]
    pieces: list[tuple[int, int]] = []
    for start, end in line.marks:
        first = max(0, min(start - (room - min(room, end - start)) // 2, length - room))
        for place in range(first, max(end, first + 1), room):
            if not pieces or pieces[-1][1] < min(end, place + room):
                pieces.append((place, min(length, place + room)))
    return pieces


def _code(line: DiffLine, text: TextDiff, style: TextStyle) -> Text:
    if not style.color:
        return Text(line.text)
    code = highlighted(line.text, text.language.value)
    code.pad_right(len(line.text) - len(code))
    for start, end in line.marks:
        code.stylize(_MARK[line.kind], start, end)
    return code


def _carets(line: DiffLine) -> str:
    """`^^^^` below the changed tokens of a line: what tells them where there is no colour."""
    columns = [" "] * len(line.text)
    for start, end in line.marks:
        columns[start:end] = "^" * (end - start)
    return "".join(columns)


# -- side by side -----------------------------------------------------------------------------------------------------


def _side_by_side(hunk: Hunk, text: TextDiff, style: TextStyle) -> Iterator[RenderableType]:
    table = Table.grid(padding=(0, 1, 0, 0), expand=True)
    for _ in range(2):
        table.add_column(width=_NUMBER, justify="right", no_wrap=True)
        table.add_column(width=1, no_wrap=True)
        table.add_column(ratio=1, overflow="fold")
    for left, right in paired_lines(hunk):
        table.add_row(*_cell(left, text, style, True), *_cell(right, text, style, False))
    yield table


def _cell(line: DiffLine | None, text: TextDiff, style: TextStyle, before: bool) -> tuple[Text, Text, Text]:
    if line is None:
        return Text(""), Text(""), Text("")
    number = line.before if before else line.after
    sign = Text(line.kind.value, _SIGN[line.kind])
    return Text(str(number if number is not None else ""), "quiet"), sign, _code(line, text, style)


# -- cost -------------------------------------------------------------------------------------------------------------


def cost_change(cost: CostChange) -> str:
    """What the change cost, on one line."""
    if cost.before is None or cost.after is None:
        return "cost: not measured (cuobjdump and nvdisasm come with triton)"
    pairs = [
        ("registers", cost.before.registers, cost.after.registers),
        ("spills", cost.before.spills, cost.after.spills),
        ("instructions", cost.before.instructions, cost.after.instructions),
    ]
    text = ", ".join(f"{what} {old} -> {new}" for what, old, new in pairs)
    if cost.before.occupancy is not None and cost.after.occupancy is not None:
        text += f", occupancy {cost.before.occupancy:.0%} -> {cost.after.occupancy:.0%}"
    return f"cost: {text}"
