"""Where a report goes: stdout, or a file that appears only when complete; complaints go to stderr as one line."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from kernelscope.report.console import TextStyle


def complain(text: str) -> None:
    """One line on stderr, in printable ASCII whatever the names in it hold."""
    line = " ".join(text.split())
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    click.echo(f"kernelscope: {shown.encode('ascii', 'backslashreplace').decode('ascii')}", err=True)


def command_line() -> list[str]:
    """The words of the command as given, for the JSON reports."""
    return ["kernelscope", *sys.argv[1:]]


def text_style(output: str | None) -> TextStyle:
    """The style of the terminal when the report goes there, else plain."""
    from kernelscope.report.console import TextStyle

    return TextStyle.of(sys.stdout) if output in (None, "-") and sys.stdout is not None else TextStyle()


def refuse_page_on_terminal(form: str, output: str | None) -> None:
    """A page of HTML is of no use on a terminal."""
    if form == "html" and output in (None, "-") and sys.stdout.isatty():
        raise click.UsageError("--format html is a page for a browser: name a file for it, or redirect stdout")


def refuse_overwriting(report: str, *others: str | None) -> None:
    """A report must not take the place of what it is about."""
    for other in others:
        if other is not None and (os.path.realpath(report) == os.path.realpath(other) or _is_same_file(report, other)):
            raise click.UsageError(f"the report would overwrite {other}: give it a file of its own")


def _arguments() -> list[str]:
    """The arguments of the command that runs, options left out: the files that it reads."""
    context = click.get_current_context(silent=True)
    if context is None:
        return []
    values = [context.params.get(p.name or "") for p in context.command.params if isinstance(p, click.Argument)]
    words = [word for value in values for word in (value if isinstance(value, tuple) else (value,))]
    return [word for word in words if isinstance(word, str)]


def _is_same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False  # one of them does not exist


def write(text: str, output: str | None) -> None:
    """Write a report to the file `output`, or to stdout for None and `-`; never over what the command was given to read."""
    from kernelscope.report.output import write_file, write_stdout

    if output is None or output == "-":
        write_stdout(text)
    else:
        refuse_overwriting(output, *_arguments())
        write_file(output, text)
