"""Advice as text: the options for each model, cheapest first, each with what to paste or type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kernelscope.advice.options import (
    Advice,
    Caught,
    CheckedFinding,
    DeclareRanges,
    KnownDefect,
    ModelAdvice,
    NarrowIndexTensor,
    NoRange,
    PatchPackage,
    RuntimeChecks,
    TradeOff,
)
from kernelscope.audit.results import Verdict
from kernelscope.report.answer import named
from kernelscope.report.answer_line import answer_lines
from kernelscope.report.console import TextStyle, render
from kernelscope.report.layout import Unbroken, bullet, heading, indented, labelled, paragraph
from kernelscope.report.patch_text import cost_text
from kernelscope.report.quantities import counted, listed, sizes_text

_MOST_NAMES = 4
_BAR = 24


def advice_text(advice: Advice, style: TextStyle) -> str:
    """The options, numbered through each model."""
    return render(_parts(advice), style)


def _parts(advice: Advice) -> Iterator[RenderableType]:
    yield from answer_lines(advice.audit)
    for model in advice.models:
        yield Text("")
        if len(advice.models) > 1:
            yield heading(f"Model {model.name}")
        yield from _model(model)


def _model(model: ModelAdvice) -> Iterator[RenderableType]:
    options = list(_options(model))
    if model.verdict is Verdict.SAFE:
        yield paragraph("Nothing has to be done: every size that the package declares is proved safe.")
    elif model.verdict is Verdict.UNKNOWN:
        yield paragraph("Nothing unsafe was found, and not everything is proved: `kernelscope audit` says what is not.")
    for number, (title, parts) in enumerate(options, start=1):
        if number > 1 or model.verdict is not Verdict.UNSAFE:
            yield Text("")
        yield heading(f"{number}. {title}")
        yield from parts


def _options(model: ModelAdvice) -> Iterator[tuple[str, list[RenderableType]]]:
    match model.ranges:
        case DeclareRanges():
            yield "Declare ranges, and compile the package anew", list(_ranges(model.ranges))
        case NoRange(reason):
            yield "Declared ranges do not help", [paragraph(f"{reason[:1].upper()}{reason[1:]}.")]
        case None:
            pass
    if model.patch is not None:
        yield "Patch this package", list(_patch(model.patch))
    if model.checks is not None:
        yield "Check inputs at run time: AOTI_RUNTIME_CHECK_INPUTS=1", list(_checks(model.checks))
    if model.index_tensors:
        yield "Index with int32 tensors", list(_tensors(model.index_tensors))
    if model.defects:
        yield "Known defects of torch that it shows", [part for d in model.defects for part in _defect(d)]


# -- ranges -----------------------------------------------------------------------------------------------------------


def _ranges(option: DeclareRanges) -> Iterator[RenderableType]:
    for line in option.code.splitlines():
        yield Unbroken(Text(f"    {line}"))
    yield Text("")
    first = option.bounds[0]
    beyond = f"; with {named(first.symbol)} up to {first.maximum + first.symbol.step} it is {_word(option.one_more)}"
    yield labelled("within", f"these ranges this very package is {_word(option.verdict)}{beyond}")
    if option.generated:
        more = "a larger maximum makes Inductor compile 64-bit indices (torch 2.11 and newer, while no tensor may pass"
        yield labelled("beyond", f"{more} 1e20 elements), which are slower; torch 2.8 ignores it")
    if option.handwritten:
        names = listed(option.handwritten, _MOST_NAMES)
        yield labelled("by hand", f"{names}: no range changes a hand-written kernel; keep to the maximum or patch it")
    if option.trade_off is not None:
        yield Text("")
        yield from _trade_off(option.trade_off)


def _word(verdict: Verdict | None) -> str:
    return verdict.word if verdict is not None else "not judged"


def _trade_off(trade: TradeOff) -> Iterator[RenderableType]:
    others = " and ".join(named(symbol) for symbol in trade.others)
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right")
    table.add_column(justify="right")
    table.add_column(no_wrap=True)
    table.add_row(Text(f"{others} up to", "quiet", overflow="fold"), Text(f"{named(trade.first)} up to", "quiet"))
    longest = max((row.largest.bit_length() for row in trade.rows if row.largest is not None), default=1)
    for row in trade.rows:
        size = longest if row.largest is None else row.largest.bit_length()
        limit = "no limit" if row.largest is None else str(row.largest)
        table.add_row(Text(str(row.others)), Text(limit), Text("#" * max(1, _BAR * size // max(1, longest)), "quiet"))
    yield indented(table)
    yield paragraph("Bars are logarithmic. Another point of the curve: --max NAME=VALUE for what you need.", "quiet")


# -- the others -------------------------------------------------------------------------------------------------------


def _patch(option: PatchPackage) -> Iterator[RenderableType]:
    yield Unbroken(Text(f"    {option.command}"))
    names = listed(option.kernels, _MOST_NAMES)
    yield paragraph(f"Rewrites {counted(len(option.kernels), 'kernel')} to 64 bits where needed: {names}.")
    if option.costs is None:
        yield paragraph("Add --dry-run to see the changes and what they cost first; `advise --cost` tells the cost here.")
        return
    for cost in option.costs:
        told = f"stays as it is: {cost.reason}" if cost.reason is not None else cost_text(cost.before, cost.after)
        yield bullet(f"{cost.kernel}: {told}")


def _checks(option: RuntimeChecks) -> Iterator[RenderableType]:
    stopped = sum(f.caught is Caught.YES for f in option.findings)
    total = len(option.findings)
    verdict = "all" if stopped == total else "none" if not stopped else f"{stopped}"
    yield paragraph(f"It stops {verdict} of the {counted(total, 'finding')}.")
    limits = [f"{name} <= {limit}" for name, limit in option.limits.items() if limit is not None]
    yield labelled("lets pass", ", ".join(limits) if limits else "any size: the package declares no maximum")
    yield from (bullet(line) for line in dict.fromkeys(map(_checked, option.findings)) if line)


def _checked(checked: CheckedFinding) -> str:
    if checked.caught is Caught.YES:
        return ""
    where = f"{checked.kernel}, {checked.finding.code}"
    if checked.passes is None:
        return f"{where}: not known"
    return f"{where}: {sizes_text(checked.passes) or 'every size'} passes and is unsafe ({checked.finding.consequence.value})"


def _tensors(tensors: Sequence[NarrowIndexTensor]) -> Iterator[RenderableType]:
    yield paragraph("Their values are proved to fit. Embedding and indexing take int32; gather and scatter want int64.")
    yield from (bullet(f"{t.tensor}: {t.argument} of {t.kernel}") for t in tensors)


def _defect(defect: KnownDefect) -> Iterator[RenderableType]:
    yield paragraph(f"{defect.title} [{defect.id}]")
    yield labelled("kernels", listed(defect.kernels, _MOST_NAMES))
    yield labelled("symptom", defect.symptom)
    fixed = "in no version measured" if defect.fixed == "none" else f"in torch {defect.fixed}"
    yield labelled("versions", f"seen in torch {defect.affected}; fixed {fixed}")
    yield labelled("cure", defect.cure)
    yield labelled("patches", ", ".join(defect.patches))
    yield labelled("see", defect.reference)
