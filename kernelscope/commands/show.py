"""`kernelscope show`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from kernelscope.commands.known_sizes import refuse_unknown_sizes
from kernelscope.commands.options import (
    debug_option,
    device_memory_option,
    launch_file_option,
    output_option,
    report_format,
)
from kernelscope.commands.parameter_types import RangeType, SizeRange, once
from kernelscope.commands.statuses import OK
from kernelscope.commands.writing import command_line, text_style, write
from kernelscope.errors import KernelscopeError

_MOST_NAMES = 8


@click.command("show")
@click.argument("path")
@click.argument("kernel", required=False)
@click.option(
    "--range", "ranges", type=RangeType(), multiple=True, metavar="NAME=LO:HI",
    help="Bounds of a size in place of the declared ones, as of `audit`.",
)  # fmt: skip
@device_memory_option("288GiB")
@launch_file_option
@click.option("--preamble", is_flag=True, help="Show a kernel's imports and metadata, too.")
@report_format("text", "json")
@output_option
@debug_option
def command(
    path: str, kernel: str | None, ranges: tuple[SizeRange, ...], device_memory: int | None, launch_file: str | None,
    preamble: bool, form: str, output: str | None,
) -> int:  # fmt: skip
    """Sizes and launches in PATH; with KERNEL (or a part of its name that no other has), its source and facts.

    Beneath each line of a kernel stand the type and the range of every index expression in it, and the findings."""
    once((name for name, _, _ in ranges), "--range")
    from kernelscope.artifact import open_artifact
    from kernelscope.audit.kernel_facts import kernel_facts
    from kernelscope.audit.run import read_model
    from kernelscope.report.show_text import kernel_names, show_text

    models = [read_model(model, launch_file) for model in open_artifact(path).models]
    if kernel is None:
        if ranges:
            raise click.UsageError("--range bounds the facts of a kernel: name one")
        if form == "json":
            from kernelscope.report.show_json import show_json

            write(show_json(models, command_line()), output)
        else:
            write(show_text(models, text_style(output)), output)
        return OK
    found = kernel_facts(
        path, models, _chosen(path, kernel, kernel_names(models)), device_memory=device_memory, launch_file=launch_file,
        ranges={name: (low, high) for name, low, high in ranges},
    )  # fmt: skip
    refuse_unknown_sizes(found.audit, [name for name, _, _ in ranges])
    if form == "json":
        from kernelscope.report.show_json import kernel_facts_json

        write(kernel_facts_json(found, command_line()), output)
    else:
        from kernelscope.report.kernel_facts_text import kernel_facts_text

        write(kernel_facts_text(found, text_style(output), preamble), output)
    return OK


def _chosen(path: str, wanted: str, names: Sequence[str]) -> str:
    """The kernel of that name, else the only one with that in its name."""
    if wanted in names:
        return wanted
    having = [name for name in names if wanted in name]
    if len(having) == 1:
        return having[0]
    told = having or names
    known = ", ".join(told[:_MOST_NAMES]) + (f" and {len(told) - _MOST_NAMES} more" if len(told) > _MOST_NAMES else "")
    what = f"{len(having)} kernels have {wanted} in their name" if having else f"no kernel is called {wanted}"
    raise KernelscopeError(what, where=path, try_this=f"there are {known or 'none'}")
