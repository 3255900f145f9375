"""`kernelscope test`."""

from __future__ import annotations

import click

from kernelscope.commands.options import debug_option
from kernelscope.commands.statuses import OK, UNSAFE
from kernelscope.commands.writing import text_style, write


@click.command("test", epilog="Exit status: 0 all passed, 1 one failed, 2 not a patch.")
@click.argument("path", type=click.Path(exists=True, dir_okay=False), metavar="PATCH.py")
@debug_option
def command(path: str) -> int:
    """Run the examples in a patch file of your own. The file is imported, and so executed."""
    from pathlib import Path

    from kernelscope.report.examples_text import examples_text
    from kernelscope.rewrite.patch_examples import run_examples
    from kernelscope.rewrite.patch_file import load_patch

    loaded = load_patch(Path(path))
    results = run_examples(loaded)
    write(examples_text(f"{loaded.name}: {loaded.title}", results, text_style(None)), None)
    return OK if all(result.passed for result in results) else UNSAFE
