"""The stages and the first that differs, as text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kernelscope.isolation.results import Isolation, StageResult, StageState
from kernelscope.report.console import TextStyle, render
from kernelscope.report.layout import bullet, indented, labelled

_STYLES = {StageState.SAME: "safe", StageState.NOT_RUN: "unknown"}


def isolation_text(isolation: Isolation, style: TextStyle) -> str:
    """The conclusion first, then each stage with what it gave."""
    return render(_parts(isolation), style)


def _parts(isolation: Isolation) -> Iterator[RenderableType]:
    word, style = ("AGREES", "safe") if isolation.first is None else ("DIFFERS", "unsafe")
    yield Text.assemble((word, style), "  ", (isolation.subject, "name"), f": {isolation.conclusion}", overflow="fold")
    yield Text("")
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for stage in isolation.stages:
        told = "the reference" if stage is isolation.stages[0] else stage.state.value
        table.add_row(
            Text(stage.stage.words),
            Text(told, _STYLES.get(stage.state, "unsafe")),
            Text(f"{stage.seconds:.1f} s", "quiet"),
        )
    yield indented(table)
    if isolation.first is not None:
        yield Text("")
        yield from _first(isolation.first)
    if isolation.operator is not None:
        found = isolation.operator
        how = "also when it is compiled alone" if found.alone else "only together with those before it"
        yield labelled("operator", f"{found.name}, {found.position} of {found.of}; {how}")
        if found.source:
            yield labelled("source", found.source)
    for kernel in isolation.kernels:
        yield labelled("kernel", f"{kernel.name}: {kernel.verdict.word}, {kernel.code}. {kernel.sentence}")


def _first(stage: StageResult) -> Iterator[RenderableType]:
    if stage.differences:
        for difference in stage.differences[:4]:
            at = f" at {list(difference.at)}" if difference.at else ""
            yield bullet(
                f"output {difference.index} ({difference.dtype}): {difference.kind} differs: {difference.detail}{at}"
            )
        return
    yield labelled("detail", stage.detail)
