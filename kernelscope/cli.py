"""The command line: arguments in, one public function called, its value to a report, an exit status out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from kernelscope import __version__
from kernelscope.errors import InternalError, KernelscopeError
from kernelscope.parameter_types import STRATEGIES, FixedSizeType, MemoryType, RangeType, SizeRange, once

if TYPE_CHECKING:
    from kernelscope.audit.results import AuditResult
    from kernelscope.report.console import TextStyle

_OK, _UNSAFE, _WRONG, _INTERRUPTED = 0, 1, 2, 130
_EXIT_STATUS = "Exit status: 0 nothing unsafe, 1 something unsafe, 2 wrong usage or unreadable input."
_DEBUG_FLAG = "--debug"

Command = TypeVar("Command", bound=Callable[..., Any])


class OneLineErrors(click.Group):
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
            status = super().main(given, prog_name or "kernelscope", complete_var, standalone_mode=False, **extra)
        except click.ClickException as error:
            return _complain(_usage_text(error))
        except (click.Abort, KeyboardInterrupt):
            return _INTERRUPTED
        except KernelscopeError as error:
            return _complain(error.one_line())
        except Exception as error:
            if _DEBUG_FLAG in given:
                raise
            return _complain(_defect_text(error))
        return status if isinstance(status, int) else _OK


def _usage_text(error: click.ClickException) -> str:
    text = error.format_message()
    if isinstance(error, click.UsageError) and error.ctx is not None:
        text = f"{text.rstrip('.')}; see `{error.ctx.command_path} --help`"
    return text


def _defect_text(error: Exception) -> str:
    what = str(error) if isinstance(error, InternalError) else f"{type(error).__name__}: {error}"
    return f"internal error: {what}; please report it with the input and what --debug prints"


def _complain(text: str) -> int:
    line = " ".join(text.split())
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    click.echo(f"kernelscope: {shown.encode('ascii', 'backslashreplace').decode('ascii')}", err=True)
    return _WRONG


def _debug(command: Command) -> Command:
    return click.option(_DEBUG_FLAG, is_flag=True, expose_value=False, help="Show tracebacks.")(command)


def _device_memory(default: str) -> Callable[[Command], Command]:
    return click.option(
        "--device-memory", type=MemoryType(), metavar="80GiB|none", default=default, show_default=True,
        help="What the tensors of one launch fit in.",
    )  # fmt: skip


_LAUNCH = click.option(
    "--launch", "launch_file", type=click.Path(exists=True, dir_okay=False), metavar="LAUNCH.toml",
    help="Launch facts of a kernel that stands alone.",
)  # fmt: skip
_FORMAT = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
_OUTPUT = click.option("-o", "--output", metavar="FILE", help="Write the report there instead of to stdout.")


@click.group(
    "kernelscope",
    cls=OneLineErrors,
    no_args_is_help=False,
    epilog=_EXIT_STATUS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="kernelscope")
@_debug
def main() -> None:
    """Find the input sizes at which compiled Triton kernels overflow, and prove the rest safe."""


@main.command(epilog=_EXIT_STATUS)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--range",
    "ranges",
    type=RangeType(),
    multiple=True,
    metavar="NAME=LO:HI",
    help="Bounds of a size (s10, input0[0]) in place of the declared ones; an end left out has no bound.",
)
@_device_memory("288GiB")
@_LAUNCH
@_FORMAT
@_OUTPUT
@click.option("--strict", is_flag=True, help="Exit with 1 for something unknown, too.")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1, max=256),
    default=1,
    show_default=True,
    help="Processes to audit several paths with.",
)
@_debug
def audit(
    paths: tuple[str, ...], ranges: tuple[SizeRange, ...], device_memory: int | None,
    launch_file: str | None, form: str, output: str | None, strict: bool, jobs: int,
) -> int:  # fmt: skip
    """Prove or refute that every kernel in PATH is right at every size."""
    once((name for name, _, _ in ranges), "--range")
    from kernelscope.audit import audit as audit_paths
    from kernelscope.report.output import check_writable
    from kernelscope.report.progress import AuditProgress

    if output not in (None, "-"):
        check_writable(output)
    with AuditProgress() as progress:
        result = audit_paths(
            paths,
            ranges={name: (low, high) for name, low, high in ranges},
            device_memory=device_memory,
            launch_file=launch_file,
            jobs=jobs,
            progress=progress,
        )
    _refuse_unknown_names(result, [name for name, _, _ in ranges])
    return _report_audit(result, form, output, strict)


def _refuse_unknown_names(result: AuditResult, names: Sequence[str]) -> None:
    """A range that bounds nothing would make its user believe in a verdict that does not rest on it."""
    symbols = [symbol for artifact in result.artifacts for model in artifact.models for symbol in model.symbols]
    known = {symbol.name for symbol in symbols} | {symbol.source for symbol in symbols}
    readable = any(artifact.error is None for artifact in result.artifacts)
    for name in names:
        if readable and name not in known:
            sizes = ", ".join(sorted({f"{symbol.name} ({symbol.source})" for symbol in symbols})) or "none"
            raise click.UsageError(f"--range: no size is called {name}; the sizes are {sizes}")


def _report_audit(result: AuditResult, form: str, output: str | None, strict: bool) -> int:
    from kernelscope.audit.results import Verdict

    errors = [artifact.error for artifact in result.artifacts if artifact.error is not None]
    if form == "json":
        from kernelscope.report.json_report import audit_json

        _write(audit_json(result, _command()), output)
    elif len(errors) < len(result.artifacts):
        from kernelscope.report.audit_text import audit_text
        from kernelscope.report.titles import title_of

        _write(audit_text(result, _text_style(output), title_of), output)
    for error in errors:
        _complain(error)
    if errors:
        return _WRONG
    return _UNSAFE if result.verdict is Verdict.UNSAFE or (strict and result.verdict is Verdict.UNKNOWN) else _OK


@main.command(epilog=_EXIT_STATUS)
@click.argument("path")
@click.option("--fix", "fixed", type=FixedSizeType(), multiple=True, metavar="NAME=VALUE", help="Fix a size.")
@_device_memory("none")
@_LAUNCH
@_FORMAT
@_OUTPUT
@_debug
def bounds(
    path: str, fixed: tuple[tuple[str, int], ...], device_memory: int | None, launch_file: str | None,
    form: str, output: str | None,
) -> int:  # fmt: skip
    """Largest safe value of every free size, the others fixed or at their minimum."""
    once((name for name, _ in fixed), "--fix")
    from kernelscope.audit import largest_safe_sizes

    result = largest_safe_sizes(path, fixed=dict(fixed), device_memory=device_memory, launch_file=launch_file)
    if form == "json":
        from kernelscope.report.json_report import bounds_json

        _write(bounds_json(result, _command()), output)
    else:
        from kernelscope.report.bounds_text import bounds_text

        _write(bounds_text(result, path, _text_style(output)), output)
    return _OK


@main.command()
@click.argument("path")
@click.argument("kernel", required=False)
@_LAUNCH
@_debug
def show(path: str, kernel: str | None, launch_file: str | None) -> int:
    """Sizes and launches in PATH; with KERNEL, its source."""
    from kernelscope.artifact import open_artifact
    from kernelscope.audit.run import read_model
    from kernelscope.report.show_text import kernel_names, show_text

    models = [read_model(model, launch_file) for model in open_artifact(path).models]
    names = kernel_names(models)
    if kernel is not None and kernel not in names:
        known = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        raise KernelscopeError(f"no kernel is called {kernel}", where=path, try_this=f"there are {known or 'none'}")
    _write(show_text(models, kernel, _text_style(None)), None)
    return _OK


@main.command()
@click.argument("code", required=False)
@_debug
def explain(code: str | None) -> int:
    """What the check CODE looks for, with examples; without CODE, all checks."""
    from kernelscope.audit.checks import all_checks, check_of
    from kernelscope.report.explain_text import checks_text, explain_text

    style = _text_style(None)
    _write(checks_text(all_checks(), style) if code is None else explain_text(check_of(code), style), None)
    return _OK


@main.command(epilog=_EXIT_STATUS)
@click.argument("path", metavar="IN.pt2")
@click.option("-o", "--output", metavar="OUT.pt2", help="The package to write.")
@click.option("--strategy", type=click.Choice(STRATEGIES), default="auto", show_default=True, help="Which casts.")
@click.option("--only", multiple=True, metavar="KERNEL", help="Patch this kernel and leave the others.")
@click.option("--dry-run", is_flag=True, help="Compile and report, and write nothing.")
@click.option("--strict", is_flag=True, help="Write nothing when something stays unsafe.")
@click.option("--trust-source", is_flag=True, help="Patch a kernel whose source does not give its binary, too.")
@click.option(
    "--patches", "folders", type=click.Path(exists=True, file_okay=False), multiple=True, metavar="DIR",
    help="Patches of your own beside the shipped ones.",
)  # fmt: skip
@_device_memory("288GiB")
@_FORMAT
@_debug
def patch(
    path: str, output: str | None, strategy: str, only: tuple[str, ...], dry_run: bool, strict: bool,
    trust_source: bool, folders: tuple[str, ...], device_memory: int | None, form: str,
) -> int:  # fmt: skip
    """Rewrite the unsafe kernels of IN.pt2 to 64-bit arithmetic, rebuild what changed, and audit what was written."""
    from kernelscope.patching import Strategy
    from kernelscope.patching import patch as patch_package
    from kernelscope.report.output import check_writable
    from kernelscope.report.progress import AuditProgress

    if output is None and not dry_run:
        raise click.UsageError("nowhere to write: give -o OUT.pt2, or --dry-run")
    if output is not None and not dry_run:
        check_writable(output)
    with AuditProgress() as progress:
        report = patch_package(
            path, output, strategy=Strategy(strategy), only=only, dry_run=dry_run, trust_source=trust_source,
            strict=strict, device_memory=device_memory, patch_folders=folders,
            progress=lambda what, done, total: progress(done, total, what),
        )  # fmt: skip
    if form == "json":
        from kernelscope.report.patch_json import patch_json

        _write(patch_json(report, _command()), None)
    else:
        from kernelscope.report.patch_text import patch_text

        _write(patch_text(report, _text_style(None)), None)
    return _OK if report.ok else _UNSAFE


@main.command("test", epilog="Exit status: 0 all passed, 1 one failed, 2 not a patch.")
@click.argument("path", type=click.Path(exists=True, dir_okay=False), metavar="PATCH.py")
@_debug
def run_patch_examples(path: str) -> int:
    """Run the examples in a patch file of your own. The file is imported, and so executed."""
    from pathlib import Path

    from kernelscope.report.examples_text import examples_text
    from kernelscope.rewrite.patch_examples import run_examples
    from kernelscope.rewrite.patch_file import load_patch

    loaded = load_patch(Path(path))
    results = run_examples(loaded)
    _write(examples_text(f"{loaded.name}: {loaded.title}", results, _text_style(None)), None)
    return _OK if all(result.passed for result in results) else _UNSAFE


def _command() -> list[str]:
    return ["kernelscope", *sys.argv[1:]]


def _text_style(output: str | None) -> TextStyle:
    from kernelscope.report.console import TextStyle

    return TextStyle.of(sys.stdout) if output in (None, "-") else TextStyle()


def _write(text: str, output: str | None) -> None:
    from kernelscope.report.output import write_file, write_stdout

    if output is None or output == "-":
        write_stdout(text)
    else:
        write_file(output, text)


if __name__ == "__main__":
    main()
