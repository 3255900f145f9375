"""A kernel as `kernelscope show PATH KERNEL` tells it: verdict, launches, and its source with what it computes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import RenderableType
from rich.text import Text

from kernelscope.audit.index_ranges import IndexRange
from kernelscope.audit.kernel_facts import FoundKernels, KernelFacts
from kernelscope.audit.results import KernelResult, UnsafeFinding, Verdict
from kernelscope.report.annotated_source import annotated_source
from kernelscope.report.annotations import notes_by_line
from kernelscope.report.answer import named
from kernelscope.report.assumptions_text import assumption_lines
from kernelscope.report.console import TextStyle, render
from kernelscope.report.launch_text import launch_lines
from kernelscope.report.layout import Unbroken, bullet, heading, labelled, paragraph
from kernelscope.report.quantities import range_text, share_text, sizes_text
from kernelscope.report.safe_table import tightest

_MOST_LAUNCHES = 4
_READING = (
    "A line that starts with = tells the type of an expression above it and the exact values that it takes, before any "
    "wrapping, at all sizes that fit into memory and can be launched: in addresses on the lanes that access memory, in "
    "comparisons on every lane."
)


def kernel_facts_text(found: FoundKernels, style: TextStyle, preamble: bool = False) -> str:
    """The kernels of one name, one after another, and what their facts rest on."""
    return render(_parts(found, style, preamble), style)


def _parts(found: FoundKernels, style: TextStyle, preamble: bool) -> Iterator[RenderableType]:
    for number, facts in enumerate(found.kernels):
        if number:
            yield Text("")
        yield from _kernel(facts, style, preamble)
    yield Text("")
    yield heading("Assumptions")
    yield from (bullet(line) for line in assumption_lines(found.audit))


def _kernel(facts: KernelFacts, style: TextStyle, preamble: bool) -> Iterator[RenderableType]:
    kernel = facts.kernel
    yield Unbroken(Text.assemble((kernel.verdict.name, kernel.verdict.word), "  ", (kernel.name, "name")))
    for label, value in _summary(facts):
        yield labelled(label, value)
    arguments = _arguments(facts)
    for launch in kernel.launches[:_MOST_LAUNCHES]:
        yield Text("")
        yield from launch_lines(launch, {name: _values(one) for name, one in arguments.items()})
    if len(kernel.launches) > _MOST_LAUNCHES:
        yield Text("")
        yield paragraph(f"... and {len(kernel.launches) - _MOST_LAUNCHES} more launches: see --format json")
    if kernel.source is None:
        yield Text("")
        yield paragraph("The artifact does not hold the source of this kernel.")
        return
    yield Text("")
    yield Unbroken(Text(f"{kernel.source.file}:{kernel.source.first_line}", "quiet"))
    shown = [one for one in facts.ranges if one not in arguments.values()]
    yield from annotated_source(kernel.source, notes_by_line(kernel, shown), style, preamble)
    if facts.ranges:
        yield Text("")
        yield paragraph(_READING)


def _summary(facts: KernelFacts) -> Iterator[tuple[str, str]]:
    kernel = facts.kernel
    if kernel.index_width is not None:
        yield "indices", f"int{kernel.index_width} arithmetic on program ids"
    for symbol in facts.model.symbols:
        yield "size", f"{named(symbol)} in {range_text(symbol.minimum, symbol.maximum)}: {symbol.origin.value}"
    least = _largest_safe(kernel)
    limits = {s.name: least[s.name] for s in facts.model.symbols if s.name in least}
    if limits:
        yield "safe up to", sizes_text(limits)
    proof = tightest(kernel) if kernel.verdict is Verdict.SAFE else None
    if proof is not None:
        share = share_text(proof.largest_value, proof.limit)
        yield "reaches", f"{proof.expression} <= {proof.bound} <= {proof.largest_value}, {share} of {proof.type}"


def _largest_safe(kernel: KernelResult) -> Mapping[str, int]:
    least: dict[str, int] = {}
    for finding in kernel.findings:
        if isinstance(finding, UnsafeFinding):
            for name, value in finding.largest_safe.items():
                if value is not None:
                    least[name] = min(value, least.get(name, value))
    return least


def _arguments(facts: KernelFacts) -> dict[str, IndexRange]:
    """The ranges of arguments, which the launch tells of."""
    source = facts.kernel.source
    lines = source.text.splitlines() if source is not None else []
    names = {argument.name for launch in facts.kernel.launches for argument in launch.arguments}
    found: dict[str, IndexRange] = {}
    for one in facts.ranges:
        text = lines[one.span.line - 1][one.span.column : one.span.end_column]
        name = text.partition(":")[0].strip()
        if name in names and lines[one.span.line - 1].lstrip().startswith("def "):
            found[name] = one
    return found


def _values(one: IndexRange) -> str:
    beyond = "" if one.fits or one.minimum is None or one.maximum is None else ", does not fit"
    if one.minimum is not None and one.minimum == one.maximum:
        return f"{one.type}{beyond}"
    return f"{one.type} {range_text(one.minimum, one.maximum)}{beyond}"
