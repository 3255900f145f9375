"""A replayed witness as text: the arguments as they arrive, and each access of the lane on both sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kernelscope.replay.results import PatchedReplay, PatchedState, Replay, ReplayedAccess, ReplayState
from kernelscope.report.console import TextStyle, render
from kernelscope.report.layout import indented, labelled, paragraph
from kernelscope.report.quantities import sizes_text

_STYLES = {
    ReplayState.REPRODUCED: "unsafe", ReplayState.NOT_REPRODUCED: "unknown", ReplayState.NOT_REPLAYABLE: "unknown",
}  # fmt: skip
_MOST_ROWS = 24


def replays_text(replays: Sequence[Replay], style: TextStyle) -> str:
    """One part a finding."""
    return render(_parts(replays), style)


def _parts(replays: Sequence[Replay]) -> Iterator[RenderableType]:
    for number, replay in enumerate(replays):
        if number:
            yield Text("")
        yield from _replay(replay)


def _replay(replay: Replay) -> Iterator[RenderableType]:
    finding, witness = replay.finding, replay.finding.witness
    yield Text.assemble(
        (replay.state.value.upper(), _STYLES[replay.state]), "  ", (finding.id, "name"),
        f" {finding.expression} of {replay.kernel}", overflow="fold",
    )  # fmt: skip
    if replay.detail:
        yield paragraph(f"{replay.detail[:1].upper()}{replay.detail[1:]}.")
    program = ", ".join(map(str, witness.program_id))
    lane = ", ".join(map(str, witness.lane))
    loops = f"; loop {sizes_text(witness.loop)}" if witness.loop else ""
    yield labelled(
        "witness", f"{sizes_text(witness.symbols) or 'every size'}; program ({program}), lane ({lane}){loops}"
    )
    if replay.grid is not None:
        yield labelled("grid", ", ".join(map(str, replay.grid)))
    for name, (exact, passed) in replay.arguments.items():
        wrapped = "" if exact == passed else f", which arrives as {passed}"
        yield labelled("argument", f"{name} = {exact}{wrapped}")
    if replay.accesses:
        yield Text("")
        yield indented(_table(replay.accesses))
    if replay.patched is not None:
        yield Text("")
        yield from _patched(replay.patched)


def _patched(patched: PatchedReplay) -> Iterator[RenderableType]:
    """The same point after `kernelscope patch`."""
    why = f": {patched.detail}" if patched.detail else ""
    style = "safe" if patched.state is PatchedState.SETTLED else "unknown"
    yield indented(Text.assemble((patched.state.value, style), why, overflow="fold"))
    if patched.accesses:
        yield indented(_table(patched.accesses))


def _table(accesses: Sequence[ReplayedAccess]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for column in ("line", "access", "buffer", "exact", "hardware"):
        table.add_column(justify="right" if column in ("line", "exact", "hardware") else "left", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(*(Text(c, "quiet") for c in ("line", "access", "buffer", "exact", "hardware", "")))
    wrong = [a for a in accesses if not a.agrees]
    shown = list(accesses) if len(accesses) <= _MOST_ROWS else wrong[:_MOST_ROWS]
    for access in shown:
        table.add_row(
            Text(str(access.line)), Text(access.kind), Text(access.buffer), _offset(access.exact), _offset(access.hardware),
            Text(_judgement(access), "" if access.agrees else "fault"),
        )  # fmt: skip
    return table


def _offset(offset: int | None) -> Text:
    return Text("masked off", "quiet") if offset is None else Text(str(offset))


def _judgement(access: ReplayedAccess) -> str:
    if access.agrees:
        return ""
    if access.hardware is None:
        return "left out"
    if access.exact == access.hardware:
        return f"stores {access.values[1]} in place of {access.values[0]}"
    beyond = access.beyond
    if beyond is None:
        return "another element, or outside"
    if beyond < 0:
        return f"{-beyond} elements before the buffer"
    if beyond > 0:
        return f"{beyond} elements past its end"
    return "another element" if access.exact is not None else "not meant to be accessed"
