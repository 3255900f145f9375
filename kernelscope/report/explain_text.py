"""What a check looks for, with its examples; and the list of all checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kernelscope.audit.checks import Check
from kernelscope.audit.checks.example import Example
from kernelscope.report.console import TextStyle, render
from kernelscope.report.highlighting import highlighted
from kernelscope.report.layout import indented, labelled, paragraph


def checks_text(checks: Sequence[Check], style: TextStyle) -> str:
    """Code and title of every check."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for check in checks:
        table.add_row(Text(check.code, "heading"), Text(check.title))
    more = Text("kernelscope explain CODE tells more.")
    return render([table, Text(""), more], style)


def explain_text(check: Check, style: TextStyle) -> str:
    return render(_parts(check), style)


def _parts(check: Check) -> Iterator[RenderableType]:
    yield Text.assemble((check.code, "heading"), f"  {check.title}")
    for part in check.explanation.split("\n\n"):
        yield Text("")
        yield paragraph(" ".join(part.replace("`", "").split()))
    for example in check.examples:
        yield Text("")
        yield from _example(example)


def _example(example: Example) -> Iterator[RenderableType]:
    yield Text.assemble((example.verdict.name, example.verdict.word), f"  {example.about}")
    yield Text("")
    yield indented(highlighted(example.kernel))
    yield Text("")
    yield paragraph(example.launch.strip(), "quiet")
    if example.expression is not None:
        yield Text("")
        yield labelled("expression", example.expression)
    if example.largest_safe:
        yield labelled("safe up to", ", ".join(f"{name} = {value}" for name, value in example.largest_safe.items()))
