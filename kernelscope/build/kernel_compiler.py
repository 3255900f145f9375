"""Compiles kernel texts to cubins in a child process; needs neither a GPU nor its driver."""

from __future__ import annotations

import base64
import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from kernelscope.build.compile_requests import CompiledKernel, CompileFailure, CompileRequest, CompileResult, DtypeValue
from kernelscope.build.guard import Kind, hold, release
from kernelscope.build.scratch import Scratch, no_room
from kernelscope.errors import InternalError, KernelscopeError

_START = (
    "import json, sys; folder, jobs, seconds, path = sys.argv[1:]; sys.path[:] = json.loads(path);"
    "from kernelscope.build.compile_child import main; main(folder, int(jobs), int(seconds))"
)
_INSTALL = "pip install 'kernelscope[build]'"
_KEPT_VARIABLES = ("LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "SYSTEMROOT")

Progress = Callable[[int, int], None]


class KernelCompiler:
    """A compiling process, started on first use. `jobs` kernels are compiled at a time, each for `seconds` at most."""

    def __init__(self, jobs: int = 0, seconds: int = 300) -> None:
        self._jobs = jobs or os.cpu_count() or 1
        self._seconds = seconds
        self._scratch: Scratch | None = None
        self._process: subprocess.Popen[str] | None = None
        self._is_ready = False
        self._done: dict[str, CompileResult] = {}
        self.triton_version = ""
        self.torch_version = ""

    def __enter__(self) -> KernelCompiler:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process and removes its folder."""
        if self._process is not None:
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    stream.close()
            release(Kind.GROUP, str(self._process.pid))
            self._process = None
        if self._scratch is not None:
            self._scratch.close()
            self._scratch = None

    def compile(self, requests: Sequence[CompileRequest], progress: Progress | None = None) -> list[CompileResult]:
        """A result for each request, in their order. Equal requests are compiled once."""
        keys = [json.dumps(_plain(request), sort_keys=True) for request in requests]
        missing = list(dict.fromkeys(key for key in keys if key not in self._done))
        if missing:
            self._compile(missing, progress)
        return [self._done[key] for key in keys]

    def begin(self) -> None:
        """Starts the process, without waiting for it. It ends with the thread that started it (Linux): call this from one
        that lives as long as the compiler, before another thread uses it."""
        if self._process is not None:
            return
        self._scratch = Scratch()
        folder = str(self._scratch.path)
        settings = [folder, str(self._jobs), str(self._seconds), _import_path()]
        command = [sys.executable, "-I", "-c", _START, *settings]
        self._process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=_environment(folder), cwd=folder, start_new_session=True,
        )  # fmt: skip
        hold(Kind.GROUP, str(self._process.pid))
        self._is_ready = False

    def start(self) -> None:
        """Starts the process and waits until Triton is imported; KernelscopeError when it is not there."""
        self.begin()
        if self._is_ready:
            return
        hello = self._answer()
        if "missing" in hello:
            self.close()
            raise KernelscopeError(f"{hello['missing']} is not installed", try_this=_INSTALL)
        if "broken" in hello:
            self.close()
            what = f"{hello['broken']} can't be imported here: {hello['detail']}"
            raise KernelscopeError(what, try_this=f"install it again: {_INSTALL}")
        self.triton_version, self.torch_version = str(hello["triton"]), str(hello["torch"])
        self._is_ready = True

    def _compile(self, keys: list[str], progress: Progress | None) -> None:
        self.start()
        process = self._process
        assert process is not None and process.stdin is not None
        try:
            process.stdin.write("[" + ",".join(keys) + "]\n")
            process.stdin.flush()
        except BrokenPipeError:
            self.close()
            raise KernelscopeError("the compiling process ended", try_this="try again") from None
        for count in range(1, len(keys) + 1):
            message = self._answer()
            if "no_room" in message:
                self.close()
                raise no_room(str(message["no_room"]))
            number = int(message["number"])
            self._done[keys[number]] = self._result(number, message["failure"])
            if progress is not None:
                progress(count, len(keys))

    def _answer(self) -> Mapping[str, Any]:
        assert self._process is not None and self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            code = self._process.returncode
            self.close()
            raise KernelscopeError(f"the compiling process ended (status {code})", try_this=f"check torch: {_INSTALL}")
        message = json.loads(line)
        if not isinstance(message, dict):
            raise InternalError("the compiling process answered no object")
        return message

    def _result(self, number: int, failure: str | None) -> CompileResult:
        if failure is not None:
            return CompileFailure(failure)
        assert self._scratch is not None
        path = self._scratch.path / f"result-{number}.json"
        fields = json.loads(path.read_text(encoding="utf-8"))
        path.unlink()
        if "reason" in fields:
            return CompileFailure(fields["reason"], fields["detail"], fields.get("refused", False))
        fields["cubin"] = base64.b64decode(fields["cubin"])
        fields["triton_version"] = self.triton_version
        return CompiledKernel(**fields)


def _import_path() -> str:
    """Where this process finds modules, without the folders that are relative to where it was started. First comes the folder
    of this very package: another version may be installed."""
    home = str(Path(__file__).resolve().parents[2])
    found = [entry for entry in sys.path if os.path.isabs(entry) and os.path.realpath(entry) not in (os.getcwd(), home)]
    return json.dumps([home, *found])


def _environment(folder: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return {
        **kept, "HOME": folder, "TMPDIR": folder, "TRITON_HOME": folder, "TRITON_CACHE_DIR": f"{folder}/triton",
        "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor", "TRITON_ALWAYS_COMPILE": "1", "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0",
    }  # fmt: skip


def _plain(request: CompileRequest) -> dict[str, object]:
    config = request.config
    fields = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    fields["signature"] = dict(config.signature)
    fields["options"] = dict(config.options)
    fields["constexprs"] = {name: _encoded(value) for name, value in config.constexprs.items()}
    return {"source": request.source, "function": request.function, "stages": list(request.stages), "config": fields}


def _encoded(value: object) -> object:
    match value:
        case DtypeValue(name):
            return {"dtype": name}
        case tuple() | list():
            return [_encoded(part) for part in value]
        case _:
            return value
