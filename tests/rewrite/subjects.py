"""Kernels of fixtures and cases as subjects of a rewrite."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from kernelscope.artifact import open_artifact
from kernelscope.audit.launch_analysis import full_ranges
from kernelscope.audit.run import DEFAULT_DEVICE_MEMORY, read_model
from kernelscope.rewrite.patch_file import load_patches
from kernelscope.rewrite.subject import Subject

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "cases"
FIXTURES = ROOT / "fixtures"
PATCHES = load_patches()


@cache
def subjects(path: str, launch_file: str | None = None) -> dict[str, Subject]:
    """Every launched kernel with a source, by launcher."""
    found: dict[str, Subject] = {}
    for model in open_artifact(path).models:
        for wrapper in read_model(model, launch_file).wrappers:
            sources = {k.launcher_name: k for k in wrapper.kernels} | {k.name: k for k in wrapper.kernels}
            groups = {}
            for launch in wrapper.launches:
                groups.setdefault(launch.launcher_name, []).append(launch)
            for name, launches in groups.items():
                kernel = sources.get(name) or sources.get(launches[0].kernel)
                found[name] = Subject(
                    kernel, tuple(launches), wrapper.symbols, full_ranges(wrapper.symbols), DEFAULT_DEVICE_MEMORY,
                    model.binaries,
                )  # fmt: skip
    return found


def case(name: str) -> Subject:
    """The kernel of a case with its launch file."""
    (subject,) = subjects(str(CASES / f"{name}.py"), str(CASES / f"{name}.toml")).values()
    return subject


def fixture(name: str) -> dict[str, Subject]:
    return subjects(str(FIXTURES / f"{name}.pt2"))
