"""This machine's compiler, torch and CUDA, found without importing torch."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelscope.build.programs import ToolCall, run_programs, why_it_failed
from kernelscope.errors import KernelscopeError

_INSTALL = "pip install 'kernelscope[build]'"
_DRIVER_STUBS = ("lib64/stubs", "lib/stubs", "targets/x86_64-linux/lib/stubs", "targets/sbsa-linux/lib/stubs")
_CUDA_WHEELS = ("nvidia/cu13/include", "nvidia/cuda_runtime/include")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Where things are. `compiler`: the words to run it (`ccache g++`); `cuda_includes` is empty where no CUDA headers
    were found."""

    compiler: tuple[str, ...]
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
    homes = list(_cuda_homes())
    driver = next((path for home in homes for stubs in _DRIVER_STUBS if (path := home / stubs).is_dir()), None)
    return Toolchain(_compiler(compiler), folder, _version(folder), _cuda_includes(homes, folder.parent), driver)


def _compiler(wanted: str) -> tuple[str, ...]:
    """The one that CXX names, and no other in its place; without CXX the wanted one, or whatever there is."""
    if chosen := os.environ.get("CXX"):
        try:
            words = [chosen] if shutil.which(chosen) else shlex.split(chosen)
        except ValueError:
            words = []
        program = shutil.which(words[0]) if words else None
        if program is None:
            raise KernelscopeError("not a program that can be run", where=f"CXX={chosen}", try_this="set CXX to a C++ compiler")
        return (program, *words[1:])
    found = next((path for name in (wanted, "g++", "c++", "clang++") if (path := shutil.which(name))), None)
    if found is None:
        raise KernelscopeError(f"no C++ compiler ({wanted}) is installed", try_this="install g++ or set CXX")
    return (found,)


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
    run_tools([(command, what)], folder)


def run_tools(commands: Sequence[tuple[Sequence[str | Path], str]], folder: Path, cure: str = "") -> None:
    """Runs several side by side; each with what it does, in words. `cure`: what to do when one fails."""
    environment = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "HOME")}
    environment["TMPDIR"] = str(folder)
    calls = [ToolCall(command, folder, what, environment) for command, what in commands]
    for call, finished in zip(calls, run_programs(calls), strict=True):
        if finished.status:
            printed = finished.errors.splitlines()
            lines = [line for line in printed if "error" in line.lower() or "undefined" in line]
            detail = "; ".join(line.strip() for line in (lines or printed)[:3])
            what = f"{call.what} {why_it_failed(finished)}: {detail[:1000] or 'it says nothing'}"
            raise KernelscopeError(what, where=str(call.command[0]), try_this=cure)


def made(path: Path, command: Sequence[str | Path], what: str) -> Path:
    """The file that a tool was to write; KernelscopeError where it did not, though it did not fail either."""
    if not path.is_file():
        raise KernelscopeError(f"{what} gave no {path.name}", where=str(command[0]), try_this="is it a C++ compiler?")
    return path
