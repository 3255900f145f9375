"""The kernels and launches of an artifact, as they were read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from kernelscope.audit.run import ModelFacts
from kernelscope.launches.launch import WrapperFacts
from kernelscope.report.answer import named
from kernelscope.report.console import TextStyle, render
from kernelscope.report.launch_text import launch_lines
from kernelscope.report.layout import labelled, paragraph
from kernelscope.report.quantities import range_text


def kernel_names(models: Sequence[ModelFacts]) -> list[str]:
    """The kernels that `kernel_facts` can be asked for, in program order."""
    names = [kernel.name for model in models for wrapper in model.wrappers for kernel in wrapper.kernels]
    return list(dict.fromkeys(names + [orphan.path for model in models for orphan in model.orphans]))


def show_text(models: Sequence[ModelFacts], style: TextStyle) -> str:
    """Sizes and launches of every model."""
    return render(_models(models), style)


def _models(models: Sequence[ModelFacts]) -> Iterator[RenderableType]:
    for model in models:
        device = next((w.device for w in model.wrappers if w.device), model.model.device)
        yield Text.assemble(("model ", "heading"), (model.model.name, "name"), f" on {device}" if device else "")
        for wrapper in model.wrappers:
            yield from _sizes(wrapper)
            for launch in wrapper.launches:
                yield Text("")
                yield from launch_lines(launch)
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
