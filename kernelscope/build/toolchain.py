"""This machine's compiler, torch and CUDA, found without importing torch."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelscope.errors import KernelscopeError

_INSTALL = "pip install 'kernelscope[build]'"
_DRIVER_STUBS = ("lib64/stubs", "lib/stubs", "targets/x86_64-linux/lib/stubs", "targets/sbsa-linux/lib/stubs")
_CUDA_WHEELS = ("nvidia/cu13/include", "nvidia/cuda_runtime/include")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Where things are. `cuda_includes` is empty where no CUDA headers were found."""

    compiler: str
    torch_folder: Path
    torch_version: str
    cuda_includes: tuple[Path, ...]
    driver_folder: Path | None

    @property
    def include_flags(self) -> list[str]:
        """Folders of headers, in the order in which torch gives them."""
        own = [Path(sysconfig.get_path("include")), self.torch_folder / "include"]
        own.append(self.torch_folder / "include/torch/csrc/api/include")
        return [f"-I{folder}" for folder in (*own, *self.cuda_includes)]

    @property
    def interface_source(self) -> str | None:
        """The fixed C++ that this torch puts on top of every wrapper."""
        path = self.torch_folder / "_inductor/codegen/aoti_runtime/interface.cpp"
        try:
            return path.read_text(encoding="utf-8")
        except OSError:
            return None


def find_toolchain(compiler: str = "g++") -> Toolchain:
    """What compiles wrappers here; KernelscopeError naming what is missing."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        raise KernelscopeError("torch is not installed, and a wrapper needs its headers", try_this=_INSTALL)
    folder = Path(next(iter(spec.submodule_search_locations)))
    wanted = os.environ.get("CXX") or compiler
    program = shutil.which(wanted) or shutil.which("g++") or shutil.which("c++") or shutil.which("clang++")
    if program is None:
        raise KernelscopeError(f"no C++ compiler ({wanted})", try_this="install g++ or set CXX")
    homes = list(_cuda_homes())
    driver = next((path for home in homes for stubs in _DRIVER_STUBS if (path := home / stubs).is_dir()), None)
    return Toolchain(program, folder, _version(folder), _cuda_includes(homes, folder.parent), driver)


def _version(folder: Path) -> str:
    try:
        text = (folder / "version.py").read_text(encoding="utf-8")
    except OSError:
        return ""
    found = re.search(r"__version__ = ['\"]([^'\"]+)['\"]", text)
    return found.group(1) if found else ""


def _cuda_homes() -> Iterator[Path]:
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if value := os.environ.get(name):
            yield Path(value)
    yield Path("/usr/local/cuda")


def _cuda_includes(homes: Sequence[Path], packages: Path) -> tuple[Path, ...]:
    """The CUDA headers of one place: a toolkit, or the wheels that torch depends on."""
    for folder in (*(home / "include" for home in homes), *(packages / wheel for wheel in _CUDA_WHEELS)):
        if (folder / "cuda.h").is_file() and (folder / "cuda_runtime_api.h").is_file():
            return (folder,)
    return ()


def run_tool(command: Sequence[str | Path], folder: Path, what: str) -> None:
    """Runs a compiler or linker; KernelscopeError with its own message when it fails."""
    environment = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "HOME")}
    try:
        done = subprocess.run(  # noqa: S603  a list of words, made from known flags
            [str(word) for word in command], cwd=folder, capture_output=True, text=True, check=False,
            env={**environment, "TMPDIR": str(folder)},
        )  # fmt: skip
    except OSError as error:
        raise KernelscopeError(f"{what}: {error.strerror}", where=str(command[0])) from None
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "error" in line.lower() or "undefined" in line]
        detail = "; ".join(line.strip() for line in (lines or done.stderr.splitlines())[:3])
        raise KernelscopeError(f"{what} failed (status {done.returncode}): {detail[:1000]}", where=str(command[0]))
