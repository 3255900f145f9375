"""The kernels of a model with their launch facts and cubins, ready to be compiled again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernelscope.artifact.contents import Model
from kernelscope.build.compile_requests import CompiledKernel
from kernelscope.build.config_search import ShippedKernel
from kernelscope.build.fat_binary import FatImage, cubin_in, is_fat_binary, read_fat_binary, write_fat_binary
from kernelscope.errors import KernelscopeError
from kernelscope.launches.launch import EmbeddedKernel, Launch, WrapperFacts

#: Reads the binary of a kernel that is embedded in the library, by the kernel's name; None where there is none.
Embedded = Callable[[str], "bytes | None"]


@dataclass(frozen=True, slots=True)
class FoundKernel:
    """A kernel that can be compared with its cubin, found by its launcher's name.

    `member`: the last part of the name of the file that holds it; None where it is embedded in the library, by `name`.
    `images`: what a fat binary holds, empty for a plain cubin."""

    launcher_name: str
    name: str
    member: str | None
    kernel: ShippedKernel
    images: tuple[FatImage, ...] = ()

    @property
    def stages(self) -> tuple[str, ...]:
        """Texts that the compiler has to give beside the cubin."""
        return ("ptx",) if self.images else ()

    def packed(self, compiled: CompiledKernel) -> bytes:
        """The bytes that take the shipped binary's place. KernelscopeError where a fat binary can't be made."""
        if not self.images:
            return compiled.cubin
        return write_fat_binary(self.images, compiled.cubin, compiled.texts["ptx"])


@dataclass(frozen=True, slots=True)
class NoBinary:
    """A kernel whose cubin is not in the package: why."""

    launcher_name: str
    reason: str


def shipped_kernels(
    model: Model, wrappers: Sequence[WrapperFacts], embedded: Embedded | None = None
) -> tuple[FoundKernel | NoBinary, ...]:
    """Every embedded kernel of a model that is launched, once, in the order of the launches. `embedded` reads binaries out of
    the model's library."""
    read = embedded or (lambda _: None)
    return tuple(
        found for facts in wrappers for found in _of_wrapper(facts, {k.launcher_name: k for k in facts.kernels}, model, read)
    )


def _of_wrapper(
    facts: WrapperFacts, sources: Mapping[str, EmbeddedKernel], model: Model, embedded: Embedded
) -> Iterator[FoundKernel | NoBinary]:
    seen: set[str] = set()
    for launch in facts.launches:
        kernel = sources.get(launch.launcher_name)
        if kernel is not None and launch.launcher_name not in seen:
            seen.add(launch.launcher_name)
            try:
                yield _found(launch, kernel, model, embedded)
            except KernelscopeError as error:
                yield NoBinary(launch.launcher_name, error.what)


def _found(launch: Launch, kernel: EmbeddedKernel, model: Model, embedded: Embedded) -> FoundKernel | NoBinary:
    name = launch.kernel
    if launch.cubin is None:
        data = embedded(name)
        if data is None:
            return NoBinary(launch.launcher_name, "its launcher names no binary, and none is embedded in the library")
    else:
        read = model.binaries.get(launch.cubin)
        if read is None:
            return NoBinary(launch.launcher_name, f"{launch.cubin} is not in the package")
        data = read()
    images = read_fat_binary(data) if is_fat_binary(data) else ()
    shipped = ShippedKernel(kernel.source, kernel.name, launch.constexprs, launch.num_warps, cubin_in(data))
    return FoundKernel(launch.launcher_name, name, launch.cubin, shipped, images)
