"""`kernelscope show`."""

from __future__ import annotations

import click

from kernelscope.commands.options import debug_option, launch_file_option
from kernelscope.commands.statuses import OK
from kernelscope.commands.writing import text_style, write
from kernelscope.errors import KernelscopeError


@click.command("show")
@click.argument("path")
@click.argument("kernel", required=False)
@launch_file_option
@debug_option
def command(path: str, kernel: str | None, launch_file: str | None) -> int:
    """Sizes and launches in PATH; with KERNEL, its source."""
    from kernelscope.artifact import open_artifact
    from kernelscope.audit.run import read_model
    from kernelscope.report.show_text import kernel_names, show_text

    models = [read_model(model, launch_file) for model in open_artifact(path).models]
    names = kernel_names(models)
    if kernel is not None and kernel not in names:
        known = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        raise KernelscopeError(f"no kernel is called {kernel}", where=path, try_this=f"there are {known or 'none'}")
    write(show_text(models, kernel, text_style(None)), None)
    return OK
