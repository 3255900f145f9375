"""Runs one stage in a process of its own, with a time limit; whatever it does, this process goes on."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelscope.isolation.results import Stage, StageState

_MOST_TEXT = 400
#: Seconds before the time limit at which a child writes where it is.
_BEFORE_THE_END = 0.7


@dataclass(frozen=True, slots=True)
class Request:
    """What a child is to run. `prefix`: position of the last operator (None: all) and whether it is alone."""

    subject: str
    sizes: Mapping[str, int]
    stage: Stage
    package: str | None
    device: str | None
    prefix: tuple[int | None, bool] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a child ended: `answer` is what it wrote (empty when it could not)."""

    state: StageState | None  # None: it did what was asked, and `answer` tells the rest
    detail: str
    answer: Mapping[str, Any]
    seconds: float


def run_child(request: Request, folder: Path, time_limit: float) -> Outcome:
    """Runs a stage. `folder` keeps eager's outputs from one stage to the next; `time_limit` in seconds."""
    answer = folder / "answer.json"
    answer.unlink(missing_ok=True)
    (folder / "request.json").write_text(json.dumps(_document(request, folder, time_limit)), encoding="utf-8")
    command = [sys.executable, "-X", "faulthandler", "-m", "kernelscope.isolation.child", str(folder / "request.json")]
    started = time.monotonic()
    with (folder / "log").open("w+b") as log:
        child = subprocess.Popen(  # noqa: S603  this interpreter, our own module
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=_environment(folder)
        )
        try:
            status = child.wait(time_limit)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _end(child)
        seconds = time.monotonic() - started
        log.seek(0)
        said = log.read().decode("utf-8", "replace")
    if status is None:
        return Outcome(StageState.TIMED_OUT, f"ended after {time_limit:g} s{_place(said)}", {}, seconds)
    if not answer.exists():
        return Outcome(StageState.CRASHED, _ending(status, said), {}, seconds)
    return Outcome(None, "", json.loads(answer.read_text(encoding="utf-8")), seconds)


def _document(request: Request, folder: Path, time_limit: float) -> dict[str, object]:
    prefix = None if request.prefix is None else {"position": request.prefix[0], "alone": request.prefix[1]}
    return {
        "subject": request.subject, "sizes": dict(request.sizes), "stage": request.stage.value,
        "package": request.package, "device": request.device, "prefix": prefix,
        "stack_at": time.time() + time_limit - _BEFORE_THE_END,
        "expected": str(folder / "expected.pt"), "answer": str(folder / "answer.json"),
    }  # fmt: skip


def _environment(folder: Path) -> dict[str, str]:
    """This environment, with a place to import this package from, and with caches of its own: what was compiled before
    would hide a fault of the compiler, or be one."""
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    caches = {"TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"), "TRITON_CACHE_DIR": str(folder / "triton")}
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **caches}


def _end(child: subprocess.Popen[bytes]) -> None:
    """The child with all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _ending(status: int, said: str) -> str:
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
        return f"killed by {name}{_place(said)}"
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return f"exit status {status}{f': {lines[-1][:_MOST_TEXT]}' if lines else ''}"


def _place(said: str) -> str:
    """The innermost frame of the stack that Python's fault handler wrote."""
    found = re.search(r'most recent call first\):\s*\n\s*File "([^"]+)", line (\d+)', said)
    return f", in {found.group(1)} line {found.group(2)}" if found else ""
