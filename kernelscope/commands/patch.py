"""`kernelscope patch`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kernelscope.commands.options import debug_option, device_memory_option, report_format
from kernelscope.commands.parameter_types import STRATEGIES, RangeType, SizeRange, once
from kernelscope.commands.statuses import EXIT_STATUS, OK, UNSAFE, WRONG
from kernelscope.commands.writing import (
    command_line,
    complain,
    refuse_overwriting,
    refuse_page_on_terminal,
    text_style,
    write,
)

if TYPE_CHECKING:
    from kernelscope.patching.report import PatchReport
    from kernelscope.replay.equivalence import Equivalence


@click.command("patch", epilog=EXIT_STATUS)
@click.argument("path", metavar="IN.pt2")
@click.option("-o", "--output", metavar="OUT.pt2", help="The package to write.")
@click.option("--strategy", type=click.Choice(STRATEGIES), default="auto", show_default=True, help="Which casts.")
@click.option("--narrow", is_flag=True, help="To 32 bits what is proved not to need 64, where that is cheaper.")
@click.option(
    "--range", "ranges", type=RangeType(), multiple=True, metavar="NAME=LO:HI",
    help="Bounds of a size that you keep to, in place of the declared ones.",
)  # fmt: skip
@click.option("--only", multiple=True, metavar="KERNEL", help="Patch this kernel and leave the others.")
@click.option("--dry-run", is_flag=True, help="Compile and report, and write nothing.")
@click.option(
    "-j", "--jobs", type=click.IntRange(min=0), default=0, metavar="N",
    help="Kernels compiled at a time. [default: one a processor]",
)  # fmt: skip
@click.option("--strict", is_flag=True, help="Write nothing when something stays unsafe.")
@click.option("--check", is_flag=True, help="Run old and new kernels in Triton's interpreter and compare them bit for bit.")
@click.option("--trust-source", is_flag=True, help="Patch a kernel whose source does not give its binary, too.")
@click.option("--any-torch", is_flag=True, help="Rebuild a wrapper that another torch made, with this one's headers.")
@click.option(
    "--patches", "folders", type=click.Path(exists=True, file_okay=False), multiple=True, metavar="DIR",
    help="Patches of your own beside the shipped ones.",
)  # fmt: skip
@device_memory_option("288GiB")
@report_format("text", "json", "html")
@click.option("--report", metavar="FILE", help="Write the report there instead of to stdout.")
@debug_option
def command(
    path: str, output: str | None, strategy: str, only: tuple[str, ...], dry_run: bool, strict: bool,
    trust_source: bool, folders: tuple[str, ...], device_memory: int | None, form: str,
    report: str | None, check: bool, narrow: bool, ranges: tuple[SizeRange, ...],
    jobs: int, any_torch: bool,
) -> int:  # fmt: skip
    """Rewrite the unsafe kernels of IN.pt2 to 64-bit arithmetic, rebuild what changed, and audit what was written."""
    from kernelscope.patching import Strategy
    from kernelscope.patching import patch as patch_package
    from kernelscope.report.output import check_writable
    from kernelscope.report.progress import AuditProgress

    once((name for name, _, _ in ranges), "--range")
    if check and dry_run:
        raise click.UsageError("--check compares what is written: leave out --dry-run")
    if output is None and not dry_run:
        raise click.UsageError("nowhere to write: give -o OUT.pt2, or --dry-run")
    if output == "-":
        raise click.UsageError("a package is not written to stdout: give -o the name of a file")
    if narrow and strategy != "auto":
        raise click.UsageError("--narrow is a strategy of its own: leave out --strategy")
    refuse_page_on_terminal(form, report)
    if report not in (None, "-"):
        check_writable(str(report))
        refuse_overwriting(str(report), path, None if dry_run else output)
    with AuditProgress() as progress:
        result = patch_package(
            path, output, strategy=Strategy(strategy), only=only, dry_run=dry_run, trust_source=trust_source,
            strict=strict, narrow=narrow, ranges={name: (low, high) for name, low, high in ranges},
            device_memory=device_memory, patch_folders=folders, jobs=jobs, any_torch=any_torch,
            progress=lambda what, done, total: progress(done, total, what),
        )  # fmt: skip
        checks: tuple[Equivalence, ...] = ()
        if check and result.output is not None:
            from kernelscope.replay.equivalence import check_equivalence

            checks = check_equivalence(path, result.output, lambda what, done, total: progress(done, total, what))
    write(_text(result, checks, form, report), report)
    if result.tool_failure and result.output is None and not result.ok:
        complain(f"{output or path}: not written: {result.tool_failure}" if output and not dry_run else result.tool_failure)
        return WRONG
    different = any(one.state.name == "DIFFERENT" for one in checks)
    return OK if result.ok and not different else UNSAFE


def _text(result: PatchReport, checks: tuple[Equivalence, ...], form: str, report: str | None) -> str:
    if form == "json":
        from kernelscope.report.patch_json import patch_json

        return patch_json(result, command_line(), checks)
    if form == "html":
        from kernelscope.report.html.patch_page import patch_html

        return patch_html(result, command_line(), checks)
    from kernelscope.report.patch_text import patch_text

    return patch_text(result, text_style(report), checks)
