"""The kernels and launches of an artifact, as they were read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from kernelscope.audit.run import ModelFacts
from kernelscope.launches.expression_text import argument_text, host_expression_text
from kernelscope.launches.launch import EmbeddedKernel, Launch, WrapperFacts
from kernelscope.report.answer import named
from kernelscope.report.console import TextStyle, render
from kernelscope.report.highlighting import highlighted
from kernelscope.report.layout import Unbroken, heading, labelled, paragraph
from kernelscope.report.quantities import range_text


def kernel_names(models: Sequence[ModelFacts]) -> list[str]:
    """The kernels that `show_text` can be asked for, in program order."""
    names = [kernel.name for model in models for wrapper in model.wrappers for kernel in wrapper.kernels]
    return list(dict.fromkeys(names + [orphan.path for model in models for orphan in model.orphans]))


def show_text(models: Sequence[ModelFacts], kernel: str | None, style: TextStyle) -> str:
    """Sizes and launches of every model; with `kernel`, its source and its launches only."""
    parts = _models(models) if kernel is None else _kernel(models, kernel)
    return render(parts, style)


def _models(models: Sequence[ModelFacts]) -> Iterator[RenderableType]:
    for model in models:
        device = next((w.device for w in model.wrappers if w.device), model.model.device)
        yield Text.assemble(("model ", "heading"), (model.model.name, "name"), f" on {device}" if device else "")
        for wrapper in model.wrappers:
            yield from _sizes(wrapper)
            for launch in wrapper.launches:
                yield Text("")
                yield from _launch(launch)
            for note in wrapper.notes:
                yield paragraph(note)
        for damaged in model.damaged:
            yield paragraph(f"cannot be read: {damaged.position.file}:{damaged.position.line}: {damaged.what}")
        for orphan in model.orphans:
            yield paragraph(f"{orphan.path}: a kernel without launch facts (--launch)")


def _sizes(wrapper: WrapperFacts) -> Iterator[RenderableType]:
    for symbol in wrapper.symbols:
        assumed = symbol.assumed_by_inductor
        note = f"; Inductor assumes at most {assumed}" if assumed is not None else ""
        yield labelled("size", f"{named(symbol)} in {range_text(symbol.minimum, symbol.maximum)}{note}")


def _launch(launch: Launch) -> Iterator[RenderableType]:
    yield Text.assemble((f"launch {launch.index} ", "heading"), (launch.kernel, "name"))
    if launch.source_nodes:
        yield labelled("from", ", ".join(launch.source_nodes))
    yield labelled("grid", ", ".join(host_expression_text(dimension) for dimension in launch.grid))
    if launch.constexprs:
        yield labelled("constexpr", ", ".join(f"{name} = {value}" for name, value in launch.constexprs.items()))
    for condition in launch.conditions:
        yield labelled("only if", host_expression_text(condition))
    for argument in launch.arguments:
        yield labelled(argument.name, argument_text(argument))


def _kernel(models: Sequence[ModelFacts], name: str) -> Iterator[RenderableType]:
    for model in models:
        for wrapper in model.wrappers:
            sources = {kernel.source: kernel for kernel in wrapper.kernels if kernel.name == name}
            for kernel in sources.values():
                yield from _source(kernel)
            for launch in wrapper.launches:
                if launch.kernel == name and sources:
                    yield Text("")
                    yield from _launch(launch)
        for orphan in model.orphans:
            if orphan.path == name:
                yield from _source(EmbeddedKernel(name, "", orphan.text, orphan.path, 1, 0))


def _source(kernel: EmbeddedKernel) -> Iterator[RenderableType]:
    yield heading(f"{kernel.file}:{kernel.first_line}")
    for number, line in enumerate(highlighted(kernel.source).split("\n"), kernel.first_line):
        yield Unbroken(Text.assemble((f"{number:>6} | ", "quiet"), line))
