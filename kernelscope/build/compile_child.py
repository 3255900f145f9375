"""The process that compiles kernels: a line of JSON with requests in, a line a result out, one fork a kernel.

It runs with an empty environment and a private folder; a kernel that crashes or hangs takes only its fork along."""

from __future__ import annotations

import base64
import ctypes
import json
import linecache
import os
import signal
import sys
import time
from collections.abc import Mapping
from typing import IO, Any

from kernelscope.build.inductor_helpers import import_helpers, torch_version
from kernelscope.build.resolution import check_names
from kernelscope.build.restricted_module import RestrictionError, restricted_module
from kernelscope.build.scratch import NO_ROOM

Fields = Mapping[str, Any]
_PR_SET_PDEATHSIG = 1
_NO_ROOM_STATUS = 100  # and the number of the error: what a fork exits with when it can write nothing
_PROBE = bytes(1 << 20)  # more than the files of a kernel take


def main(folder: str, jobs: int, seconds: int) -> None:
    """Answers batches of requests until standard input ends."""
    _die_with_parent()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # Triton prints what it fails on
    _say(answers, _warm_up())
    for line in sys.stdin:
        _batch(json.loads(line), folder, jobs, seconds, answers)


def _die_with_parent() -> None:
    """Ends this process when the one that started it ends, however that happens (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _say(answers: IO[str], message: Fields) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


def _warm_up() -> dict[str, object]:
    """Imports what every kernel needs, so that forks start with it."""
    name = "triton"
    try:
        import triton
        import triton.backends
        import triton.compiler

        name = "torch"
        import_helpers()
        version = torch_version()
    except Exception as error:  # noqa: BLE001  a damaged installation may raise anything
        is_missing = isinstance(error, ModuleNotFoundError) and error.name == name
        return {"missing" if is_missing else "broken": name, "detail": _first_line(error)}
    return {"triton": triton.__version__, "torch": version}


def _batch(requests: list[Fields], folder: str, jobs: int, seconds: int, answers: IO[str]) -> None:
    waiting = list(enumerate(requests))
    running: dict[int, int] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            number, request = waiting.pop(0)
            running[_forked(number, request, folder, seconds)] = number
        process, status = os.wait()
        done = running.pop(process, None)
        if done is None:
            continue
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) > _NO_ROOM_STATUS:
            _say(answers, {"no_room": os.strerror(os.WEXITSTATUS(status) - _NO_ROOM_STATUS)})
            return
        _say(answers, {"number": done, "failure": _failure(status, _result_path(folder, done), seconds)})


def _failure(status: int, path: str, seconds: int) -> str | None:
    if os.path.exists(path):
        return None
    if os.WIFSIGNALED(status):
        received = os.WTERMSIG(status)
        if received == signal.SIGALRM:
            return f"not compiled within {seconds} seconds"
        return f"the compiler crashed ({signal.Signals(received).name})"
    return "the compiler ended without a result"


def _result_path(folder: str, number: int) -> str:
    return os.path.join(folder, f"result-{number}.json")


def _forked(number: int, request: Fields, folder: str, seconds: int) -> int:
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        _die_with_parent()
        signal.alarm(seconds)
        result = _compiled(request)
        if "reason" in result:
            _probe(folder, number)
        path = _result_path(folder, number)
        with open(f"{path}.part", "w", encoding="utf-8") as file:
            json.dump(result, file)
        os.rename(f"{path}.part", path)
        code = 0
    except OSError as error:
        code = _NO_ROOM_STATUS + error.errno if error.errno in NO_ROOM else 1
    finally:
        os._exit(code)


def _probe(folder: str, number: int) -> None:
    """OSError when nothing can be written any more: what failed then may have failed because of it."""
    path = os.path.join(folder, f"probe-{number}")
    try:
        with open(path, "wb") as file:
            file.write(_PROBE)
            os.fsync(file.fileno())
    finally:
        if os.path.exists(path):
            os.unlink(path)


def _compiled(request: Fields) -> dict[str, object]:
    started = time.monotonic()
    try:
        function = _loaded(request)
    except RestrictionError as error:
        return {"reason": str(error), "detail": "", "refused": True}
    except Exception as error:  # noqa: BLE001  whatever importing Triton's parts may raise
        return {"reason": _first_line(error), "detail": str(error), "refused": True}
    try:
        fields = _binary(function, request)
    except Exception as error:  # noqa: BLE001  triton raises whatever its compiler passes raise
        return {"reason": _first_line(error), "detail": str(error)[-20000:]}
    return {**fields, "seconds": time.monotonic() - started}


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1][:300] if lines else ''}"


def _loaded(request: Fields) -> object:
    """The kernel as a Triton function, made from the rebuilt module."""
    module = restricted_module(request["source"])
    if request["function"] not in module.functions:
        raise RestrictionError(f"no jitted function named {request['function']}")
    check_names(module)
    name = request["config"]["file_name"]
    text = "\n" * max(0, request["config"]["line_offset"]) + module.text
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, object] = {"__name__": "kernel", "__file__": name}
    exec(compile(text, name, "exec"), scope)  # noqa: S102  the rebuilt module: functions, allowed imports, constants
    _place_helpers(request["config"]["helper_files"])
    return scope[request["function"]]


def _place_helpers(files: list[str]) -> None:
    """Makes helper functions report the paths that they had where the package was made."""
    from triton.runtime.jit import JITFunction

    for module in [m for n, m in sys.modules.items() if n.startswith(("triton.language", "torch._inductor.runtime"))]:
        own = (getattr(module, "__file__", None) or "").split("/")
        placed = next((file for file in files if file.split("/")[-3:] == own[-3:]), None)
        if placed is not None:
            for value in list(vars(module).values()):
                if isinstance(value, JITFunction) and value.__module__ == module.__name__:
                    value.file_name = placed


def _binary(function: object, request: Fields) -> dict[str, object]:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    config = request["config"]
    constexprs = {name: _value(value) for name, value in config["constexprs"].items()}
    attributes = {tuple(path): [list(fact) for fact in facts] for path, facts in config["attributes"]}
    source = ASTSource(function, dict(config["signature"]), constexprs, attributes)
    target = GPUTarget("cuda", config["architecture"], 32)
    kernel = triton.compile(source, target=target, options=dict(config["options"]))
    return {
        "cubin": base64.b64encode(kernel.asm["cubin"]).decode("ascii"),
        "name": kernel.metadata.name,
        "shared_bytes": kernel.metadata.shared,
        "num_warps": kernel.metadata.num_warps,
        "global_scratch_bytes": getattr(kernel.metadata, "global_scratch_size", 0) or 0,
        "texts": {stage: str(kernel.asm[stage]) for stage in request["stages"] if stage in kernel.asm},
    }


def _value(value: object) -> object:
    match value:
        case {"dtype": str(name)}:
            import triton.language

            return getattr(triton.language, name)
        case list():
            return tuple(_value(part) for part in value)
        case _:
            return value
