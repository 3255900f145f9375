"""What a run keeps on the machine while it works: temporary folders, unfinished files, tools in process groups of their own.

A helper process outlives this one and clears away what is left, however this one ended: after SIGKILL only another process
can."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from threading import Lock

#: Reads `+KIND VALUE` and `-KIND VALUE`, paths in hexadecimal; when its input ends, so has the process that it guards.
_HELPER = """
import os, shutil, signal, sys, time
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
held = {}
for line in sys.stdin:
    if line.startswith("+"):
        held[line[1:]] = None
    else:
        held.pop(line[1:], None)
entries = [line.split() for line in held]
for kind, value in entries:
    if kind == "group":
        try:
            os.killpg(int(value), signal.SIGKILL)
        except OSError:
            pass
paths = [bytes.fromhex(value) for kind, value in entries if kind == "path"]
for attempt in range(20):
    paths = [path for path in paths if os.path.lexists(path)]
    for path in paths:
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            try:
                os.unlink(path)
            except OSError:
                pass
    if paths and attempt:
        time.sleep(0.05)  # something that was killed may still have written
"""


class Kind(Enum):
    """What can be held."""

    PATH = "path"
    GROUP = "group"


class _Guard:
    """The helper, started when there is something to hold. Without it (no more processes) all goes on unguarded."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def tell(self, sign: str, kind: Kind, value: str) -> None:
        word = os.fsencode(value).hex() if kind is Kind.PATH else value
        with self._lock:
            stream = self._input()
            if stream is not None:
                try:
                    os.write(stream, f"{sign}{kind.value} {word}\n".encode("ascii"))  # at once: short of PIPE_BUF
                except OSError:
                    self._forget()

    def close(self) -> None:
        with self._lock:
            if self._process is not None and self._owner == os.getpid():
                self._forget()

    def _input(self) -> int | None:
        if self._process is None or self._owner != os.getpid():
            self._owner = os.getpid()
            try:
                self._process = subprocess.Popen(  # noqa: S603
                    [sys.executable, "-I", "-S", "-c", _HELPER], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL, bufsize=0, cwd="/", start_new_session=True,
                )  # fmt: skip
            except OSError:
                self._process = None
        return self._process.stdin.fileno() if self._process is not None and self._process.stdin is not None else None

    def _forget(self) -> None:
        """Ends the helper, which clears away what is still held."""
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            process.stdin.close()
            process.wait()


_GUARD = _Guard()
atexit.register(_GUARD.close)


def hold(kind: Kind, value: str) -> None:
    """Clear this away when the process ends: remove a path, kill a process group."""
    _GUARD.tell("+", kind, value)


def release(kind: Kind, value: str) -> None:
    """It is gone, or is to stay."""
    _GUARD.tell("-", kind, value)


@contextmanager
def held(kind: Kind, value: str) -> Iterator[None]:
    """Held during the block."""
    hold(kind, value)
    try:
        yield
    finally:
        release(kind, value)
