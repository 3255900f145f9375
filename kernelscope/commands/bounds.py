"""`kernelscope bounds`."""

from __future__ import annotations

import click

from kernelscope.commands.options import (
    debug_option,
    device_memory_option,
    launch_file_option,
    output_option,
    report_format,
)
from kernelscope.commands.parameter_types import FixedSizeType, once
from kernelscope.commands.statuses import EXIT_STATUS, OK
from kernelscope.commands.writing import command_line, text_style, write


@click.command("bounds", epilog=EXIT_STATUS)
@click.argument("path")
@click.option("--fix", "fixed", type=FixedSizeType(), multiple=True, metavar="NAME=VALUE", help="Fix a size.")
@device_memory_option("none")
@launch_file_option
@report_format("text", "json")
@output_option
@debug_option
def command(
    path: str, fixed: tuple[tuple[str, int], ...], device_memory: int | None, launch_file: str | None,
    form: str, output: str | None,
) -> int:  # fmt: skip
    """Largest safe value of every free size, the others fixed or at their minimum."""
    once((name for name, _ in fixed), "--fix")
    from kernelscope.audit import largest_safe_sizes

    result = largest_safe_sizes(path, fixed=dict(fixed), device_memory=device_memory, launch_file=launch_file)
    if form == "json":
        from kernelscope.report.json_report import bounds_json

        write(bounds_json(result, command_line()), output)
    else:
        from kernelscope.report.bounds_text import bounds_text

        write(bounds_text(result, path, text_style(output)), output)
    return OK
