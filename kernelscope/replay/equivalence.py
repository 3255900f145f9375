"""Original and patched kernels on small inputs, program by program in Triton's interpreter, compared bit for bit."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import prod
from typing import Any

from kernelscope.artifact import open_artifact
from kernelscope.artifact.contents import Model
from kernelscope.audit.kernels import KernelReader, Readable
from kernelscope.audit.run import read_model
from kernelscope.errors import KernelscopeError
from kernelscope.launches.host_arithmetic import evaluate
from kernelscope.launches.launch import EmbeddedKernel, Launch, Symbol, TensorArgument, WrapperFacts
from kernelscope.paths import StrPath
from kernelscope.replay.interpreter_process import Interpreter
from kernelscope.replay.launch_values import arguments_of, elements_of
from kernelscope.triton_source.index_program import IndexProgram
from kernelscope.triton_source.scalar_types import PointerType

#: Sizes that are tried for every symbol, as far as its range allows: the first at which the buffers are small enough.
_SIZES = (5, 3, 2, 1)
_MOST_ELEMENTS = 1 << 24
#: Programs that run: of a larger grid its first and last ones.
_MOST_PROGRAMS = 24
#: Elements of a buffer whose layout is not known.
_UNKNOWN = 1 << 16


class EquivalenceState(Enum):
    EQUAL = "equal bit for bit"
    DIFFERENT = "different"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Equivalence:
    """How a patched kernel compares with its original. `programs` of `grid` ran, at `sizes`; `detail`: which buffers
    differ, or why nothing ran."""

    kernel: str
    state: EquivalenceState
    sizes: Mapping[str, int]
    programs: int
    grid: int
    detail: str


def check_equivalence(
    before: StrPath, after: StrPath, progress: Callable[[str, int, int], None] | None = None
) -> tuple[Equivalence, ...]:
    """Every kernel whose source differs between two packages with the same launches. Needs triton, torch and numpy."""
    pairs = list(_pairs(os.fspath(before), os.fspath(after)))
    results: list[Equivalence] = []
    if pairs:
        with Interpreter() as interpreter:
            for number, pair in enumerate(pairs):
                if progress is not None:
                    progress("checking equivalence", number, len(pairs))
                results.append(_checked(pair, interpreter))
    return tuple(results)


def compare_kernels(
    model: Model, symbols: tuple[Symbol, ...], before: tuple[EmbeddedKernel, Launch], after: tuple[EmbeddedKernel, Launch],
    interpreter: Interpreter,
) -> Equivalence:  # fmt: skip
    """Two kernels, each with its launch, of one model."""
    one, two = _side(model, *before), _side(model, *after)
    if one is None or two is None:
        return Equivalence(before[1].kernel, EquivalenceState.NOT_RUN, {}, 0, 0, "its source cannot be read")
    return _checked(_Pair(symbols, one, two), interpreter)


@dataclass(frozen=True, slots=True)
class _Side:
    kernel: EmbeddedKernel
    launch: Launch
    program: IndexProgram


@dataclass(frozen=True, slots=True)
class _Pair:
    symbols: tuple[Symbol, ...]
    before: _Side
    after: _Side


def _pairs(before: str, after: str) -> Iterator[_Pair]:
    sides = [[(m, w) for m in open_artifact(path).models for w in read_model(m, None).wrappers] for path in (before, after)]
    for (old_model, old), (new_model, new) in zip(*sides, strict=True):
        launches = {launch.launcher_name: launch for launch in new.launches}
        for launch in {one.launcher_name: one for one in reversed(old.launches)}.values():
            other = launches.get(launch.launcher_name)
            if other is None:
                continue
            first, second = _kernel_of(old, launch), _kernel_of(new, other)
            if first is None or second is None or first.source == second.source:
                continue
            one, two = _side(old_model, first, launch), _side(new_model, second, other)
            if one is not None and two is not None:
                yield _Pair(old.symbols, one, two)


def _kernel_of(wrapper: WrapperFacts, launch: Launch) -> EmbeddedKernel | None:
    sources = {k.launcher_name: k for k in wrapper.kernels} | {k.name: k for k in wrapper.kernels}
    return sources.get(launch.launcher_name) or sources.get(launch.kernel)


def _side(model: Model, kernel: EmbeddedKernel, launch: Launch) -> _Side | None:
    """Of block sizes that are not known, those whose block is nearest to a thousand elements."""
    reader = KernelReader(model.binaries)
    read = reader.read(kernel)
    if not isinstance(read, Readable):
        return None
    try:
        choice = reader.programs(read, launch)
    except KernelscopeError:
        return None
    pairs = zip(choice.programs, choice.launches, strict=True)
    program, blocked = min(pairs, key=lambda pair: abs(_block(pair[0]).bit_length() - 11))
    return _Side(kernel, blocked, program)


def _block(program: IndexProgram) -> int:
    return prod(v for n, v in program.constexprs.items() if n.endswith("BLOCK") and isinstance(v, int))


def _checked(pair: _Pair, interpreter: Interpreter) -> Equivalence:
    name = pair.before.launch.kernel
    prepared = _prepared(pair)
    if isinstance(prepared, str):
        return Equivalence(name, EquivalenceState.NOT_RUN, {}, 0, 0, prepared)
    request, sizes = prepared
    programs, grid = len(request["programs"]), prod(request["grid"])
    answer = interpreter.run(request)
    if "failure" in answer:
        return Equivalence(name, EquivalenceState.NOT_RUN, sizes, 0, grid, str(answer["failure"]))
    if answer["different"]:
        return Equivalence(name, EquivalenceState.DIFFERENT, sizes, programs, grid, ", ".join(answer["different"]))
    if not answer["written"]:
        return Equivalence(name, EquivalenceState.NOT_RUN, sizes, 0, grid, "the programs write nothing")
    return Equivalence(name, EquivalenceState.EQUAL, sizes, programs, grid, "")


def _prepared(pair: _Pair) -> tuple[dict[str, Any], dict[str, int]] | str:
    reason = "no size is small enough"
    for size in _SIZES:
        sizes = {symbol.name: _within(symbol, size) for symbol in pair.symbols}
        request = _request(pair, sizes)
        if not isinstance(request, str):
            return request, sizes
        reason = request
    return reason


def _within(symbol: Symbol, wanted: int) -> int:
    low = symbol.minimum or 0
    value = max(low, wanted if symbol.maximum is None else min(wanted, symbol.maximum))
    return low + (value - low) // symbol.step * symbol.step


def _request(pair: _Pair, sizes: Mapping[str, int]) -> dict[str, Any] | str:
    launch, program = pair.before.launch, pair.before.program
    grid = [evaluate(dimension, sizes) for dimension in launch.grid]
    if any(dimension is None for dimension in grid):
        return "the grid is not known"
    whole = [dimension or 0 for dimension in grid]
    arguments = [arguments_of(side.program, side.launch, sizes) for side in (pair.before, pair.after)]
    unknown = next((a for a in arguments if isinstance(a, str)), None)
    if unknown is not None:
        return unknown
    elements = elements_of(launch, sizes)
    tensors = {a.name: a.tensor for a in launch.arguments if isinstance(a, TensorArgument)}
    buffers: dict[str, dict[str, Any]] = {}
    largest: dict[str, int] = {}
    for name, kind in program.types.items():
        if isinstance(kind, PointerType):
            storage = tensors[name].storage if name in tensors else name
            count = elements.get(name, _UNKNOWN)
            largest[storage] = max(largest.get(storage, 0), count)
            pointer = next(a for a in arguments[0] if a["name"] == name)  # type: ignore[index]
            buffers[name] = {"name": name, "storage": storage, "type": pointer["type"].lstrip("*")}  # type: ignore[index]
    total = sum(largest[storage] for storage in {b["storage"] for b in buffers.values()})
    if total > _MOST_ELEMENTS and sizes != {s.name: _within(s, _SIZES[-1]) for s in pair.symbols}:
        return f"its buffers have {total} elements"
    for buffer in buffers.values():
        buffer["elements"] = largest[buffer["storage"]]
    return {
        "sources": [pair.before.kernel.source, pair.after.kernel.source], "function": launch.kernel, "arguments": arguments,
        "grid": whole, "programs": _programs(whole), "buffers": list(buffers.values()),
    }  # fmt: skip


def _programs(grid: Sequence[int]) -> list[tuple[int, int, int]]:
    """All programs, x fastest; of many the first and the last ones."""
    total = prod(grid)
    half = _MOST_PROGRAMS // 2
    numbers = [*range(total)] if total <= _MOST_PROGRAMS else [*range(half), *range(total - half, total)]
    x, y, _ = grid
    return [(n % x, n // x % y, n // (x * y)) for n in numbers]
