"""The result of `kernelscope bounds` as text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kernelscope.audit.results import BoundsResult
from kernelscope.report.console import TextStyle, render
from kernelscope.report.layout import bullet, heading, indented, paragraph
from kernelscope.report.quantities import sizes_text


def bounds_text(result: BoundsResult, path: str, style: TextStyle) -> str:
    return render(_parts(result, path), style)


def _parts(result: BoundsResult, path: str) -> Iterator[RenderableType]:
    fixed = f"with {sizes_text(result.fixed)}, the others" if result.fixed else "each with the others"
    yield Text.assemble((path, "name"), f": largest safe sizes, {fixed} at their minimum", overflow="fold")
    names = sorted({*result.largest_safe, *result.unknown})
    if not names:
        yield paragraph("no size is free")
        return
    table = Table.grid(padding=(0, 3, 0, 0))
    for name in names:
        table.add_row(Text(name), _limit(result, name))
    yield indented(table)
    if result.unknown:
        yield heading("Unknown")
        yield from (bullet(f"{name}: {why}") for name, why in sorted(result.unknown.items()))


def _limit(result: BoundsResult, name: str) -> Text:
    if name in result.unknown:
        return Text("unknown", "unknown")
    limit = result.largest_safe[name]
    return Text("no limit below 2**40") if limit is None else Text(str(limit), "heading")
