"""Packages and their parts, for the tests of building."""

from __future__ import annotations

import zipfile
from pathlib import Path

from kernelscope.artifact import open_artifact
from kernelscope.build import FoundKernel, ShippedKernel, shipped_kernels
from kernelscope.cpp_wrapper import read_wrapper

FIXTURES = Path(__file__).parents[2] / "fixtures"


def fixture(name: str) -> Path:
    return FIXTURES / f"{name}.pt2"


def member(path: Path, suffix: str) -> bytes:
    """The only member with a suffix."""
    with zipfile.ZipFile(path) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(suffix)]
        return archive.read(name)


def kernels_of(path: Path) -> list[ShippedKernel]:
    """The kernels of a package that have cubins."""
    found: list[ShippedKernel] = []
    for model in open_artifact(str(path)).models:
        sources = [source for source in model.sources if source.path.endswith(".wrapper.cpp")]
        wrappers = [read_wrapper(source.text, source.path) for source in sources]
        found += [entry.kernel for entry in shipped_kernels(model, wrappers) if isinstance(entry, FoundKernel)]
    return found
