"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from kernelscope.commands.parameter_types import MemoryType

Command = TypeVar("Command", bound=Callable[..., Any])

DEBUG_FLAG = "--debug"


def debug_option(command: Command) -> Command:
    """`--debug`, which the group itself looks for."""
    return click.option(DEBUG_FLAG, is_flag=True, expose_value=False, help="Show tracebacks.")(command)


def device_memory_option(default: str) -> Callable[[Command], Command]:
    """`--device-memory`, in bytes; None for no limit."""
    return click.option(
        "--device-memory", type=MemoryType(), metavar="80GiB|none", default=default, show_default=True,
        help="What the tensors of one launch fit in.",
    )  # fmt: skip


launch_file_option = click.option(
    "--launch", "launch_file", type=click.Path(exists=True, dir_okay=False), metavar="LAUNCH.toml",
    help="Launch facts of a kernel that stands alone.",
)  # fmt: skip
output_option = click.option("-o", "--output", metavar="FILE", help="Write the report there instead of to stdout.")


def report_format(*names: str) -> Callable[[Command], Command]:
    """`--format`, one of `names`; the first is the default."""
    return click.option("--format", "form", type=click.Choice(names), default=names[0], show_default=True)
