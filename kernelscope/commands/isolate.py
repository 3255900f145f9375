"""`kernelscope isolate`."""

from __future__ import annotations

import click

from kernelscope.commands.options import debug_option, output_option, report_format
from kernelscope.commands.parameter_types import FixedSizeType, once
from kernelscope.commands.statuses import OK, UNSAFE
from kernelscope.commands.writing import command_line, text_style, write


@click.command(
    "isolate", epilog="Exit status: 0 every stage agrees, 1 one differs, 2 wrong usage or eager itself fails."
)
@click.argument("path", metavar="SCRIPT_OR_EXPORTED")
@click.argument("package", required=False, metavar="[PACKAGE.pt2]")
@click.option(
    "--size", "sizes", type=FixedSizeType(), multiple=True, metavar="NAME=VALUE", help="Of an exported program."
)
@click.option("--device", metavar="cpu|cuda", help="Move model and inputs there.")
@click.option("--time-limit", type=click.FloatRange(min=1), default=300.0, show_default=True, help="Seconds a stage.")
@click.option("--no-operator", is_flag=True, help="Do not look for the operator.")
@click.option("--script", metavar="FILE", help="Write a stand-alone reproduction there, when there is one.")
@report_format("text", "json")
@output_option
@debug_option
def command(
    path: str, package: str | None, sizes: tuple[tuple[str, int], ...], device: str | None, time_limit: float,
    no_operator: bool, script: str | None, form: str, output: str | None,
) -> int:  # fmt: skip
    """The first of eager, dynamo, AOTAutograd, Inductor and package that differs. Executes what it is given."""
    once((name for name, _ in sizes), "--size")
    from kernelscope.isolation import isolate
    from kernelscope.report.output import check_writable
    from kernelscope.report.progress import AuditProgress

    for target in (output, script):
        if target not in (None, "-"):
            check_writable(str(target))
    with AuditProgress() as progress:
        isolation = isolate(
            path, package=package, sizes=dict(sizes), device=device, time_limit=time_limit,
            find_operator=not no_operator, progress=progress,
        )  # fmt: skip
    if script is not None and isolation.reproduction is not None:
        write(isolation.reproduction, script)
    if form == "json":
        from kernelscope.report.isolation_json import isolation_json

        write(isolation_json(isolation, command_line()), output)
    else:
        from kernelscope.report.isolation_text import isolation_text

        write(isolation_text(isolation, text_style(output)), output)
    return OK if isolation.first is None else UNSAFE
