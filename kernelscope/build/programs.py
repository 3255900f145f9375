"""Runs compilers and other tools: side by side, each in a process group that ends when it is no longer waited for."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kernelscope.build.guard import Kind, hold, release
from kernelscope.errors import KernelscopeError


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A command, the folder it runs in, and what it does in words."""

    command: Sequence[str | Path]
    folder: str | Path | None
    what: str
    environment: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """What a tool printed, and its status (negative: the signal that ended it)."""

    status: int
    output: str
    errors: str


def run_programs(calls: Sequence[ToolCall]) -> list[Finished]:
    """Runs them side by side. Whatever ends the wait ends the tools; KernelscopeError where one can't be started."""
    running: list[subprocess.Popen[bytes]] = []
    try:
        for call in calls:
            running.append(_started(call))
        finished = [_finished(process) for process in running]
    finally:
        for process in running:
            _end(process)
    return finished


def why_it_failed(finished: Finished) -> str:
    """How a tool ended, in words: `failed (status 1)`, `crashed (SIGSEGV)`."""
    if finished.status >= 0:
        return f"failed (status {finished.status})"
    try:
        return f"crashed ({signal.Signals(-finished.status).name})"
    except ValueError:
        return f"crashed (signal {-finished.status})"


def _started(call: ToolCall) -> subprocess.Popen[bytes]:
    words = [str(word) for word in call.command]
    try:
        process = subprocess.Popen(  # noqa: S603  a list of words, made from known flags
            words, cwd=call.folder, env=call.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise KernelscopeError(f"{call.what}: can't be run: {error.strerror}", where=words[0]) from None
    hold(Kind.GROUP, str(process.pid))
    return process


def _finished(process: subprocess.Popen[bytes]) -> Finished:
    output, errors = process.communicate()
    return Finished(process.returncode, output.decode("utf-8", "replace"), errors.decode("utf-8", "replace"))


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    release(Kind.GROUP, str(process.pid))
