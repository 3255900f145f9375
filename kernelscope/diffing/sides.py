"""One side of a comparison: its kernels with their launchers and binaries, and its text members."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from kernelscope.artifact import open_artifact
from kernelscope.artifact.contents import Model, SourceFile, SourceRole
from kernelscope.build.fat_binary import cubin_in
from kernelscope.cpp_wrapper.embedded_kernel import embedded_kernel, without_comment
from kernelscope.cpp_wrapper.function_slices import WrapperSlices, slice_wrapper
from kernelscope.diffing.matching import ComparedKernel, keyed
from kernelscope.launches import read_python_wrapper

_CUBIN = re.compile(r'loadKernel\("([^"]*)"')


@dataclass(frozen=True, slots=True)
class SideKernel:
    """`source`: the Triton text; `launcher`: the C++ that launches it, without the quoted kernel; `binary`: reads its cubin;
    `file` and `first_line`: where the text lies."""

    name: str
    source: str
    launcher: str
    binary: Callable[[], bytes] | None
    file: str
    first_line: int

    @property
    def compared(self) -> ComparedKernel:
        return keyed(self.name, self.source)


@dataclass(frozen=True, slots=True)
class Side:
    path: str
    kernels: tuple[SideKernel, ...]
    files: Mapping[str, str]
    models: tuple[Model, ...] = ()
    checks: tuple[str, ...] = ()  # the C++ that checks the inputs


def read_side(path: str) -> Side:
    """Everything of an artifact that is compared; KernelscopeError where it cannot be read."""
    kernels: list[SideKernel] = []
    files: dict[str, str] = {}
    checks: list[str] = []
    models = open_artifact(path).models
    for model in models:
        for source in model.sources:
            files[source.path] = source.text
            if source.role is SourceRole.CPP_WRAPPER:
                slices = slice_wrapper(source.text, source.path)
                checks.extend(check.text for check in slices.input_checks)
                kernels.extend(_of_cpp(slices, model))
            elif source.role is SourceRole.PYTHON_WRAPPER:
                kernels.extend(_of_python(source))
            elif source.role is SourceRole.KERNEL:
                kernels.append(SideKernel(PurePath(source.path).stem, source.text, "", None, source.path, 1))
    return Side(path, tuple(kernels), files, models, tuple(checks))


def _of_cpp(slices: WrapperSlices, model: Model) -> Iterator[SideKernel]:
    """The kernels that launchers quote; their launches need not be understood to be compared."""
    for launcher in slices.launchers:
        kernel = embedded_kernel(launcher, layout=False)
        if kernel is not None:
            cubin = _CUBIN.search(launcher.text)
            binary = model.binaries.get(PurePath(cubin.group(1)).name) if cubin is not None else None
            read = None if binary is None else (lambda binary=binary: cubin_in(binary()))
            text = _squeezed(without_comment(launcher).text)
            yield SideKernel(kernel.launcher_name, kernel.source, text, read, kernel.file, kernel.first_line)


def _of_python(source: SourceFile) -> Iterator[SideKernel]:
    for kernel in read_python_wrapper(source.text, source.path).kernels:
        yield SideKernel(kernel.launcher_name, kernel.source, "", None, kernel.file, kernel.first_line)


def _squeezed(text: str) -> str:
    """Without the empty lines that stand for the quoted kernel, and without where the build left the binary, whose name is
    a hash of the kernel's text."""
    lines = (_CUBIN.sub('loadKernel("KERNEL.cubin"', line) for line in text.splitlines() if line.strip())
    return "\n".join(lines) + "\n"
