"""Random launches of random index programs with int8 in place of int32 and int16 in place of int64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from kernelscope.launches.host_expression import HostConstant, HostExpression, HostSymbol
from kernelscope.launches.launch import (
    BoundOrigin,
    KernelArgument,
    Launch,
    Launcher,
    ScalarArgument,
    SourcePosition,
    Symbol,
    Tensor,
    TensorArgument,
)
from kernelscope.triton_source import index_program as ip
from kernelscope.triton_source.index_program import AccessKind, BinaryOperator, Node
from kernelscope.triton_source.scalar_types import FLOAT32, INT8, UINT8, PointerType, ScalarType, ValueType
from tests.properties import construction as c
from tests.properties.host_expressions import ceiling, minus, plus, split_y, times
from tests.properties.index_expressions import Expressions


@dataclass(frozen=True, slots=True)
class Case:
    """A launch with its program and symbols; `memory`: bytes of the device, if assumed."""

    program: ip.IndexProgram
    launch: Launch
    symbols: tuple[Symbol, ...]
    memory: int | None


@dataclass(slots=True)
class Generator:
    """Draws one case."""

    random: Random
    arguments: list[KernelArgument] = field(default_factory=list)
    types: dict[str, ValueType] = field(default_factory=dict)
    accesses: list[ip.Access] = field(default_factory=list)
    loops: list[ip.Loop] = field(default_factory=list)
    assertions: list[ip.Assertion] = field(default_factory=list)
    observations: list[ip.Observation] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)
    guards: tuple[Node, ...] = ()
    scalars: list[Node] = field(default_factory=list)
    grid: list[HostExpression] = field(default_factory=lambda: [HostConstant(1)] * 3)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def case(self) -> Case:
        self._draw_symbols()
        for _ in range(self.random.randint(0, 2)):
            self.scalars.append(self._scalar(self._size()))
        if self.chance(0.45):
            self._pointwise_1d()
        else:
            self._pointwise_2d()
        program = ip.IndexProgram(
            "narrow", tuple(self.types), self.types, {}, tuple(self.accesses), tuple(self.loops),
            tuple(self.assertions), tuple(self.observations), (), (), {},
        )  # fmt: skip
        grid = tuple(self.grid)
        launch = Launch(
            0, "narrow", "narrow", grid, tuple(self.arguments), {}, 4, 0, None, (), (), Launcher.AOTI,  # type: ignore[arg-type]
            SourcePosition("narrow", 1),
        )  # fmt: skip
        memory = self.random.randint(20, 400) if self.chance(0.15) else None
        return Case(program, launch, tuple(self.symbols), memory)

    # -- sizes and arguments ----------------------------------------------------------------------------------------

    def _draw_symbols(self) -> None:
        for name, most in (("n", 16), ("m", 6))[: self.random.choice((1, 1, 2))]:
            low = self.random.choice((0, 1, 2))
            step = self.random.choice((1, 1, 1, 1, 2, 3))
            high = low + step * self.random.randint(0, (most - low) // step)
            self.symbols.append(Symbol(name, name, low, high, None, BoundOrigin.DECLARED, step))

    def _size(self) -> HostExpression:
        """A small expression in sizes."""
        symbol = HostSymbol(self.random.choice(self.symbols).name)
        factor = self.random.choice((1, 1, 2, 3, 5, 8, 12, 21))
        match self.random.randrange(6):
            case 0:
                return plus(times(symbol, HostConstant(factor)), HostConstant(self.random.randint(-2, 9)))
            case 1:
                return times(HostSymbol(self.symbols[0].name), HostSymbol(self.symbols[-1].name))
            case 2:
                return HostConstant(self.random.choice((1, 3, 4, 7, 16, 60, 127)))
            case _:
                return times(symbol, HostConstant(factor))

    def _scalar(self, value: HostExpression, type_: ScalarType | None = None) -> Node:
        name = f"ks{len(self.arguments)}"
        chosen = type_ or self.random.choice((c.NARROW, c.NARROW, c.NARROW, c.WIDE, UINT8))
        self.types[name] = chosen
        self.arguments.append(ScalarArgument(name, value, None))
        return ip.Argument(name, chosen, c.SPAN)

    def _pointer(self, extent: HostExpression, element: ScalarType = FLOAT32, values: object = None) -> Node:
        name = f"ptr{len(self.arguments)}"
        self.types[name] = PointerType(element)
        one = HostConstant(1)
        tensor = Tensor(name, name, "i8", (extent,), (one,), values=values)  # type: ignore[arg-type]
        self.arguments.append(TensorArgument(name, tensor))
        return c.pointer(name, element)

    # -- tilings ----------------------------------------------------------------------------------------------------

    def _program_id(self, axis: int) -> Node:
        node: Node = ip.ProgramId(axis, c.SPAN, c.NARROW)
        return c.cast(node, c.WIDE) if self.chance(0.15) else node

    def _pointwise_1d(self) -> None:
        block = self.random.choice((1, 2, 4, 8))
        size = self._size()
        numel = self._scalar(size, c.NARROW if self.chance(0.8) else c.WIDE)
        self.grid[0] = self._blocks(size, block)
        index = c.multiply(self._program_id(0), c.constant(block))
        index = c.add(index, c.arange(block))
        mask = None if self.chance(0.1) else c.less(index, numel)
        self._maybe_guard()
        self._body([index], mask, size)

    def _blocks(self, size: HostExpression, block: int) -> HostExpression:
        return self.random.choice((ceiling(size, block),) * 6 + (size, HostConstant(self.random.randint(1, 5))))

    def _pointwise_2d(self) -> None:
        x_block, y_block = self.random.choice((1, 2, 4)), self.random.choice((1, 2, 4))
        x_size, y_size = self._size(), self._size()
        xnumel, ynumel = self._scalar(x_size, c.NARROW), self._scalar(y_size, c.NARROW)
        self.grid[0] = self._blocks(x_size, x_block)
        x_offset = c.multiply(self._program_id(0), c.constant(x_block))
        if self.chance(0.3):
            self.grid[1], self.grid[2] = split_y(y_size, y_block, self.random.choice((2, 3, 5)))
            rows = c.multiply(ip.ProgramId(2, c.SPAN, c.NARROW), ip.NumPrograms(1, c.SPAN, c.NARROW))
            y_offset = c.multiply(c.add(self._program_id(1), rows), c.constant(y_block))
        else:
            self.grid[1] = self._blocks(y_size, y_block)
            y_offset = c.multiply(self._program_id(1), c.constant(y_block))
        y = c.add(y_offset, c.expand(c.arange(y_block), 1))
        x = c.add(x_offset, c.expand(c.arange(x_block), 0))
        masks = [c.less(x, xnumel), c.less(y, ynumel)]
        mask = c.both(*self.random.choice((masks, masks, masks, [masks[0], None], [None, masks[1]])))
        self._maybe_guard()
        self._body([x, y], mask, times(x_size, y_size))

    # -- control flow -----------------------------------------------------------------------------------------------

    def _maybe_guard(self) -> None:
        """`if` around the rest, or an early return before it."""
        if not self.chance(0.25):
            return
        left = c.multiply(ip.ProgramId(0, c.SPAN, c.NARROW), c.constant(self.random.choice((1, 3, 16, 40))))
        right = self._scalar(self._size()) if self.chance(0.5) else c.constant(self.random.randint(0, 127))
        operator = self.random.choice((BinaryOperator.LESS, BinaryOperator.GREATER_EQUAL, BinaryOperator.EQUAL))
        condition = c.binary(operator, left, right)
        self.observations.append(ip.Observation(condition, self.guards, (), c.SPAN))
        self.guards = (*self.guards, c.invert(condition) if self.chance(0.5) else condition)

    def _body(self, indices: list[Node], mask: Node | None, size: HostExpression) -> None:
        expressions = Expressions(self.random, indices, list(self.scalars))
        for _ in range(self.random.randint(1, 2)):
            match self.random.randrange(6):
                case 0:
                    self._indirect(indices, mask, size)
                case 1:
                    self._loop(indices, mask, size)
                case 2:
                    self._block_pointer(size)
                case _:
                    self._access(expressions, mask, size, ())

    # -- accesses ---------------------------------------------------------------------------------------------------

    def _access(self, e: Expressions, mask: Node | None, size: HostExpression, loops: tuple[int, ...]) -> None:
        if mask is not None and self.chance(0.3):
            mask = self._changed(e, mask)
        offset = e.index(self.random.randint(1, 3))
        base = self._pointer(self._extent(size))
        whole = c.pointer_add(base, offset)
        if self.chance(0.25):
            whole = c.pointer_add(whole, e.index(1))
        value = None
        if self.chance(0.4):
            value = e.stored()
            value = value if value.shape in ((), whole.shape) else None
        self._emit(whole, mask, value, loops)

    def _changed(self, e: Expressions, mask: Node) -> Node:
        other = e.condition()
        joined: list[Callable[[], Node | None]] = [
            lambda: c.both(mask, other), lambda: c.either(mask, other), lambda: c.both(mask, c.invert(other)),
        ]  # fmt: skip
        result = self.random.choice(joined)()
        assert result is not None
        return result

    def _extent(self, size: HostExpression) -> HostExpression:
        return plus(times(size, HostConstant(self.random.choice((1, 2, 8)))), HostConstant(1))

    def _emit(self, whole: Node, mask: Node | None, value: Node | None, loops: tuple[int, ...]) -> None:
        """One access with pointer, mask and value of one shape."""
        if mask is not None:
            whole, mask = c.alike(whole, mask)
        if value is not None:
            whole, value = c.alike(whole, value)
            mask = None if mask is None else c.broadcast(mask, whole.shape)
        kind = AccessKind.LOAD if value is None else AccessKind.STORE
        self.accesses.append(ip.Access(kind, whole, mask, value, None, self.guards, loops, c.SPAN))

    def _indirect(self, indices: list[Node], mask: Node | None, size: HostExpression) -> None:
        """An index loaded from memory, with a declared range or an assertion or neither."""
        highest = self._size()
        values = (HostConstant(0), minus(highest, HostConstant(1))) if self.chance(0.5) else None
        element = self.random.choice((INT8, INT8, c.WIDE))
        base = self._pointer(plus(size, HostConstant(1)), element, values)
        self._emit(c.pointer_add(base, indices[0]), mask, None, ())
        place = self.accesses[-1].pointer
        loaded: Node = ip.Loaded(len(self.accesses) - 1, element, place.shape, c.SPAN)
        if self.chance(0.5):
            self._assert_range(loaded, highest, mask)
        e = Expressions(self.random, [loaded], list(self.scalars))
        offset = e.index(self.random.randint(0, 2))
        self._emit(c.pointer_add(self._pointer(self._extent(size)), offset), mask, None, ())

    def _assert_range(self, loaded: Node, highest: HostExpression, mask: Node | None) -> None:
        limit = self._scalar(highest, c.NARROW if self.chance(0.7) else c.WIDE)
        inside = c.both(c.binary(BinaryOperator.LESS_EQUAL, c.constant(0), loaded), c.less(loaded, limit))
        assert inside is not None
        if mask is not None:
            inside = c.either(inside, c.broadcast(c.invert(mask), loaded.shape))
        self.assertions.append(ip.Assertion(inside, self.guards, (), len(self.accesses), c.SPAN))

    def _block_pointer(self, size: HostExpression) -> None:
        """A block pointer as the reader lowers it: 64-bit offsets and boundary checks from a 32-bit coordinate."""
        block = self.random.choice((2, 4))
        start = c.multiply(self._program_id(0), c.constant(self.random.choice((block, block, 3, 16))))
        coordinate = c.add(c.cast(c.cast(start, c.NARROW), c.WIDE), c.cast(c.arange(block), c.WIDE))
        stride = self._scalar(HostConstant(self.random.choice((1, 3, 20))), c.WIDE)
        length = self._scalar(size, c.WIDE)
        zero = c.constant(0, c.WIDE)
        mask = c.both(c.less(coordinate, length), c.binary(BinaryOperator.GREATER_EQUAL, coordinate, zero))
        whole = c.pointer_add(self._pointer(self._extent(size)), c.multiply(coordinate, stride))
        self._emit(whole, mask if self.chance(0.8) else None, None, ())

    def _loop(self, indices: list[Node], mask: Node | None, size: HostExpression) -> None:
        """A reduction loop: a counter with lanes, a carried offset or a carried pointer."""
        block = self.random.choice((1, 2, 4))
        length = self._size()
        end = self._scalar(length, c.NARROW)
        step = c.constant(self.random.choice((block, block, 3)))
        start = c.constant(0) if self.chance(0.8) else c.constant(self.random.randint(0, 20))
        loop = len(self.loops)
        self.loops.append(ip.Loop("r", start, end, step, c.NARROW, None, self.guards, (), c.SPAN))
        counter: Node = ip.LoopCounter(loop, c.NARROW, c.SPAN)
        lanes = c.arange(block)
        if len(indices[0].shape) == 2:
            lanes = c.expand(lanes, self.random.choice((0, 1)))
        inner = c.add(counter, lanes) if self.chance(0.7) else counter
        x = indices[-1]
        if not _fits(x, inner):
            inner = counter
        bound = c.less(inner, end)
        base: Node = self._pointer(self._extent(size))
        e = Expressions(self.random, [x, inner], list(self.scalars))
        if self.chance(0.3):
            growth = c.constant(self.random.choice((1, 4, 17)))
            e.leaves.append(ip.Carried(loop, "off", c.constant(0), growth, c.NARROW, (), c.SPAN))
        offset = e.index(self.random.randint(1, 2))
        whole = c.pointer_add(base, offset)
        if self.chance(0.3):
            stride = c.constant(self.random.choice((1, 8, 30)))
            moved = ip.Carried(loop, "ptr", whole, stride, whole.type, whole.shape, c.SPAN)
            whole = moved
        usable = mask if mask is None or _fits(mask, bound) else None
        self._emit(whole, c.both(usable, bound), None, (loop,))
        if self.chance(0.2):
            after = ip.Carried(loop, "off", c.constant(0), step, c.NARROW, (), c.SPAN, after=True)
            self._emit(c.pointer_add(self._pointer(self._extent(size)), after), None, None, ())


def _fits(left: Node, right: Node) -> bool:
    return (
        not left.shape
        or not right.shape
        or all(a == b or 1 in (a, b) for a, b in zip(left.shape, right.shape, strict=True))
    )


def draw(random: Random) -> Case:
    """A random case."""
    return Generator(random).case()


__all__ = ["Case", "Generator", "draw"]
