"""A comparison as text: unified or side by side, with the findings that a hunk answers above it and the cost below."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kernelscope.audit.results import UnsafeFinding
from kernelscope.diffing.results import (
    ArtifactDiff,
    CostChange,
    DiffLine,
    Hunk,
    KernelDiff,
    LineKind,
    PairKind,
    SizeChange,
    TextDiff,
)
from kernelscope.report.answered_findings import answered_sentences
from kernelscope.report.console import TextStyle, render
from kernelscope.report.highlighting import highlighted
from kernelscope.report.layout import Unbroken, bullet, paragraph
from kernelscope.report.quantities import counted, listed, range_text
from kernelscope.report.same_changes import change_of
from kernelscope.report.side_by_side import paired_lines

_SIGN = {LineKind.SAME: "", LineKind.REMOVED: "unsafe", LineKind.ADDED: "safe"}
_MARK = {LineKind.SAME: "", LineKind.REMOVED: "bold reverse red", LineKind.ADDED: "bold reverse green"}
_MOST_NAMES = 8
_NUMBER = 5
_MOST_ROWS = 4  # of a changed line, before it is cut to what changed


def diff_text(diff: ArtifactDiff, style: TextStyle, side_by_side: bool = False) -> str:
    """The sentence that sums it up, then each kernel that differs; unchanged ones are named once."""
    return render(_parts(diff, style, side_by_side), style)


def _parts(diff: ArtifactDiff, style: TextStyle, side_by_side: bool) -> Iterator[RenderableType]:
    yield Text.assemble((diff.before, "name"), " -> ", (diff.after, "name"), f": {diff_summary(diff)}", overflow="fold")
    yield from (paragraph(note) for note in diff.notes)
    yield from (paragraph(size_change(change)) for change in diff.sizes)
    same = [k.before or "" for k in diff.kernels if k.kind is PairKind.SAME]
    shown: dict[Hashable, str] = {}
    for kernel in diff.kernels:
        if kernel.kind is not PairKind.SAME:
            yield Text("")
            change = change_of(kernel)
            yield from _kernel(kernel, style, side_by_side, shown.get(change))
            if change is not None:
                shown.setdefault(change, kernel.before or "")
    if same:
        yield Text("")
        yield Text.assemble(
            (f"{counted(len(same), 'kernel')} unchanged: ", "quiet"), listed(same, _MOST_NAMES), overflow="fold"
        )


def size_change(change: SizeChange) -> str:
    """`size s10 (input0[0]): [2, no limit] -> [2, 4096]`."""
    source = f" ({change.source})" if change.source not in ("", change.name) else ""
    return f"size {change.name}{source}: {range_text(*change.before)} -> {range_text(*change.after)}"


def diff_summary(diff: ArtifactDiff) -> str:
    """How many kernels differ, and how."""
    counts = Counter(k.kind for k in diff.kernels)
    parts = [f"{counts[kind]} {kind.value}" for kind in PairKind if counts[kind] and kind is not PairKind.SAME]
    if not parts:
        around = any(a != b for a, b in diff.files.values())
        return "no kernel differs, the text around them does" if around else "no kernel differs"
    return f"{', '.join(parts)} of {counted(len(diff.kernels), 'kernel')}"


def _kernel(
    kernel: KernelDiff, style: TextStyle, side_by_side: bool, same_as: str | None
) -> Iterator[RenderableType]:
    name = kernel.before or kernel.after or ""
    if kernel.before and kernel.after and kernel.before != kernel.after:
        name = f"{kernel.before} -> {kernel.after}"
    word = {PairKind.REMOVED: "unsafe", PairKind.ADDED: "safe"}.get(kernel.kind, "unknown")
    alike = f"  ({kernel.similarity:.0%} alike)" if kernel.kind is PairKind.MOVED else ""
    yield Text.assemble((kernel.kind.value.upper(), word), "  ", (name, "heading"), (alike, "quiet"), overflow="fold")
    told: set[str] = set()
    if same_as is not None:
        inside = [finding for text in kernel.texts for hunk in text.hunks for finding in hunk.findings]
        yield from _findings([*kernel.findings, *inside], kernel, told)
        yield Unbroken(Text(f"  the same lines change as in {same_as}", "quiet"))
    else:
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
    for sentence in answered_sentences(findings, kernel):
        if sentence not in told:
            told.add(sentence)
            yield bullet(sentence)


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
    """The columns to show: a line of many rows is cut to what changed in it; one that is new as a whole is shown in full."""
    length = len(line.text)
    if length <= room + 6:
        return [(0, length)]
    if line.kind is LineKind.SAME:
        return [(0, room)]
    if not line.marks or length <= _MOST_ROWS * room:
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
    table = Table.grid(padding=(0, 1, 0, 0))
    room = style.width // 2 - _NUMBER - 4
    for _ in range(2):
        table.add_column(width=_NUMBER, justify="right", no_wrap=True)
        table.add_column(width=1, no_wrap=True)
        table.add_column(width=room, overflow="fold")
    for left, right in paired_lines(hunk):
        table.add_row(*_cell(left, text, style, room, True), *_cell(right, text, style, room, False))
    yield table


def _cell(
    line: DiffLine | None, text: TextDiff, style: TextStyle, room: int, before: bool
) -> tuple[Text, Text, Text]:
    if line is None:
        return Text(""), Text(""), Text("")
    number = line.before if before else line.after
    sign = Text(line.kind.value, _SIGN[line.kind])
    code = _code(line, text, style)
    if line.kind is not LineKind.SAME and len(line.text) <= _MOST_ROWS * room:
        return Text(str(number if number is not None else ""), "quiet"), sign, code
    shown = [
        Text.assemble("..." if first else "", code[first:last], "..." if last < len(line.text) else "")
        for first, last in _pieces(line, max(_NUMBER, room - 6))
    ]
    return Text(str(number if number is not None else ""), "quiet"), sign, Text("\n").join(shown)


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
