"""`kernelscope audit`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kernelscope.commands.options import (
    debug_option,
    device_memory_option,
    launch_file_option,
    output_option,
    report_format,
)
from kernelscope.commands.parameter_types import RangeType, SizeRange, once
from kernelscope.commands.statuses import EXIT_STATUS, OK, UNSAFE, WRONG
from kernelscope.commands.writing import command_line, complain, text_style, write

if TYPE_CHECKING:
    from kernelscope.audit.results import AuditResult


@click.command("audit", epilog=EXIT_STATUS)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--range",
    "ranges",
    type=RangeType(),
    multiple=True,
    metavar="NAME=LO:HI",
    help="Bounds of a size (s10, input0[0]) in place of the declared ones; an end left out has no bound.",
)
@device_memory_option("288GiB")
@launch_file_option
@report_format("text", "json")
@output_option
@click.option("--strict", is_flag=True, help="Exit with 1 for something unknown, too.")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1, max=256),
    default=1,
    show_default=True,
    help="Processes to audit several paths with.",
)
@debug_option
def command(
    paths: tuple[str, ...], ranges: tuple[SizeRange, ...], device_memory: int | None,
    launch_file: str | None, form: str, output: str | None, strict: bool, jobs: int,
) -> int:  # fmt: skip
    """Prove or refute that every kernel in PATH is right at every size."""
    once((name for name, _, _ in ranges), "--range")
    from kernelscope.audit import audit as audit_paths
    from kernelscope.report.output import check_writable
    from kernelscope.report.progress import AuditProgress

    if output not in (None, "-"):
        check_writable(output)
    with AuditProgress() as progress:
        result = audit_paths(
            paths,
            ranges={name: (low, high) for name, low, high in ranges},
            device_memory=device_memory,
            launch_file=launch_file,
            jobs=jobs,
            progress=progress,
        )
    _refuse_unknown_names(result, [name for name, _, _ in ranges])
    return _report_audit(result, form, output, strict)


def _refuse_unknown_names(result: AuditResult, names: Sequence[str]) -> None:
    """A range that bounds nothing would make its user believe in a verdict that does not rest on it."""
    symbols = [symbol for artifact in result.artifacts for model in artifact.models for symbol in model.symbols]
    known = {symbol.name for symbol in symbols} | {symbol.source for symbol in symbols}
    readable = any(artifact.error is None for artifact in result.artifacts)
    for name in names:
        if readable and name not in known:
            sizes = ", ".join(sorted({f"{symbol.name} ({symbol.source})" for symbol in symbols})) or "none"
            raise click.UsageError(f"--range: no size is called {name}; the sizes are {sizes}")


def _report_audit(result: AuditResult, form: str, output: str | None, strict: bool) -> int:
    from kernelscope.audit.results import Verdict

    errors = [artifact.error for artifact in result.artifacts if artifact.error is not None]
    if form == "json":
        from kernelscope.report.json_report import audit_json

        write(audit_json(result, command_line()), output)
    elif len(errors) < len(result.artifacts):
        from kernelscope.report.audit_text import audit_text
        from kernelscope.report.titles import title_of

        write(audit_text(result, text_style(output), title_of), output)
    for error in errors:
        complain(error)
    if errors:
        return WRONG
    return UNSAFE if result.verdict is Verdict.UNSAFE or (strict and result.verdict is Verdict.UNKNOWN) else OK
