"""`kernelscope doctor`."""

from __future__ import annotations

import click

from kernelscope.commands.options import debug_option, device_memory_option, output_option, report_format
from kernelscope.commands.statuses import EXIT_STATUS, OK, UNSAFE
from kernelscope.commands.writing import command_line, text_style, write


@click.command("doctor", epilog=EXIT_STATUS)
@click.argument("path", required=False)
@device_memory_option("288GiB")
@report_format("text", "json")
@output_option
@debug_option
def command(path: str | None, device_memory: int | None, form: str, output: str | None) -> int:
    """This machine and, with PATH, a package: is it this bug, and can it be patched here."""
    from kernelscope.advice.doctor import examine
    from kernelscope.audit.results import Verdict
    from kernelscope.report.output import check_writable

    if output not in (None, "-"):
        check_writable(output)
    examination = examine(path, device_memory=device_memory)
    if form == "json":
        from kernelscope.report.doctor_json import doctor_json

        write(doctor_json(examination, command_line()), output)
    else:
        from kernelscope.report.doctor_text import doctor_text

        write(doctor_text(examination, text_style(output)), output)
    package = examination.package
    return UNSAFE if package is not None and package.audit.verdict is Verdict.UNSAFE else OK
