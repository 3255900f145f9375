"""`kernelscope diff`."""

from __future__ import annotations

import os
import sys

import click

from kernelscope.commands.options import debug_option, device_memory_option, output_option, report_format
from kernelscope.commands.statuses import OK, UNSAFE
from kernelscope.commands.writing import command_line, refuse_page_on_terminal, text_style, write


@click.command("diff", epilog="Exit status: 0 nothing differs, 1 something differs, 2 wrong usage or unreadable input.")
@click.argument("before", metavar="A")
@click.argument("after", required=False, metavar="[B]")
@click.option("--patched", is_flag=True, help="Compare A with what `kernelscope patch` makes of it.")
@click.option("--side-by-side", is_flag=True, help="Two columns.")
@click.option("--ir", type=click.Choice(["ttir", "ptx", "sass"]), help="Compare what the compiler made, names normalised.")
@click.option("--findings/--no-findings", default=None, help="Tell what is unsafe. [default: unless over 50 kernels differ]")
@click.option("-U", "--context", type=click.IntRange(min=0, max=1000), default=3, show_default=True, help="Lines around.")
@click.option("--pager/--no-pager", default=True, help="Page on a terminal, as git does.")
@device_memory_option("288GiB")
@report_format("text", "json", "patch", "html")
@output_option
@debug_option
def command(
    before: str, after: str | None, patched: bool, side_by_side: bool, ir: str | None, findings: bool | None, context: int,
    pager: bool, device_memory: int | None, form: str, output: str | None,
) -> int:  # fmt: skip
    """The kernels of A and B compared: matched by name and content, changed tokens marked, findings told."""
    if patched == (after is not None):
        raise click.UsageError("give two artifacts, or one with --patched")
    refuse_page_on_terminal(form, output)
    from kernelscope.diffing.comparison import Representation, diff, diff_patched
    from kernelscope.report.output import check_writable
    from kernelscope.report.progress import AuditProgress

    if output not in (None, "-"):
        check_writable(str(output))
    representation = Representation(ir or "source")
    with AuditProgress() as progress:

        def told(what: str, done: int, total: int) -> None:
            progress(done, total, what)

        if after is None:
            found = diff_patched(
                before, representation=representation, context=context, device_memory=device_memory, findings=findings,
                progress=told,
            )  # fmt: skip
        else:
            found = diff(
                before, after, representation=representation, context=context, device_memory=device_memory,
                findings=findings, progress=told,
            )  # fmt: skip
    if form == "json":
        from kernelscope.report.diff_json import diff_json

        write(diff_json(found, command_line()), output)
    elif form == "patch":
        from kernelscope.report.diff_patch import diff_patch

        write(diff_patch(found), output)
    elif form == "html":
        from kernelscope.report.html.diff_page import diff_html

        write(diff_html(found, command_line()), output)
    else:
        from kernelscope.report.diff_text import diff_text

        _show(diff_text(found, text_style(output), side_by_side), output, pager)
    return UNSAFE if found.differs else OK


def _show(text: str, output: str | None, pager: bool) -> None:
    """Through the pager on a terminal; it leaves a text that fits the screen there, as git has it."""
    if not pager or output is not None or not sys.stdout.isatty():
        write(text, output)
        return
    os.environ.setdefault("LESS", "FRX")
    click.echo_via_pager(text, color=True)
