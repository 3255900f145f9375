"""A launch: what it comes from, its grid, its block sizes, and what each argument is in sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import RenderableType
from rich.text import Text

from kernelscope.launches.expression_text import argument_text, host_expression_text
from kernelscope.launches.launch import Launch
from kernelscope.report.layout import Unbroken, labelled


def launch_lines(launch: Launch, values: Mapping[str, str] | None = None) -> Iterator[RenderableType]:
    """The launch with a line for each fact. `values`: what is known of the values of its arguments, by name, where the
    kernel is named above."""
    known = values or {}
    name = launch.kernel if values is None else ""
    yield Unbroken(Text.assemble((f"launch {launch.index} ", "heading"), (name, "name")))
    if launch.source_nodes:
        yield labelled("from", ", ".join(launch.source_nodes))
    yield labelled("grid", ", ".join(host_expression_text(dimension) for dimension in launch.grid))
    if launch.constexprs:
        yield labelled("constexpr", ", ".join(f"{name} = {value}" for name, value in launch.constexprs.items()))
    if launch.num_warps is not None:
        yield labelled("warps", str(launch.num_warps))
    for condition in launch.conditions:
        yield labelled("only if", host_expression_text(condition))
    for argument in launch.arguments:
        more = f": {known[argument.name]}" if argument.name in known else ""
        yield labelled(argument.name, argument_text(argument) + more)
