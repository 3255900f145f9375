"""Writes what is generated in docs/ and in the README: `make docs`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from kernelscope.audit.checks import all_checks
from kernelscope.report.checks_page import checks_page
from tests import guide

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
COMMAND = ("audit", "fixtures/layernorm.unbounded.pt2")


def report_of(*arguments: str) -> str:
    """What `kernelscope` prints for these arguments at 80 columns, without colour."""
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-m", "kernelscope", *arguments],
        cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    return done.stdout


def example() -> str:
    """The report at the top of the README, as a block of it."""
    return f"```console\n$ kernelscope {' '.join(COMMAND)}\n{report_of(*COMMAND)}```\n"


def with_block(text: str, name: str, content: str) -> str:
    """`text` with what stands between the two comments called `name` replaced."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    replaced, count = pattern.subn(lambda found: found.group(1) + content + found.group(2), text)
    if count != 1:
        raise ValueError(f"{count} blocks called {name}")
    return replaced


def block(text: str, name: str) -> str:
    """What stands between the two comments called `name`."""
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- end of {name} -->", text, re.DOTALL)
    if found is None:
        raise ValueError(f"no block called {name}")
    return found.group(1)


def main() -> None:
    from tests.score import score

    (DOCS / "checks.md").write_text(checks_page(all_checks()), encoding="utf-8")
    scored = score()
    (DOCS / "score.md").write_text(scored.page, encoding="utf-8")
    text = with_block(README.read_text(encoding="utf-8"), "example", example())
    with tempfile.TemporaryDirectory() as folder:
        old = guide.GUIDE.read_text(encoding="utf-8")
        written = guide.with_outputs(old, lambda command: guide.output_of(command, Path(folder)))
    guide.GUIDE.write_text(written, encoding="utf-8")
    README.write_text(with_block(text, "score", scored.summary + "\n"), encoding="utf-8")


if __name__ == "__main__":
    main()
