"""What a patch run did, as text: the sentence that sums it up, each kernel, the wrappers, the audit of the result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kernelscope.build.cost import KernelCost
from kernelscope.patching.report import (
    CandidateCost,
    ChangedLine,
    KernelPatchResult,
    PatchDeclined,
    Patched,
    PatchFailed,
    PatchReport,
    ProvenanceState,
)
from kernelscope.replay.equivalence import Equivalence, EquivalenceState
from kernelscope.report.answer import answers_of
from kernelscope.report.console import TextStyle, render
from kernelscope.report.layout import INDENT, Unbroken, bullet, heading, indented, labelled, paragraph
from kernelscope.report.patch_remaining import Remaining, remaining
from kernelscope.report.quantities import counted, listed, sizes_text

_MAX_LINES = 12
_MAX_NAMES = 6
_MAX_FINDINGS = 3


def patch_text(report: PatchReport, style: TextStyle, checks: Sequence[Equivalence] = ()) -> str:
    """The report of a patch run; `checks`: how old and new kernels compare."""
    return render([*_parts(report), *_checks(checks)], style)


def _checks(checks: Sequence[Equivalence]) -> Iterator[RenderableType]:
    if checks:
        yield Text("")
        yield heading("Old and new kernels in Triton's interpreter")
    for one in checks:
        style = {EquivalenceState.EQUAL: "safe", EquivalenceState.DIFFERENT: "unsafe"}.get(one.state, "unknown")
        line = Text.assemble((one.state.value, style), f"  {one.kernel}: {check_text(one)}", overflow="fold")
        yield indented(line)


def check_text(check: Equivalence) -> str:
    """`5 of 5 programs at s10 = 5`, and what differs or stood in the way."""
    ran = f"{check.programs} of {counted(check.grid, 'program')} at {sizes_text(check.sizes)}" if check.programs else ""
    return ": ".join(filter(None, (ran, check.detail)))


def _parts(report: PatchReport) -> Iterator[RenderableType]:
    yield Text.assemble((report.source, "name"), f": {report.summary}", overflow="fold")
    for kernel in report.kernels:
        yield Text("")
        yield from _kernel(kernel)
    if report.kernels:
        yield Text("")
        yield from _wrappers(report)
    left = remaining(report)
    if left:
        yield Text("")
        yield heading("Stays as it is" if report.after is None else "Not safe in the result")
        told = {k.kernel for k in report.kernels if not isinstance(k, Patched)}
        for one in left:
            yield from _left(one, "for the reason above" if one.kernel in told else one.reason)
    if report.after is not None:
        yield Text("")
        for artifact in report.after.artifacts:
            for answer in answers_of(artifact):
                word = "unsafe" if answer.verdict == "UNREADABLE" else answer.verdict.lower()
                yield Text.assemble(
                    ("Audit of the result", "heading"), ": ", (answer.verdict, word), f"  {answer.sentence}",
                    overflow="fold",
                )  # fmt: skip


# -- one kernel -------------------------------------------------------------------------------------------------------


def _kernel(kernel: KernelPatchResult) -> Iterator[RenderableType]:
    match kernel:
        case Patched():
            yield _title("PATCHED", "safe", kernel.kernel)
            yield from _patched(kernel)
        case PatchDeclined(reason=reason, code=code):
            yield _title("DECLINED", "unknown", kernel.kernel)
            yield paragraph(f"{code}: {reason}" if code else reason)
        case PatchFailed(error=error):
            yield _title("FAILED", "unsafe", kernel.kernel)
            yield paragraph(error)


def _title(word: str, style: str, name: str) -> RenderableType:
    return Unbroken(Text.assemble((word, style), "  ", (name, "name")))


def _patched(kernel: Patched) -> Iterator[RenderableType]:
    for change in kernel.changes[:_MAX_LINES]:
        yield from _change(change)
    if len(kernel.changes) > _MAX_LINES:
        rest = counted(len(kernel.changes) - _MAX_LINES, "more line")
        yield paragraph(f"... and {rest}: see --format json", "quiet")
    yield labelled("patches", listed(kernel.patches, _MAX_NAMES))
    if kernel.widened:
        yield labelled("arguments", f"{listed(kernel.widened, _MAX_NAMES)} in 64 bits")
    yield labelled("cost", cost_text(kernel.before, kernel.after))
    if len(kernel.candidates) > 1:
        yield labelled("compared", f"{len(kernel.candidates)} ways to patch it, the chosen one first")
        yield indented(indented(_candidates(kernel.candidates)))
    if kernel.provenance is ProvenanceState.PROVED:
        yield labelled("source", kernel.provenance.value)
    else:
        detail = f": {kernel.provenance_detail}" if kernel.provenance_detail else ""
        yield labelled("source", f"not proved to give the binary: {kernel.provenance.value}{detail}")


def _change(change: ChangedLine) -> Iterator[RenderableType]:
    margin = " " * INDENT
    number = f"{change.line:>5} "
    yield Unbroken(Text.assemble(margin, (number, "quiet"), ("- ", "unsafe"), change.before.strip()))
    yield Unbroken(Text.assemble(margin, " " * len(number), ("+ ", "safe"), change.after.strip()))


def cost_text(before: KernelCost | None, after: KernelCost | None) -> str:
    """`registers 32 -> 38, spills 0 -> 0, instructions 664 -> 672`; a side that could not be measured is `?`."""
    if before is None and after is None:
        return "not measured: cuobjdump or nvdisasm is missing"
    rows = (("registers", "registers"), ("spills", "spills"), ("instructions", "instructions"))
    return ", ".join(f"{word} {_number(before, name)} -> {_number(after, name)}" for word, name in rows)


def _number(cost: KernelCost | None, name: str) -> str:
    return "?" if cost is None else str(getattr(cost, name))


def _candidates(candidates: tuple[CandidateCost, ...]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    words = ("", "casts", "registers", "spills", "occupancy", "instructions", "")
    for _ in words:
        table.add_column(no_wrap=True)
    table.add_row(*(Text(word, "quiet") for word in words))
    for one in candidates:
        measured = [_number(one.cost, name) for name in ("registers", "spills", "instructions")]
        occupancy = None if one.cost is None else one.cost.occupancy
        measured.insert(2, "?" if occupancy is None else f"{100 * occupancy:.0f} %")
        library = "new library" if one.widened else ""
        table.add_row(*(Text(cell) for cell in (one.strategy.value, str(one.casts), *measured, library)))
    return table


# -- the rest ---------------------------------------------------------------------------------------------------------


def _wrappers(report: PatchReport) -> Iterator[RenderableType]:
    for name, change in report.wrappers.items():
        yield Text.assemble(("Wrapper", "heading"), f" of {name}: {change.value}", overflow="fold")
    if not report.wrappers:
        yield Text.assemble(("Wrapper", "heading"), ": untouched, and so is the library", overflow="fold")
    if report.triton_version:
        yield Text(f"Compiled with Triton {report.triton_version}, torch {report.torch_version}", "quiet")


def _left(one: Remaining, reason: str) -> Iterator[RenderableType]:
    yield indented(Text.assemble((one.verdict.name, one.verdict.word), f"  {one.kernel}: {reason}", overflow="fold"))
    yield from (indented(bullet(text)) for text in one.findings[:_MAX_FINDINGS])
    if len(one.findings) > _MAX_FINDINGS:
        yield indented(bullet(f"{len(one.findings) - _MAX_FINDINGS} more: `kernelscope audit` shows them"))
