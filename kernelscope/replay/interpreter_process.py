"""The child process in which Triton's interpreter runs."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from kernelscope.errors import KernelscopeError


class Interpreter:
    """The child in which Triton's interpreter runs."""

    def __init__(self) -> None:
        for name in ("triton", "torch", "numpy"):
            if importlib.util.find_spec(name) is None:
                raise KernelscopeError(
                    f"{name} is not installed, and replay needs it", try_this="pip install 'kernelscope[build]'"
                )
        root = str(Path(__file__).resolve().parents[2])
        paths = [root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        self._child = subprocess.Popen(
            [sys.executable, "-m", "kernelscope.replay.interpreted"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )  # fmt: skip

    def __enter__(self) -> Interpreter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.kill()
        self._child.wait()

    def run(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to one request: `hardware` and `exact`, or `failure`."""
        stdin, stdout = self._child.stdin, self._child.stdout
        assert stdin is not None and stdout is not None
        return _asked(stdin, stdout, request)


def _asked(stdin: IO[str], stdout: IO[str], request: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        stdin.write(json.dumps(request) + "\n")
        stdin.flush()
        line = stdout.readline()
    except OSError:
        line = ""
    if not line:
        return {"failure": "the interpreter's process ended"}
    answer: Mapping[str, Any] = json.loads(line)
    return answer
