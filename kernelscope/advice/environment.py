"""What this machine has for running and rebuilding packages, found without importing torch."""

from __future__ import annotations

import platform
import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from kernelscope.build.toolchain import find_toolchain
from kernelscope.errors import KernelscopeError

_QUERY = ("--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader")
_TIME_LIMIT = 10.0


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU: `capability` as CUDA writes it, `9.0`."""

    name: str
    capability: str
    driver: str


@dataclass(frozen=True, slots=True)
class Environment:
    """Versions are None where the package is not installed; `toolchain_problem` says why a wrapper can't be compiled."""

    python: str
    system: str
    torch: str | None
    triton: str | None
    compiler: str | None
    cuda_headers: str | None
    toolchain_problem: str | None
    devices: tuple[Device, ...]


def this_environment() -> Environment:
    """The facts about this machine and Python environment."""
    compiler = headers = problem = None
    try:
        toolchain = find_toolchain()
        compiler = _compiler_version(toolchain.compiler)
        headers = str(toolchain.cuda_includes[0]) if toolchain.cuda_includes else None
    except KernelscopeError as error:
        problem = error.one_line()
    return Environment(
        platform.python_version(), f"{platform.system()} {platform.machine()}", _installed("torch"), _installed("triton"),
        compiler, headers, problem, _devices(),
    )  # fmt: skip


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _compiler_version(words: tuple[str, ...]) -> str:
    first = _output([*words, "--version"]).splitlines()
    program = " ".join(words)
    return f"{program} ({first[0]})" if first else program


def _devices() -> tuple[Device, ...]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    rows = [row.split(", ") for row in _output([program, *_QUERY]).splitlines()]
    return tuple(Device(*row) for row in rows if len(row) == 3)


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIME_LIMIT, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
