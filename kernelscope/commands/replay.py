"""`kernelscope replay`."""

from __future__ import annotations

import click

from kernelscope.commands.options import (
    debug_option,
    device_memory_option,
    launch_file_option,
    output_option,
    report_format,
)
from kernelscope.commands.statuses import OK, UNSAFE
from kernelscope.commands.writing import command_line, text_style, write


@click.command("replay", epilog="Exit status: 0 nothing was reproduced, 1 something was, 2 wrong usage or unreadable input.")
@click.argument("path")
@click.option("--finding", metavar="ID", help="One finding, as `audit --format json` names it; without it, all of them.")
@click.option("--script", metavar="FILE", help="Write the reproduction as a script of its own, which needs triton and numpy.")
@click.option("--patched/--no-patched", default=True, help="The same in the patched kernel.")
@device_memory_option("288GiB")
@launch_file_option
@report_format("text", "json")
@output_option
@debug_option
def command(
    path: str, finding: str | None, script: str | None, patched: bool, device_memory: int | None, launch_file: str | None,
    form: str, output: str | None,
) -> int:  # fmt: skip
    """Run the witness of an unsafe finding in Triton's own interpreter. Needs triton and numpy, and no GPU."""
    from kernelscope.audit import audit
    from kernelscope.errors import KernelscopeError
    from kernelscope.replay.replaying import replay, replay_all
    from kernelscope.replay.results import Replay, ReplayState
    from kernelscope.report.output import check_writable
    from kernelscope.report.progress import AuditProgress

    if script is not None and finding is None:
        raise click.UsageError("--script is for one finding: give its id as --finding ID")
    for target in (output, script):
        if target not in (None, "-"):
            check_writable(str(target))
    if script is not None and finding is not None:
        from kernelscope.replay.script import replay_script

        write(replay_script(path, finding, device_memory=device_memory, launch_file=launch_file), script)
    replays: tuple[Replay, ...]
    if finding is not None:
        replays = (replay(path, finding, device_memory=device_memory, launch_file=launch_file, patched=patched),)
    else:
        result = audit([path], device_memory=device_memory, launch_file=launch_file)
        error = result.artifacts[0].error
        if error is not None:
            raise KernelscopeError(error.removeprefix(f"{path}: "), where=path)
        with AuditProgress() as progress:
            replays = replay_all(
                path, result, launch_file=launch_file, device_memory=device_memory, patched=patched, progress=progress
            )
    if form == "json":
        from kernelscope.report.replay_json import replays_json

        write(replays_json(replays, command_line()), output)
    else:
        from kernelscope.report.replay_text import replays_text

        nothing = "no unsafe finding to replay\n"
        write(replays_text(replays, text_style(output)) if replays else nothing, output)
    return UNSAFE if any(r.state is ReplayState.REPRODUCED for r in replays) else OK
