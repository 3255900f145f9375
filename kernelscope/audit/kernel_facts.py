"""One kernel of an artifact with everything known about it: verdict, findings, and what its expressions reach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernelscope.audit.index_ranges import IndexRange, index_ranges
from kernelscope.audit.kernels import KernelReader, Readable
from kernelscope.audit.launch_analysis import LaunchAnalyser, full_ranges
from kernelscope.audit.results import AuditResult, KernelResult, ModelResult
from kernelscope.audit.run import DEFAULT_DEVICE_MEMORY, ModelFacts, UserRange, audit
from kernelscope.errors import KernelscopeError
from kernelscope.launches.launch import EmbeddedKernel


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """A kernel in its model; `ranges` is empty where its source could not be read."""

    model: ModelResult
    kernel: KernelResult
    ranges: tuple[IndexRange, ...]


@dataclass(frozen=True, slots=True)
class FoundKernels:
    """The kernels of a name, and the audit of them with the assumptions that everything here rests on."""

    audit: AuditResult
    kernels: tuple[KernelFacts, ...]


def kernel_facts(
    path: str, models: Sequence[ModelFacts], name: str, *, ranges: Mapping[str, UserRange] | None = None,
    device_memory: int | None = DEFAULT_DEVICE_MEMORY, launch_file: str | None = None,
) -> FoundKernels:  # fmt: skip
    """What is known of the kernels of that name (or of that launcher) in an artifact whose `models` were read."""
    wanted = frozenset(launcher for model in models for launcher in _launchers(model, name))
    result = audit([path], ranges=ranges, device_memory=device_memory, launch_file=launch_file, only=wanted)
    found: list[KernelFacts] = []
    for artifact in result.artifacts:
        if artifact.error is not None:
            raise KernelscopeError(artifact.error.removeprefix(f"{path}: "), where=path)
        for model, facts in zip(artifact.models, models, strict=False):  # a damaged archive adds a model of its own
            found.extend(_facts(model, facts, kernel, device_memory) for kernel in _kernels(model, wanted, name))
    return FoundKernels(result, tuple(found))


def _launchers(model: ModelFacts, name: str) -> Iterator[str]:
    for wrapper in model.wrappers:
        yield from (k.launcher_name for k in wrapper.kernels if name in (k.name, k.launcher_name))
        yield from (launch.launcher_name for launch in wrapper.launches if name in (launch.kernel, launch.launcher_name))


def _kernels(model: ModelResult, wanted: frozenset[str], name: str) -> list[KernelResult]:
    """The kernels of the name; one without launch facts is known by the path of its file."""
    return [
        k for k in model.kernels
        if k.name == name or any(launch.launcher_name in wanted for launch in k.launches)
        or (k.source is not None and k.source.file == name)
    ]  # fmt: skip


def _facts(model: ModelResult, facts: ModelFacts, kernel: KernelResult, device_memory: int | None) -> KernelFacts:
    embedded = _embedded(facts, kernel)
    if embedded is None:
        return KernelFacts(model, kernel, ())
    try:
        return KernelFacts(model, kernel, index_ranges(_analysers(model, facts, kernel, embedded, device_memory)))
    except (KernelscopeError, RecursionError):  # a finding of the kernel tells why it cannot be read
        return KernelFacts(model, kernel, ())


def _embedded(facts: ModelFacts, kernel: KernelResult) -> EmbeddedKernel | None:
    if kernel.source is None:
        return None
    place = kernel.source.file, kernel.source.first_line, kernel.source.text
    kernels = (k for wrapper in facts.wrappers for k in wrapper.kernels)
    return next((k for k in kernels if (k.file, k.first_line, k.source) == place), None)


def _analysers(
    model: ModelResult, facts: ModelFacts, kernel: KernelResult, embedded: EmbeddedKernel, device_memory: int | None
) -> Iterator[LaunchAnalyser]:
    reader = KernelReader(facts.model.binaries)
    readable = reader.read(embedded)
    if not isinstance(readable, Readable):
        return
    ranges = full_ranges(model.symbols, device_memory)
    for launch in kernel.launches:
        choice = reader.programs(readable, launch)
        for program, blocked in zip(choice.programs, choice.launches, strict=True):
            yield LaunchAnalyser(program, blocked, model.symbols, ranges, device_memory)
