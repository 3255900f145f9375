"""Tries to refute a "safe": random points near the top of the sizes, evaluated exactly and as the hardware does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random

from kernelscope.audit.host import GRID_LIMITS
from kernelscope.audit.point import NotEvaluable, Point, PointEvaluator
from kernelscope.launches.launch import Launch, ScalarArgument, Symbol, TensorArgument
from kernelscope.triton_source.index_program import Access, IndexProgram
from kernelscope.triton_source.scalar_types import ScalarType, from_signature
from tests.properties.exhaustive import extent_of, host_value
from tests.properties.python_text import loads_below

_UNLIMITED = (1 << 40) - 1


class Sampler:
    """Random points of one launch of a program."""

    def __init__(
        self, program: IndexProgram, launch: Launch, symbols: tuple[Symbol, ...], memory: int | None, random: Random
    ) -> None:
        self.program, self.launch, self.symbols, self.memory, self.random = program, launch, symbols, memory, random
        self.tensors = {a.name: a.tensor for a in launch.arguments if isinstance(a, TensorArgument)}

    def refutation(self, tries: int) -> str | None:
        """A point at which the hardware differs from the exact program, as text; None when none was found."""
        if not self.program.accesses:
            return None
        for _ in range(tries):
            sizes = {s.name: self._size(s) for s in self.symbols}
            try:
                found = self._at(sizes)
            except (NotEvaluable, RecursionError, AssertionError, ZeroDivisionError):
                continue
            if found is not None:
                return found
        return None

    def _size(self, symbol: Symbol) -> int:
        low = symbol.minimum or 0
        high = _UNLIMITED if symbol.maximum is None else symbol.maximum
        random = self.random
        power = 1 << random.randrange(40)
        value = random.choice(
            (high, high - random.randrange(3), low, power, power - 1, power + 1, random.randint(low, high))
        )
        value = min(high, max(low, value))
        return value - (value - low) % symbol.step

    def _fits(self, sizes: Mapping[str, int]) -> bool:
        if self.memory is None:
            return True
        storages: dict[str, int] = {}
        for tensor in self.tensors.values():
            if tensor.sizes is not None and tensor.strides is not None and tensor.storage not in storages:
                scalar = from_signature(tensor.dtype) if tensor.dtype else None
                width = scalar.item_bytes if isinstance(scalar, ScalarType) else 1
                offset = 0 if tensor.offset is None else host_value(tensor.offset, sizes)
                storages[tensor.storage] = (extent_of(tensor, sizes) + offset) * width
        return sum(storages.values()) <= self.memory

    def _at(self, sizes: Mapping[str, int]) -> str | None:
        if not self._fits(sizes):
            return None
        grid = tuple(host_value(g, sizes) for g in self.launch.grid)
        if any(not 0 < g <= limit for g, limit in zip(grid, GRID_LIMITS, strict=True)):
            return None
        exact, machine = self._arguments(sizes)
        ids = tuple(self._edge(g) for g in grid)
        number = self.random.randrange(len(self.program.accesses))
        access = self.program.accesses[number]
        loaded = self._loaded(access, sizes)
        if loaded is None:
            return None
        point = Point(ids, grid, exact, machine, {}, loaded)  # type: ignore[arg-type]
        for loop in access.loops:
            point.iterations[loop] = 0  # type: ignore[index]
            trips = self._trips(point, loop)
            if not trips:
                return None
            point.iterations[loop] = self._edge(trips)  # type: ignore[index]
        lanes = tuple(self._edge(extent) for extent in access.pointer.shape)
        problem = next(self._problems(point, access, number, lanes), None)
        return None if problem is None else f"{problem} at {dict(sizes)}, program {ids}, lanes {lanes}, {point}"

    def _edge(self, extent: int) -> int:
        """An index below `extent`, most often one of its ends."""
        return self.random.choice((extent - 1, extent - 1, 0, self.random.randrange(extent), max(0, extent - 2)))

    def _arguments(self, sizes: Mapping[str, int]) -> tuple[dict[str, int], dict[str, int]]:
        exact: dict[str, int] = {}
        machine: dict[str, int] = {}
        for argument in self.launch.arguments:
            if not isinstance(argument, ScalarArgument):
                continue
            value = exact[argument.name] = host_value(argument.value, sizes)
            bits = argument.c_type.bits if argument.c_type is not None else None
            if argument.c_type is not None and bits is not None:
                half = 1 << (bits - 1) if argument.c_type.signed else 0
                value = (value + half) % (1 << bits) - half
            type_ = self.program.types.get(argument.name)
            machine[argument.name] = type_.wrap(value) if isinstance(type_, ScalarType) and type_.is_integer else value
        return exact, machine

    def _loaded(self, access: Access, sizes: Mapping[str, int]) -> dict[int, int] | None:
        """A value for each load that matters; None where a range is not declared."""
        roots = [n for n in (access.pointer, access.mask) if n is not None]
        roots += [*access.guards, *(a.condition for a in self.program.assertions)]
        values: dict[int, int] = {}
        for load in loads_below(roots):
            tensor = self.tensors.get(_base_name(self.program, load) or "")
            if tensor is None or tensor.values is None:
                return None
            low, high = (host_value(v, sizes) for v in tensor.values)
            values[load] = self.random.choice((low, high, self.random.randint(low, max(low, high))))
        return values

    def _trips(self, point: Point, loop: int) -> int:
        header = self.program.loops[loop]
        if header.start is None or header.end is None or header.step is None:
            raise NotEvaluable("while loop")
        evaluator = PointEvaluator(self.program, point, wrapping=False)
        start, end, step = (evaluator.value(n, ()) for n in (header.start, header.end, header.step))
        if step == 0:
            return 0
        return max(0, -((start - end) // step))

    def _problems(self, point: Point, access: Access, number: int, lanes: tuple[int, ...]) -> Iterator[str]:
        exact = PointEvaluator(self.program, point, wrapping=False)
        machine = PointEvaluator(self.program, point, wrapping=True)
        for assertion in self.program.assertions:
            applies = assertion.before_access <= number and assertion.condition.shape == access.pointer.shape
            if applies and not exact.value(assertion.condition, lanes):
                return
        live, machine_live = (_live(e, access, lanes) for e in (exact, machine))
        if live != machine_live:
            yield f"line {access.span.line}: live {live}, on the hardware {machine_live}"
        if not live:
            return
        right, wrong = exact.offset(access.pointer, lanes), machine.offset(access.pointer, lanes)
        if right != wrong:
            yield f"line {access.span.line}: offset {right}, on the hardware {wrong}"


def _live(evaluator: PointEvaluator, access: Access, lanes: tuple[int, ...]) -> bool:
    if not all(evaluator.value(guard, ()) for guard in access.guards):
        return False
    return access.mask is None or bool(evaluator.value(access.mask, lanes))


def _base_name(program: IndexProgram, load: int) -> str | None:
    node: object = program.accesses[load].pointer
    while node is not None and not hasattr(node, "name"):
        node = getattr(node, "pointer", None) or getattr(node, "operand", None) or getattr(node, "initial", None)
    return getattr(node, "name", None)
