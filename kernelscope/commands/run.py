"""`kernelscope run`."""

from __future__ import annotations

import click

from kernelscope.commands.options import debug_option
from kernelscope.commands.statuses import OK
from kernelscope.errors import KernelscopeError


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
    except KernelscopeError:
        raise
    except Exception as error:  # noqa: BLE001  the script's own, shown as Python would
        _show(error)
        return 1
    return OK


def _show(error: Exception) -> None:
    """The script's traceback, from the script on."""
    import traceback

    frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    ours = 1 + max((n for n, name in enumerate(frames) if "runpy" in name), default=-1)
    rest = error.__traceback__
    for _ in range(ours):
        rest = rest.tb_next if rest is not None else None
    click.echo("".join(traceback.format_exception(type(error), error, rest)), err=True, nl=False)


def _status(ended: SystemExit) -> int:
    """As Python itself takes it: None is 0, a number itself, anything else is printed and 1."""
    if ended.code is None:
        return OK
    if isinstance(ended.code, int):
        return ended.code
    click.echo(ended.code, err=True)
    return 1
