"""Brute force: a program compiled to Python expressions, exact and wrapping, and run at every point of a launch.

Independent of the evaluator that checks witnesses: nothing here is shared with the analysis but the node types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from types import CodeType

from kernelscope.launches.host_expression import (
    HostBinary,
    HostCast,
    HostConstant,
    HostExpression,
    HostOperator,
    HostSelect,
    HostSymbol,
)
from kernelscope.launches.launch import Launch, ScalarArgument, TensorArgument
from kernelscope.triton_source import index_program as ip
from kernelscope.triton_source.scalar_types import Kind, PointerType, ScalarType
from tests.properties.python_text import Undefined, agreement_code, code_of, helpers, loads_below

_SAMPLE = (-128, -100, -65, -33, -17, -9, -2, -1, 0, 1, 2, 3, 5, 8, 13, 16, 31, 32, 63, 64, 100, 127)
_MOST_ITERATIONS = 1000


@dataclass(frozen=True, slots=True)
class Event:
    """One way in which the hardware differs from the exact program at some point."""

    kind: str  # offset, live, value, assertion, loop, branch
    program_id: tuple[int, int, int]
    lanes: tuple[int, ...]
    access: int | None
    exact: int
    machine: int


@dataclass(frozen=True, slots=True)
class _Pair:
    """An expression compiled twice."""

    exact: CodeType
    machine: CodeType


def host_value(expression: HostExpression, sizes: Mapping[str, int]) -> int:
    """The value of a host expression at given sizes."""
    match expression:
        case HostConstant(value):
            return value
        case HostSymbol(name):
            return sizes[name]
        case HostCast(operand, _):
            return host_value(operand, sizes)
        case HostSelect(condition, if_true, if_false):
            return host_value(if_true if host_value(condition, sizes) else if_false, sizes)
        case HostBinary(operator, left, right):
            return _host_binary(operator, host_value(left, sizes), host_value(right, sizes))
        case _:
            raise AssertionError(expression)


def _host_binary(operator: HostOperator, a: int, b: int) -> int:
    match operator:
        case HostOperator.ADD:
            return a + b
        case HostOperator.SUBTRACT:
            return a - b
        case HostOperator.MULTIPLY:
            return a * b
        case HostOperator.FLOOR_DIVIDE:
            return a // b
        case HostOperator.TRUNCATED_DIVIDE:
            return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        case HostOperator.EQUAL:
            return int(a == b)
        case HostOperator.MINIMUM:
            return min(a, b)
        case HostOperator.MAXIMUM:
            return max(a, b)
        case _:
            raise AssertionError(operator)


class Exhaustive:
    """All points of one launch of a program, at any sizes."""

    def __init__(self, program: ip.IndexProgram, launch: Launch) -> None:
        self.program = program
        self.launch = launch
        self.scope: dict[str, object] = helpers()
        self._pairs: dict[tuple[int, tuple[str, ...], bool], _Pair] = {}
        self._agreed: dict[int, CodeType] = {}
        #: Values tried for loads without a declared range, besides the sample.
        self.extra_values: set[int] = set()
        self._tensors = {a.name: a.tensor for a in launch.arguments if isinstance(a, TensorArgument)}
        self._scalars = {a.name: a.value for a in launch.arguments if isinstance(a, ScalarArgument)}

    def events(self, sizes: Mapping[str, int]) -> Iterator[Event]:
        """Every difference at these sizes."""
        grid = tuple(host_value(g, sizes) for g in self.launch.grid)
        if any(not 0 < g for g in grid):
            return
        for name, value in self._scalars.items():
            exact = host_value(value, sizes)
            type_ = self.program.types[name]
            assert isinstance(type_, ScalarType)
            self.scope[f"a_{name}"], self.scope[f"m_{name}"] = exact, type_.wrap(exact)
        for axis in range(3):
            self.scope[f"n{axis}"] = grid[axis]
        for ids in product(*(range(g) for g in grid)):
            for axis in range(3):
                self.scope[f"p{axis}"] = ids[axis]
            yield from self._program(ids, sizes)  # type: ignore[arg-type]

    def _program(self, ids: tuple[int, int, int], sizes: Mapping[str, int]) -> Iterator[Event]:
        for number in range(len(self.program.loops)):
            yield from self._loop(number, ids)
        for observation in self.program.observations:
            for _ in self._iterations(observation.loops):
                if self._guards(observation.guards, machine=False):
                    yield from self._compared("branch", observation.condition, (), ids, None)
        for number, access in enumerate(self.program.accesses):
            for _ in self._iterations(access.loops):
                yield from self._access(number, access, ids, sizes)

    # -- values -----------------------------------------------------------------------------------------------------

    def _value(self, node: ip.Node, lanes: tuple[str, ...], *, machine: bool, pointer: bool = False) -> int:
        key = (id(node), lanes, pointer)
        pair = self._pairs.get(key)
        if pair is None:
            exact, wrapped = (code_of(self.program, node, lanes, wrapping, pointer) for wrapping in (False, True))
            pair = self._pairs[key] = _Pair(exact, wrapped)
        return int(eval(pair.machine if machine else pair.exact, self.scope))

    def _compared(
        self, kind: str, node: ip.Node, lanes: tuple[str, ...], ids: tuple[int, int, int], access: int | None
    ) -> Iterator[Event]:
        try:
            exact = self._value(node, lanes, machine=False)
        except Undefined:
            return
        try:
            machine = self._value(node, lanes, machine=True)
        except Undefined:
            return
        if exact != machine:
            yield Event(kind, ids, self._here(lanes), access, exact, machine)

    def _here(self, lanes: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(int(self.scope[name]) for name in lanes)  # type: ignore[call-overload]

    def _guards(self, guards: tuple[ip.Node, ...], *, machine: bool) -> bool:
        return all(self._value(g, (), machine=machine) for g in guards)

    # -- loops ------------------------------------------------------------------------------------------------------

    def _bounds(self, number: int, *, machine: bool) -> tuple[int, int, int]:
        loop = self.program.loops[number]
        assert loop.start is not None and loop.end is not None and loop.step is not None
        start, end, step = (self._value(n, (), machine=machine) for n in (loop.start, loop.end, loop.step))
        return start, end, step

    def _iterations(self, loops: tuple[int, ...]) -> Iterator[None]:
        """Sets the iteration numbers of the loops to every value at which the exact program is inside all of them."""
        if not loops:
            yield
            return
        for _ in self._iterations(loops[:-1]):
            if self.program.loops[loops[-1]].is_while:
                yield from self._while_iterations(loops[-1])
                continue
            try:
                start, end, step = self._bounds(loops[-1], machine=False)
            except Undefined:
                continue
            if step == 0:
                continue
            for k in range(len(range(start, end, step))):
                self.scope[f"k{loops[-1]}"] = k
                yield

    def _while_iterations(self, number: int) -> Iterator[None]:
        condition = self.program.loops[number].condition
        assert condition is not None
        for k in range(_MOST_ITERATIONS):
            self.scope[f"k{number}"] = k
            if not self._value(condition, (), machine=False):
                return
            yield

    def _while(self, number: int, ids: tuple[int, int, int]) -> Iterator[Event]:
        """The condition before every iteration, and where the loop ends."""
        condition = self.program.loops[number].condition
        assert condition is not None
        for _ in self._while_iterations(number):
            yield from self._compared("loop", condition, (), ids, None)
        yield from self._compared("loop", condition, (), ids, None)

    def _loop(self, number: int, ids: tuple[int, int, int]) -> Iterator[Event]:
        loop = self.program.loops[number]
        for _ in self._iterations(loop.loops):
            try:
                if not self._guards(loop.guards, machine=False):
                    continue
                if loop.is_while:
                    yield from self._while(number, ids)
                    continue
                exact, machine = self._bounds(number, machine=False), self._bounds(number, machine=True)
            except Undefined:
                continue
            if exact != machine:
                yield Event("loop", ids, (), None, exact[1], machine[1])
                continue
            start, end, step = exact
            if step == 0:
                continue
            if loop.runs_from_its_end:
                start, end, step = end, start, -step
            trips = len(range(start, end, step))
            after = start + trips * step
            if trips and loop.counter_type.wrap(after) != after:
                yield Event("loop", ids, (), None, after, loop.counter_type.wrap(after))

    # -- accesses ---------------------------------------------------------------------------------------------------

    def _access(
        self, number: int, access: ip.Access, ids: tuple[int, int, int], sizes: Mapping[str, int]
    ) -> Iterator[Event]:
        names = tuple(f"i{axis}" for axis in range(len(access.pointer.shape)))
        shape = access.pointer.shape
        asserted = [a for a in self.program.assertions if _applies(a, access, number) and a.condition.shape == shape]
        roots = [access.pointer, *access.guards, *(a.condition for a in asserted)]
        roots += [n for n in (access.mask, access.value) if n is not None]
        loads = sorted(loads_below(roots))
        choices = [self._loadable(load, sizes) for load in loads]
        own = loads_below([n for n in (access.pointer, access.mask, *access.guards) if n is not None])
        bounded = all(self._tensor_of(load).values is not None for load in own)
        for lanes in product(*map(range, shape)):
            for name, lane in zip(names, lanes, strict=True):
                self.scope[name] = lane
            for values in product(*choices):
                for load, value in zip(loads, values, strict=True):
                    self.scope[f"v{load}"] = value
                if not asserted and self._agrees(number, access, names):
                    continue
                yield from self._lane(number, access, names, asserted, ids, sizes, bounded)

    def _lane(
        self, number: int, access: ip.Access, names: tuple[str, ...], asserted: list[ip.Assertion],
        ids: tuple[int, int, int], sizes: Mapping[str, int], bounded: bool,
    ) -> Iterator[Event]:  # fmt: skip
        here = self._here(names)
        try:
            live = self._live(access, names, machine=False)
            machine_live = self._live(access, names, machine=True)
            if not live and not machine_live:
                return
            if not all(self._value(a.condition, names, machine=False) for a in asserted):
                return
            exact = self._value(access.pointer, names, machine=False, pointer=True)
        except Undefined:
            return
        if live and not bounded and not 0 <= exact < self._extent(access, sizes):
            return  # eager mode would read outside the buffer too
        if live != machine_live:
            yield Event("live", ids, here, number, int(live), int(machine_live))
            return
        for assertion in asserted:
            yield from self._compared("assertion", assertion.condition, names, ids, number)
        try:
            machine = self._value(access.pointer, names, machine=True, pointer=True)
        except Undefined:
            yield Event("offset", ids, here, number, exact, 0)
            return
        if exact != machine:
            yield Event("offset", ids, here, number, exact, machine)
        yield from self._stored(number, access, names, ids)

    def _agrees(self, number: int, access: ip.Access, names: tuple[str, ...]) -> bool:
        code = self._agreed.get(number)
        if code is None:
            code = self._agreed[number] = agreement_code(self.program, access, names)
        try:
            return bool(eval(code, self.scope))
        except Undefined:
            return False

    def _live(self, access: ip.Access, names: tuple[str, ...], *, machine: bool) -> bool:
        if not self._guards(access.guards, machine=machine):
            return False
        return access.mask is None or bool(self._value(access.mask, names, machine=machine))

    def _stored(
        self, number: int, access: ip.Access, names: tuple[str, ...], ids: tuple[int, int, int]
    ) -> Iterator[Event]:
        """A stored integer made of indices, reduced to its own type, is what eager mode stores."""
        value = access.value
        if value is None or not isinstance(value.type, ScalarType) or value.type.kind is Kind.FLOAT:
            return
        if value.type.bits <= 8:
            return  # nothing is widened
        try:
            exact = value.type.wrap(self._value(value, names, machine=False))
            machine = self._value(value, names, machine=True)
        except Undefined:
            return
        if exact != machine:
            yield Event("value", ids, self._here(names), number, exact, machine)

    # -- memory -----------------------------------------------------------------------------------------------------

    def _tensor_of(self, access: int):  # type: ignore[no-untyped-def]
        return self._tensors[_base_name(self.program.accesses[access].pointer)]

    def _loadable(self, access: int, sizes: Mapping[str, int]) -> list[int]:
        """Values that a load may return: all of the declared range that its type holds, else a sample of its type's."""
        values = self._tensor_of(access).values
        pointer = self.program.accesses[access].pointer.type
        assert isinstance(pointer, PointerType)
        least, most = pointer.element.minimum, pointer.element.maximum
        if values is not None:
            low, high = (host_value(v, sizes) for v in values)
            return list(range(max(least, low), min(most, high) + 1))
        return [v for v in (*_SAMPLE, *sorted(self.extra_values)) if least <= v <= most]

    def _extent(self, access: ip.Access, sizes: Mapping[str, int]) -> int:
        return extent_of(self._tensors[_base_name(access.pointer)], sizes)

    def points(self, sizes: Mapping[str, int]) -> int:
        """About how many evaluations `events` needs at these sizes."""
        ids = prod(max(0, host_value(g, sizes)) for g in self.launch.grid)
        lanes = 0
        for access in self.program.accesses:
            loads = loads_below([n for n in (access.pointer, access.mask) if n is not None])
            each = prod(access.pointer.shape) * prod(len(self._loadable(load, sizes)) for load in loads)
            lanes += each * 40 ** len(access.loops)
        return ids * lanes

    def bytes_used(self, sizes: Mapping[str, int]) -> int:
        """Bytes of the launch's tensors, all of one-byte elements."""
        return sum(extent_of(tensor, sizes) for tensor in self._tensors.values())


def extent_of(tensor, sizes: Mapping[str, int]) -> int:  # type: ignore[no-untyped-def]
    """Elements from the first to the last of a tensor."""
    pairs = zip(tensor.sizes, tensor.strides, strict=True)
    return 1 + sum((host_value(size, sizes) - 1) * host_value(stride, sizes) for size, stride in pairs)


def _base_name(node: ip.Node) -> str:
    while not isinstance(node, ip.Argument):
        match node:
            case ip.PointerAdd():
                node = node.pointer
            case ip.Carried():
                node = node.initial
            case ip.Where():
                node = node.if_true
            case _:
                node = node.operand  # type: ignore[union-attr]
    return node.name


def _applies(assertion: ip.Assertion, access: ip.Access, number: int) -> bool:
    return (
        assertion.before_access <= number
        and assertion.loops == access.loops[: len(assertion.loops)]
        and {id(g) for g in assertion.guards} <= {id(g) for g in access.guards}
    )
