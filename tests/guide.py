"""The user guide's commands, run: each fenced block of docs/guide.md that starts with `$ kernelscope` holds what it prints."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "guide.md"
_BLOCK = re.compile(r"```console\n\$ kernelscope (.*)\n((?:.*\n)*?)```\n")
_HEAD = re.compile(r"(.*) \| (head|tail) -(\d+)$")
#: Commands that torch and triton are needed for.
NEEDS_TORCH = frozenset({"replay", "patch", "diff"})


def commands() -> list[str]:
    """The guide's commands, in order."""
    return [command for command, _ in _BLOCK.findall(GUIDE.read_text(encoding="utf-8"))]


def needs_torch(command: str) -> bool:
    return command.split(maxsplit=1)[0] in NEEDS_TORCH or "patched.pt2" in command


def output_of(command: str, folder: Path) -> str:
    """What a command prints at 80 columns in a folder that has the fixtures, cut as its `| head -N` says."""
    cut = _HEAD.match(command)
    words = shlex.split(cut[1] if cut else command)
    if not (folder / "fixtures").exists():
        (folder / "fixtures").symlink_to(ROOT / "fixtures")
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "kernelscope", *words],
        cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{command}: {done.stderr}")
    lines = done.stdout.splitlines(keepends=True)
    if cut:
        lines = lines[: int(cut[3])] if cut[2] == "head" else lines[-int(cut[3]) :]
    return "".join(lines)


def with_outputs(text: str, run: Callable[[str], str]) -> str:
    """The guide with every block's output as `run` gives it."""
    return _BLOCK.sub(lambda found: f"```console\n$ kernelscope {found[1]}\n{run(found[1])}```\n", text)


def outputs() -> dict[str, str]:
    """What the guide says that each command prints."""
    return dict(_BLOCK.findall(GUIDE.read_text(encoding="utf-8")))
