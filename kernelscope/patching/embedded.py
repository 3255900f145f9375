"""Kernel binaries that are embedded in a package's libraries (`aot_inductor.embed_kernel_binary`)."""

from __future__ import annotations

from collections.abc import Mapping

from kernelscope.artifact.contents import Model
from kernelscope.build.library_data import read_library
from kernelscope.build.scratch import Scratch
from kernelscope.build.shipped import Embedded
from kernelscope.build.wrapper_compiler import kernel_name
from kernelscope.patching.members import PackageMembers


class EmbeddedBinaries:
    """Reads each model's library once, and only when a kernel has no file of its own."""

    def __init__(self, members: PackageMembers) -> None:
        self._members = members
        self._read: dict[str, Mapping[str, bytes]] = {}

    def reader(self, model: Model) -> Embedded:
        return lambda name: self._of(model).get(name)

    def _of(self, model: Model) -> Mapping[str, bytes]:
        if model.name not in self._read:
            self._read[model.name] = self._from_library(model)
        return self._read[model.name]

    def _from_library(self, model: Model) -> Mapping[str, bytes]:
        library = self._members.of(model).library
        if library is None:
            return {}
        with Scratch() as folder:
            path = folder / "model.so"
            self._members.extract(library, path)
            found: dict[str, bytes] = {}
            with path.open("rb") as file:
                for kernel in read_library(path).kernels:
                    file.seek(kernel.offset)
                    found[kernel_name(kernel.name)] = file.read(kernel.size)
        return found
