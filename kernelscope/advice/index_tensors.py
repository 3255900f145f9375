"""64-bit index tensors whose elements provably fit 32 bits, as does everything computed from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from kernelscope.advice.options import NarrowIndexTensor
from kernelscope.artifact.contents import Model
from kernelscope.audit.kernels import KernelReader, Readable
from kernelscope.audit.launch_analysis import LaunchAnalyser
from kernelscope.bounds.space import Range
from kernelscope.errors import KernelscopeError
from kernelscope.launches.launch import EmbeddedKernel, Launch, TensorArgument, WrapperFacts
from kernelscope.triton_source.index_program import Argument, Broadcast, Cast, ExpandDims, Loaded, Node, PointerAdd
from kernelscope.triton_source.operands import operands

_WIDE, _NARROW = "i64", "i32"


def narrow_index_tensors(
    wrapper: WrapperFacts, model: Model, ranges: Mapping[str, Range], device_memory: int | None
) -> tuple[NarrowIndexTensor, ...]:
    """The int64 tensors that kernels of `wrapper` index with and that may as well be int32: with all of a kernel's 64-bit
    integers made 32-bit, every launch is still proved safe over `ranges`."""
    reader = KernelReader(model.binaries)
    sources = {k.launcher_name: k for k in wrapper.kernels} | {k.name: k for k in wrapper.kernels}
    found: dict[tuple[str, str], NarrowIndexTensor] = {}
    for launch in wrapper.launches:
        embedded = sources.get(launch.launcher_name)
        wide = [a for a in launch.arguments if isinstance(a, TensorArgument) and a.tensor.dtype == _WIDE]
        if embedded is None or not wide:
            continue
        indexing = _indexing(reader, embedded, launch)
        for argument in wide:
            if argument.name in indexing and _is_safe_narrow(model, wrapper, embedded, launch, ranges, device_memory):
                found[(launch.kernel, argument.name)] = NarrowIndexTensor(
                    launch.kernel, argument.name, argument.tensor.name
                )
    return tuple(found.values())


def _indexing(reader: KernelReader, embedded: EmbeddedKernel, launch: Launch) -> set[str]:
    """The kernel's pointer parameters whose elements reach an address."""
    kernel = reader.read(embedded)
    if not isinstance(kernel, Readable):
        return set()
    try:
        program = reader.programs(kernel, launch).programs[0]
    except KernelscopeError:
        return set()
    names: set[str] = set()
    for access in program.accesses:
        for node in _below(access.pointer):
            if isinstance(node, Loaded):
                names.update(_pointers(program.accesses[node.access].pointer))
    return names


def _below(root: Node) -> Iterator[Node]:
    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            waiting.extend(operands(node))


def _pointers(pointer: Node) -> Iterator[str]:
    """The pointer parameters that an address is made from."""
    while isinstance(pointer, PointerAdd | Broadcast | ExpandDims | Cast):
        pointer = pointer.pointer if isinstance(pointer, PointerAdd) else pointer.operand
    if isinstance(pointer, Argument):
        yield pointer.name


def _is_safe_narrow(
    model: Model, wrapper: WrapperFacts, embedded: EmbeddedKernel, launch: Launch, ranges: Mapping[str, Range],
    device_memory: int | None,
) -> bool:  # fmt: skip
    narrow = replace(embedded, source=_narrowed(embedded.source))
    types = {name: kind.replace(_WIDE, _NARROW) for name, kind in launch.types.items()}
    reader = KernelReader(model.binaries)
    kernel = reader.read(narrow)
    if not isinstance(kernel, Readable):
        return False
    try:
        choice = reader.programs(kernel, replace(launch, types=types))
    except KernelscopeError:
        return False
    return all(
        LaunchAnalyser(program, blocked, wrapper.symbols, ranges, device_memory).is_proved()
        for program, blocked in zip(choice.programs, choice.launches, strict=True)
    )


def _narrowed(source: str) -> str:
    """The kernel with every 64-bit integer type made 32-bit: at least as narrow as what Inductor writes for int32 tensors."""
    return source.replace("tl.int64", "tl.int32").replace("'*i64'", "'*i32'").replace("'i64'", "'i32'")
