"""`kernelscope run`."""

from __future__ import annotations

import click

from kernelscope.commands.options import debug_option
from kernelscope.commands.statuses import OK


@click.command(
    "run", epilog="Exit status: the script's own; 1 when a package is refused.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)  # fmt: skip
@click.argument("script", metavar="SCRIPT.py")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENT]...")
@debug_option
def command(script: str, arguments: tuple[str, ...]) -> int:
    """Run SCRIPT.py with KERNELSCOPE=audit|patch|error|off applied to each package that it makes. Executes it."""
    from kernelscope.commands.writing import complain
    from kernelscope.packaging import UnsafeIndexError
    from kernelscope.packaging.run_script import policy_of_environment, run_script

    try:
        run_script(script, arguments, policy_of_environment())
    except UnsafeIndexError as error:
        complain(error.one_line())
        return 1
    except SystemExit as ended:
        return _status(ended)
    return OK


def _status(ended: SystemExit) -> int:
    """As Python itself takes it: None is 0, a number itself, anything else is printed and 1."""
    if ended.code is None:
        return OK
    if isinstance(ended.code, int):
        return ended.code
    click.echo(ended.code, err=True)
    return 1
