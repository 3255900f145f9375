"""`kernelscope explain`."""

from __future__ import annotations

import click

from kernelscope.commands.options import debug_option
from kernelscope.commands.statuses import OK
from kernelscope.commands.writing import text_style, write


@click.command("explain")
@click.argument("code", required=False)
@debug_option
def command(code: str | None) -> int:
    """What the check CODE looks for, with examples; without CODE, all checks."""
    from kernelscope.audit.checks import all_checks, check_of
    from kernelscope.report.explain_text import checks_text, explain_text

    style = text_style(None)
    write(checks_text(all_checks(), style) if code is None else explain_text(check_of(code), style), None)
    return OK
