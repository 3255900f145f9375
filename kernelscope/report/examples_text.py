"""What the examples of a patch gave, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from kernelscope.report.console import TextStyle, render
from kernelscope.report.layout import Unbroken, indented
from kernelscope.report.quantities import counted
from kernelscope.rewrite.patch_examples import ExampleResult


def examples_text(title: str, results: Sequence[ExampleResult], style: TextStyle) -> str:
    """Each example with its outcome; of one that failed, what was expected and what was found."""
    return render(_parts(title, results), style)


def _parts(title: str, results: Sequence[ExampleResult]) -> Iterator[RenderableType]:
    failed = sum(not result.passed for result in results)
    count = f"{failed} of {counted(len(results), 'example')} failed" if failed else f"{len(results)} examples passed"
    yield Text.assemble((title, "heading"), f": {count}", overflow="fold")
    for result in results:
        word, style = ("passed", "safe") if result.passed else ("FAILED", "unsafe")
        yield indented(Text.assemble((word, style), f"  {result.kind} {result.number}"))
        if not result.passed:
            yield from _lines("expected", result.expected)
            yield from _lines("found", result.found)


def _lines(label: str, text: str) -> Iterator[RenderableType]:
    yield indented(indented(Text(label, "quiet")))
    yield from (Unbroken(Text(f"      {line}")) for line in text.split("\n"))
