"""A command's wall time, and the peak memory of it and all its children together (Linux)."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_PAUSE = 0.02


@dataclass(frozen=True, slots=True)
class Ran:
    """`peak_mb`: the largest sum of the processes' memory that was seen, each shared page counted once among its sharers."""

    output: str
    seconds: float
    peak_mb: float


def run_watched(command: Sequence[str], folder: Path) -> Ran:
    """Runs a command to its end; its standard output goes through a file, so that nothing waits. RuntimeError if it fails."""
    peak = 0
    with (folder / "watched.out").open("w+") as output, (folder / "watched.err").open("w+") as errors:
        start = time.perf_counter()
        process = subprocess.Popen(list(command), stdout=output, stderr=errors)
        while process.poll() is None:
            peak = max(peak, sum(map(_kilobytes, _tree(process.pid))))
            time.sleep(_PAUSE)
        seconds = time.perf_counter() - start
        output.seek(0)
        errors.seek(0)
        if process.returncode:
            raise RuntimeError(f"{command[:4]} failed: {errors.read()[-2000:]}")
        return Ran(output.read(), seconds, peak / 1024)


def _tree(root: int) -> list[int]:
    """A process and everything below it."""
    found, waiting = [], [root]
    while waiting:
        process = waiting.pop()
        found.append(process)
        try:
            for task in os.listdir(f"/proc/{process}/task"):
                children = Path(f"/proc/{process}/task/{task}/children").read_text(encoding="ascii")
                waiting.extend(map(int, children.split()))
        except OSError:
            continue  # it has ended meanwhile
    return found


def _kilobytes(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
