"""The least that any audit must do: read the same zip members and parse the same kernel sources."""

from __future__ import annotations

import ast
import gc
import statistics
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelscope.artifact import open_artifact
from kernelscope.audit.run import read_model
from kernelscope.launches.launch import EmbeddedKernel, Launch


@dataclass(frozen=True, slots=True)
class Floor:
    """What the floor reads: members of the archive and kernel sources."""

    path: Path
    members: tuple[str, ...]
    sources: tuple[str, ...]

    def run(self) -> None:
        with zipfile.ZipFile(self.path) as archive:
            for member in self.members:
                archive.read(member)
        for source in self.sources:
            ast.parse(source)


def floor_of(path: Path) -> Floor:
    """The floor of a package: its wrappers and metadata, the binaries that an audit opens, and every kernel source."""
    artifact = open_artifact(str(path))
    kernels: list[EmbeddedKernel] = []
    launches: list[Launch] = []
    for model in artifact.models:
        for wrapper in read_model(model, None).wrappers:
            kernels.extend(wrapper.kernels)
            launches.extend(wrapper.launches)
    looped = {k.launcher_name for k in kernels if _needs_binary(k.source)}
    binaries = {launch.cubin for launch in launches if launch.launcher_name in looped}
    with zipfile.ZipFile(path) as archive:
        members = tuple(n for n in archive.namelist() if _is_read(n, binaries))
    return Floor(path, members, tuple(kernel.source for kernel in kernels))


def _needs_binary(source: str) -> bool:
    return "tl.range(0, r0_numel, R0_BLOCK)" in source


def _is_read(member: str, binaries: set[str | None]) -> bool:
    return member.endswith((".cpp", ".json")) or member.rpartition("/")[2] in binaries


def seconds(function: Callable[[], object]) -> float:
    """Processor time of one call, after a garbage collection: what a busy machine disturbs least."""
    gc.collect()
    start = time.process_time()
    function()
    return time.process_time() - start


def medians(functions: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """The median time of each function, called in turn so that a busy machine slows all alike."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, taken in zip(functions, times, strict=True):
            taken.append(seconds(function))
    return [statistics.median(taken) for taken in times]
