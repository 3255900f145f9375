"""The command line: a group that loads each command when it is named, and turns every error into one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from kernelscope import __version__
from kernelscope.commands.options import DEBUG_FLAG, debug_option
from kernelscope.commands.statuses import EXIT_STATUS, INTERRUPTED, OK, WRONG
from kernelscope.commands.stopping import Stopped, stopped_by_signals
from kernelscope.commands.writing import complain
from kernelscope.errors import InternalError, KernelscopeError

#: In the order of `--help`; each is `command` in the module of this name in `kernelscope.commands`.
COMMANDS = ("audit", "bounds", "advise", "doctor", "isolate", "patch", "diff", "replay", "run", "test", "show", "explain")


class LazyCommands(click.Group):
    """Imports a command's module when it is asked for: `--version` and each command start fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, in the order of `--help`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported; None for a name that there is not."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"kernelscope.commands.{cmd_name}").command
        return command


class OneLineErrors(LazyCommands):
    """Every error is one line on stderr; a traceback appears only with --debug."""

    def main(
        self, args: Sequence[str] | None = None, prog_name: str | None = None, complete_var: str | None = None,
        standalone_mode: bool = True, **extra: Any,  # noqa: ANN401
    ) -> NoReturn:  # fmt: skip
        """Run and exit; `standalone_mode` is click's, and always off below."""
        given = list(sys.argv[1:] if args is None else args)
        sys.exit(self._status(given, prog_name, complete_var, extra))

    def _status(self, given: list[str], prog_name: str | None, complete_var: str | None, extra: dict[str, Any]) -> int:
        try:
            with stopped_by_signals():
                status = super().main(given, prog_name or "kernelscope", complete_var, standalone_mode=False, **extra)
        except click.ClickException as error:
            return _wrong(_usage_text(error))
        except (click.Abort, KeyboardInterrupt):
            return INTERRUPTED
        except Stopped as stop:
            complain(f"stopped by {stop.name}")
            return stop.status
        except KernelscopeError as error:
            return _wrong(error.one_line())
        except OSError as error:
            if DEBUG_FLAG in given:
                raise
            return _wrong(_system_text(error))
        except MemoryError:
            return _wrong("memory ran out")
        except Exception as error:
            if DEBUG_FLAG in given:
                raise
            return _wrong(_defect_text(error))
        return status if isinstance(status, int) else OK


def _wrong(text: str) -> int:
    complain(text)
    return WRONG


def _usage_text(error: click.ClickException) -> str:
    text = error.format_message()
    if isinstance(error, click.UsageError) and error.ctx is not None:
        text = f"{text.rstrip('.')}; see `{error.ctx.command_path} --help`"
    return text


def _system_text(error: OSError) -> str:
    """What the system refused, and of which file."""
    what = error.strerror or f"{type(error).__name__}: {error}"
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
    return f"{where}{what}; if this machine should allow it, --debug shows where it was refused"


def _defect_text(error: Exception) -> str:
    what = str(error) if isinstance(error, InternalError) else f"{type(error).__name__}: {error}"
    return f"internal error: {what}; please report it with the input and what --debug prints"


@click.group(
    "kernelscope",
    cls=OneLineErrors,
    no_args_is_help=False,
    epilog=EXIT_STATUS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="kernelscope")
@debug_option
def main() -> None:
    """Find the input sizes at which compiled Triton kernels overflow, and prove the rest safe."""


if __name__ == "__main__":
    main()
