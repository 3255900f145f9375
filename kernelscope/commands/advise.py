"""`kernelscope advise`."""

from __future__ import annotations

import click

from kernelscope.commands.options import debug_option, device_memory_option, output_option, report_format
from kernelscope.commands.parameter_types import FixedSizeType, once
from kernelscope.commands.statuses import EXIT_STATUS, OK, UNSAFE
from kernelscope.commands.writing import command_line, text_style, write


@click.command("advise", epilog=EXIT_STATUS)
@click.argument("path")
@click.option(
    "--max", "wanted", type=FixedSizeType(), multiple=True, metavar="NAME=VALUE",
    help="The largest value that you need of a size; the others are fitted to it.",
)  # fmt: skip
@click.option(
    "--program", type=click.Path(exists=True, dir_okay=False), metavar="EXPORTED.pt2",
    help="What torch.export.save wrote for this model, for the names of its arguments.",
)  # fmt: skip
@click.option(
    "--cost", is_flag=True,
    help="Compile the patched kernels and tell what they cost (needs torch and triton).",
)  # fmt: skip
@device_memory_option("288GiB")
@report_format("text", "json")
@output_option
@debug_option
def command(
    path: str, wanted: tuple[tuple[str, int], ...], program: str | None, cost: bool, device_memory: int | None,
    form: str, output: str | None,
) -> int:  # fmt: skip
    """What to do about an unsafe package, cheapest first, with the code to paste."""
    once((name for name, _ in wanted), "--max")
    from kernelscope.advice import advise
    from kernelscope.audit.results import Verdict
    from kernelscope.report.output import check_writable

    if output not in (None, "-"):
        check_writable(output)
    advice = advise(path, wanted=dict(wanted), program=program, cost=cost, device_memory=device_memory)
    if form == "json":
        from kernelscope.report.advice_json import advice_json

        write(advice_json(advice, command_line()), output)
    else:
        from kernelscope.report.advice_text import advice_text

        write(advice_text(advice, text_style(output)), output)
    return UNSAFE if advice.audit.verdict is Verdict.UNSAFE else OK
