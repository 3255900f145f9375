"""`kernelscope audit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from kernelscope.commands.known_sizes import refuse_unknown_sizes
from kernelscope.commands.options import (
    debug_option,
    device_memory_option,
    launch_file_option,
    output_option,
    report_format,
)
from kernelscope.commands.parameter_types import RangeType, SizeRange, once
from kernelscope.commands.settings_option import settings_option
from kernelscope.commands.statuses import EXIT_STATUS, OK, UNSAFE, WRONG
from kernelscope.commands.writing import command_line, complain, refuse_page_on_terminal, text_style, write

if TYPE_CHECKING:
    from kernelscope.gate import GatedAudit
    from kernelscope.gate.baseline import Baseline
    from kernelscope.gate.suppression import Suppression
    from kernelscope.replay.results import Replayed


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
@report_format("text", "json", "sarif", "github", "html")
@output_option
@click.option("--baseline", metavar="FILE", help="Accepted findings, which do not fail.")
@click.option("--write-baseline", metavar="FILE", help="Accept what counts now, with --reason.")
@click.option("--reason", metavar="TEXT", help="Why --write-baseline accepts.")
@click.option(
    "--suppress",
    "suppressions",
    multiple=True,
    metavar="CODE[:KERNEL]",
    help="Findings that do not fail: KS302:triton_red_*.",
)
@click.option("--patchable", is_flag=True, help="With --format json: look whether a patch settles each finding.")
@click.option(
    "--replay", "replays", is_flag=True,
    help="Run the witness of each unsafe finding in Triton's interpreter; needs triton and numpy.",
)
@settings_option
@click.option("--strict", is_flag=True, help="Exit with 1 for something unknown, too.")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=0, max=256),
    default=0,
    help="Processes for many paths or kernels.  [default: one a processor]",
)
@debug_option
@click.pass_context
def command(
    context: click.Context, paths: tuple[str, ...], ranges: tuple[SizeRange, ...], device_memory: int | None,
    launch_file: str | None, form: str, output: str | None, baseline: str | None, write_baseline: str | None,
    reason: str | None, suppressions: tuple[str, ...], strict: bool, jobs: int,
    patchable: bool, replays: bool,
) -> int:  # fmt: skip
    """Prove or refute that every kernel in PATH is right at every size."""
    once((name for name, _, _ in ranges), "--range")
    if (write_baseline is None) != (reason is None):
        raise click.UsageError("--write-baseline FILE and --reason TEXT go together")
    from kernelscope.audit import audit as audit_paths
    from kernelscope.gate import gate
    from kernelscope.gate.baseline import read_baseline
    from kernelscope.gate.suppression import read_suppression
    from kernelscope.report.output import check_writable
    from kernelscope.report.progress import AuditProgress

    refuse_page_on_terminal(form, output)
    for target in (output, write_baseline):
        if target not in (None, "-"):
            check_writable(str(target))
    known = read_baseline(baseline) if baseline is not None else None
    suppressed = [read_suppression(text) for text in suppressions]
    with AuditProgress() as progress:
        result = audit_paths(
            paths,
            ranges={name: (low, high) for name, low, high in ranges},
            device_memory=device_memory,
            launch_file=launch_file,
            jobs=jobs,
            progress=progress,
        )
    if context.get_parameter_source("ranges") is ParameterSource.COMMANDLINE:
        refuse_unknown_sizes(result, [name for name, _, _ in ranges])
    gated = gate(result, known, suppressed)
    if write_baseline is not None and reason is not None:
        gated = _accept(gated, known, write_baseline, reason, suppressed)
    found: frozenset[str] | None = None
    if patchable and form == "json":
        from kernelscope.patching.availability import patchable_findings

        found = patchable_findings(result, device_memory)
    replayed: Replayed | None = None
    if replays:
        from kernelscope.replay.replaying import replay_audit

        with AuditProgress() as progress:
            replayed = replay_audit(
                result, launch_file=launch_file, device_memory=device_memory, progress=progress
            )
    return _report_audit(gated, form, output, strict, _Extras(found, replayed))


@dataclass(frozen=True, slots=True)
class _Extras:
    """What was looked for beside the audit."""

    patchable: frozenset[str] | None
    replayed: Replayed | None


def _accept(
    gated: GatedAudit, known: Baseline | None, target: str, reason: str, suppressed: Sequence[Suppression]
) -> GatedAudit:
    """Writes the baseline, and judges by it."""
    from kernelscope.gate import gate
    from kernelscope.gate.baseline import Baseline, baseline_text

    accepted = gated.accepted(reason, known)
    write(baseline_text(accepted), target)
    return gate(gated.audit, Baseline(target, accepted), suppressed)


def _report_audit(
    gated: GatedAudit, form: str, output: str | None, strict: bool, extras: _Extras
) -> int:
    from kernelscope.audit.results import Verdict

    errors = [artifact.error for artifact in gated.audit.artifacts if artifact.error is not None]
    if form != "text" or len(errors) < len(gated.audit.artifacts):
        write(_text(gated, form, output, extras), output)
    for error in errors:
        complain(error)
    if errors:
        return WRONG
    return UNSAFE if gated.verdict is Verdict.UNSAFE or (strict and gated.verdict is Verdict.UNKNOWN) else OK


def _text(gated: GatedAudit, form: str, output: str | None, extras: _Extras) -> str:
    from kernelscope.report.titles import title_of

    if form == "json":
        from kernelscope.report.json_report import audit_json

        return audit_json(gated, command_line(), extras.patchable, extras.replayed)
    if form == "sarif":
        from kernelscope.report.sarif import sarif_text

        return sarif_text(gated, command_line(), extras.replayed)
    if form == "github":
        from kernelscope.report.github_annotations import annotations_text

        return annotations_text(gated, title_of)
    if form == "html":
        from kernelscope.report.html.audit_page import audit_html

        return audit_html(gated, command_line(), extras.replayed)
    from kernelscope.report.audit_text import audit_text
    from kernelscope.report.gate_text import gate_text

    style = text_style(output)
    return audit_text(gated.audit, style, title_of, extras.replayed) + gate_text(gated, style)
