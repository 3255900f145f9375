"""The kernels of a model with their launch facts and cubins, ready to be compiled again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernelscope.artifact.contents import Model
from kernelscope.build.config_search import ShippedKernel
from kernelscope.errors import KernelscopeError
from kernelscope.launches.launch import EmbeddedKernel, Launch, WrapperFacts


@dataclass(frozen=True, slots=True)
class FoundKernel:
    """A kernel that can be compared with its cubin, found by its launcher's name."""

    launcher_name: str
    cubin_name: str
    kernel: ShippedKernel


@dataclass(frozen=True, slots=True)
class NoBinary:
    """A kernel whose cubin is not in the package: why."""

    launcher_name: str
    reason: str


def shipped_kernels(model: Model, wrappers: Sequence[WrapperFacts]) -> tuple[FoundKernel | NoBinary, ...]:
    """Every embedded kernel of a model that is launched, once, in the order of the launches."""
    return tuple(
        found for facts in wrappers for found in _of_wrapper(facts, {k.launcher_name: k for k in facts.kernels}, model)
    )


def _of_wrapper(
    facts: WrapperFacts, embedded: Mapping[str, EmbeddedKernel], model: Model
) -> Iterator[FoundKernel | NoBinary]:
    seen: set[str] = set()
    for launch in facts.launches:
        kernel = embedded.get(launch.launcher_name)
        if kernel is not None and launch.launcher_name not in seen:
            seen.add(launch.launcher_name)
            yield _found(launch, kernel, model)


def _found(launch: Launch, kernel: EmbeddedKernel, model: Model) -> FoundKernel | NoBinary:
    if launch.cubin is None:
        return NoBinary(launch.launcher_name, "its launcher names no cubin")
    read = model.binaries.get(launch.cubin)
    if read is None:
        return NoBinary(launch.launcher_name, f"{launch.cubin} is not in the package")
    try:
        cubin = read()
    except KernelscopeError as error:
        return NoBinary(launch.launcher_name, error.what)
    shipped = ShippedKernel(kernel.source, kernel.name, launch.constexprs, launch.num_warps, cubin)
    return FoundKernel(launch.launcher_name, launch.cubin, shipped)
