"""`--config`: settings from a file as defaults of the other options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def _apply(ctx: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """What the command line does not give, the settings do."""
    if value == "none" or ctx.resilient_parsing:
        return
    from kernelscope.gate.settings import find_settings, read_settings

    settings = read_settings(Path(value)) if value is not None else find_settings(Path.cwd())
    defaults: dict[str, object] = {
        "device_memory": settings.device_memory, "strict": settings.strict, "baseline": settings.baseline,
        "suppressions": settings.suppress or None, "ranges": settings.ranges or None, "jobs": settings.jobs,
    }  # fmt: skip
    given = {name: default for name, default in defaults.items() if default is not None}
    ctx.default_map = {**(ctx.default_map or {}), **given}


def settings_option(command: Command) -> Command:
    """`--config FILE`; without it the nearest kernelscope.toml or pyproject.toml with [tool.kernelscope]."""
    return click.option(
        "--config", metavar="FILE|none", callback=_apply, is_eager=True, expose_value=False,
        help="Settings; by default [tool.kernelscope] of the nearest pyproject.toml, or kernelscope.toml.",
    )(command)  # fmt: skip
