"""The replay of one finding in a fresh process: processor time after the imports, the interpreter's process included, and the
memory of the whole process tree."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from kernelscope.audit import audit
from kernelscope.audit.results import UnsafeFinding
from kernelscope.replay.interpreter_process import Interpreter
from kernelscope.replay.replaying import replay_all
from tests.bench.process_tree import run_watched

_REPLAY = """
import os, sys
from kernelscope.replay.replaying import replay
start = sum(os.times()[:4])
done = replay(sys.argv[1], sys.argv[2])
print(sum(os.times()[:4]) - start, done.state.value)
"""


def slowest_finding(packages: Iterable[Path]) -> tuple[Path, str]:
    """The package and id of the finding whose replay takes longest, each replayed once."""
    slowest: tuple[float, Path, str] | None = None
    with Interpreter() as interpreter:
        for package in packages:
            result = audit([package])
            kernels = [k for m in result.artifacts[0].models for k in m.kernels]
            ids = [f.id for k in kernels for f in k.findings if isinstance(f, UnsafeFinding)]
            times: list[float] = []
            told = partial(_note, times)
            replay_all(str(package), result, interpreter=interpreter, progress=told)
            times.append(time.perf_counter())
            for begin, end, name in zip(times, times[1:], ids, strict=False):
                if slowest is None or end - begin > slowest[0]:
                    slowest = end - begin, package, name
    assert slowest is not None, "no package has an unsafe finding"
    return slowest[1:]


def _note(times: list[float], *_: object) -> None:
    times.append(time.perf_counter())


def replay_cost(package: Path, finding: str, rounds: int, folder: Path) -> tuple[float, float]:
    """Median processor seconds of the call, the start of the interpreter's process included; the peak of memory in MB."""
    runs = [run_watched([sys.executable, "-c", _REPLAY, str(package), finding], folder) for _ in range(rounds)]
    assert all(run.output.split()[1] == "reproduced" for run in runs)
    return statistics.median(float(run.output.split()[0]) for run in runs), max(run.peak_mb for run in runs)
