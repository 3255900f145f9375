"""A launch's host side as polynomials in size symbols: grid, arguments, tensor extents, memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kernelscope.bounds.polynomial import ONE, Polynomial
from kernelscope.bounds.space import LARGEST_SIZE, UNBOUNDED, Space
from kernelscope.launches.host_arithmetic import first_unknown, symbols_of
from kernelscope.launches.host_expression import (
    HostBinary,
    HostCast,
    HostConstant,
    HostExpression,
    HostOperator,
    HostSelect,
    HostSymbol,
    HostType,
    HostUnknown,
)
from kernelscope.launches.launch import Launch, ScalarArgument, Symbol, Tensor, TensorArgument
from kernelscope.triton_source.scalar_types import from_signature

#: CUDA C++ Programming Guide, technical specifications: maximum x-, y- and z-dimension of a grid of thread blocks.
GRID_LIMITS = ((1 << 31) - 1, 65535, 65535)

_C_RANGES = {
    HostType.INT32: (-(1 << 31), (1 << 31) - 1),
    HostType.UINT32: (0, (1 << 32) - 1),
    HostType.INT64: (-(1 << 63), (1 << 63) - 1),
    HostType.UINT64: (0, (1 << 64) - 1),
}


@dataclass(frozen=True, slots=True)
class HostConversion:
    """A value that the host stores in a C type narrower than it was computed in."""

    value: Polynomial
    type: HostType
    expression: HostExpression

    @property
    def limits(self) -> tuple[int, int]:
        return _C_RANGES[self.type]


class HostReader:
    """Turns host expressions into polynomials over one space, and remembers where values are narrowed."""

    def __init__(self, space: Space, symbols: Mapping[str, int]) -> None:
        self.space = space
        self.symbols = symbols
        self.conversions: list[HostConversion] = []
        self.unknown: dict[int, HostUnknown] = {}

    def read(self, expression: HostExpression) -> Polynomial:
        match expression:
            case HostConstant(value):
                return Polynomial.constant(value)
            case HostSymbol(name):
                number = self.symbols.get(name)
                if number is None:
                    return self._unknown(HostUnknown(name, f"the size {name} has no known definition"))
                return Polynomial.atom(number)
            case HostBinary(operator, left, right):
                return self._binary(expression, operator, self.read(left), self.read(right))
            case HostSelect():
                return self._select(expression)
            case HostCast(operand, type_):
                result = self.read(operand)
                if type_ is not HostType.PYTHON:
                    self.conversions.append(HostConversion(result, type_, operand))
                return result
            case HostUnknown():
                return self._unknown(expression)

    def _unknown(self, expression: HostUnknown) -> Polynomial:
        atom = self.space.new_atom(expression.text, -LARGEST_SIZE - 1, LARGEST_SIZE, of_sizes=True)
        atom.is_symbol = True
        self.space.box[atom.number] = self.space.root[atom.number] = (atom.low, atom.high)
        self.unknown[atom.number] = expression
        return Polynomial.atom(atom.number)

    def _binary(
        self, expression: HostBinary, operator: HostOperator, left: Polynomial, right: Polynomial
    ) -> Polynomial:
        match operator:
            case HostOperator.ADD:
                result = left + right
            case HostOperator.SUBTRACT:
                result = left - right
            case HostOperator.MULTIPLY:
                result = left * right
            case HostOperator.TRUNCATED_DIVIDE | HostOperator.FLOOR_DIVIDE:
                return self._divide(expression, left, right, quotient=True)
            case HostOperator.TRUNCATED_REMAINDER | HostOperator.FLOOR_REMAINDER:
                return self._divide(expression, left, right, quotient=False)
            case HostOperator.MINIMUM | HostOperator.MAXIMUM:
                return self._extreme(left, right, operator is HostOperator.MINIMUM)
            case _:
                return self._truth(left, operator, right)
        if expression.type not in (HostType.PYTHON, HostType.INT64):
            self.conversions.append(HostConversion(result, expression.type, expression))
        return result

    def _divide(self, expression: HostBinary, left: Polynomial, right: Polynomial, *, quotient: bool) -> Polynomial:
        truncated = expression.operator in (HostOperator.TRUNCATED_DIVIDE, HostOperator.TRUNCATED_REMAINDER)
        if not truncated or self.space.range_of(left)[0] >= 0 or self.space.sign_range(left)[0] >= 0:
            result = self.space.divide(left, right) if quotient else self.space.remainder(left, right)
            if result is not None:
                return result
        return self._unknown(HostUnknown("a quotient", "a division whose operands may be negative or zero"))

    def _extreme(self, left: Polynomial, right: Polynomial, least: bool) -> Polynomial:
        low, high = self.space.sign_range(left - right)
        if low >= 0 or high <= 0:
            return (right if low >= 0 else left) if least else (left if low >= 0 else right)
        return extreme_atom(self.space, left, right, least)

    def _truth(self, left: Polynomial, operator: HostOperator, right: Polynomial) -> Polynomial:
        low, high = self.space.sign_range(left - right)
        decided: bool | None = None
        if operator is HostOperator.EQUAL:
            decided = False if low > 0 or high < 0 else (True if low == high == 0 else None)
        elif operator is HostOperator.NOT_EQUAL:
            decided = True if low > 0 or high < 0 else (False if low == high == 0 else None)
        elif operator is HostOperator.LESS:
            decided = True if high < 0 else (False if low >= 0 else None)
        elif operator is HostOperator.LESS_EQUAL:
            decided = True if high <= 0 else (False if low > 0 else None)
        if decided is not None:
            return Polynomial.constant(int(decided))
        atom = self.space.new_atom("a condition", 0, 1, of_sizes=True)
        return Polynomial.atom(atom.number)

    def _select(self, expression: HostSelect) -> Polynomial:
        condition = self.read(expression.condition)
        if condition.constant_value is not None:
            return self.read(expression.if_true if condition.constant_value else expression.if_false)
        first, second = self.read(expression.if_true), self.read(expression.if_false)
        if first.constant_value == 0 and self.space.range_of(second)[0] >= 0:
            return second  # zero only where there is nothing to launch
        return extreme_atom(self.space, first, second, least=False, hull=True)


def extreme_atom(space: Space, left: Polynomial, right: Polynomial, least: bool, hull: bool = False) -> Polynomial:
    """min or max of two values as an atom; `hull`: either of them, it is not known which."""
    kind = "hull" if hull else "min" if least else "max"
    key = (frozenset((left, right)), kind)
    known = space.extremes.get(key)
    if known is not None and not hull:
        return known
    a, b = space.range_of(left), space.range_of(right)
    low = min(a[0], b[0]) if least or hull else max(a[0], b[0])
    high = max(a[1], b[1]) if not least or hull else min(a[1], b[1])
    atom = space.new_atom(f"{'min' if least else 'max'}({space.text(left)}, {space.text(right)})", low, high)
    atom.of_sizes = space.is_of_sizes(left) and space.is_of_sizes(right)
    if atom.of_sizes:
        atom.low, atom.high = -UNBOUNDED, UNBOUNDED  # the range follows the box through the bounds below
    atom.extremes = (left, right, kind)
    if not hull:
        (atom.uppers if least else atom.lowers).extend((left, right))
    result = Polynomial.atom(atom.number)
    space.extremes[key] = result
    return result


@dataclass(slots=True)
class LaunchModel:
    """One launch in polynomials over `space`. `memory`: bytes left on the device after the launch's tensors."""

    launch: Launch
    space: Space
    symbols: dict[str, int]
    steps: dict[int, tuple[int, int]]
    grid: tuple[Polynomial, Polynomial, Polynomial]
    arguments: dict[str, Polynomial]
    extents: dict[str, Polynomial]
    tensors: dict[str, Tensor]
    values: dict[str, tuple[Polynomial, Polynomial]]
    bytes_used: Polynomial
    memory: Polynomial | None
    conversions: list[HostConversion]
    unknown: dict[int, HostUnknown]
    grid_conversions: list[HostConversion] = field(default_factory=list)
    argument_conversions: list[tuple[str, HostConversion]] = field(default_factory=list)
    #: Non-negative wherever the launch happens: from the conditions around it and the guards of `torch.compile`.
    conditions: tuple[Polynomial, ...] = ()
    #: Tensors of declared values that the kernel changes itself.
    changed: set[str] = field(default_factory=set)

    def is_known(self, value: Polynomial) -> bool:
        """Is a value made of size symbols only, none of them unknown?"""
        return not (self.space.atoms_below(value) & self.unknown.keys())

    def sizes_box(self) -> dict[int, tuple[int, int]]:
        """The ranges of the size symbols (not of unknown values)."""
        return {number: self.space.box[number] for number in self.symbols.values()}

    def forget_values(self, written: Collection[str]) -> None:
        """Drop the declared values of tensors that the kernel stores into: it may load what it has stored."""
        storages = {self.tensors[name].storage for name in written if name in self.tensors}
        for name, tensor in self.tensors.items():
            if tensor.storage in storages and self.values.pop(name, None) is not None:
                self.changed.add(name)

    @property
    def symbol_names(self) -> dict[int, str]:
        return {number: name for name, number in self.symbols.items()}


def model_of(
    launch: Launch, symbols: Sequence[Symbol], ranges: Mapping[str, tuple[int, int]], device_memory: int | None
) -> LaunchModel:
    """The model of one launch; `ranges` gives each symbol's range as considered now."""
    space = Space()
    numbers: dict[str, int] = {}
    steps: dict[int, tuple[int, int]] = {}
    for symbol in symbols:
        low, high = ranges[symbol.name]
        numbers[symbol.name] = space.new_symbol(symbol.name, low, high).number
        if symbol.step != 1:
            steps[numbers[symbol.name]] = (symbol.minimum or 0, symbol.step)
    reader = HostReader(space, numbers)
    grid = tuple(reader.read(g) for g in launch.grid)
    grid_conversions, reader.conversions = reader.conversions, []
    arguments: dict[str, Polynomial] = {}
    argument_conversions: list[tuple[str, HostConversion]] = []
    tensors: dict[str, Tensor] = {}
    for argument in launch.arguments:
        match argument:
            case ScalarArgument(name, value, _):
                seen = len(reader.conversions)
                arguments[name] = reader.read(value)
                argument_conversions += [(name, conversion) for conversion in reader.conversions[seen:]]
            case TensorArgument(name, tensor):
                tensors[name] = tensor
    extents = {name: extent for name, t in tensors.items() if (extent := _extent(reader, t)) is not None}
    extents = {name: extent for name, extent in extents.items() if not extent.atoms() & reader.unknown.keys()}
    values = {
        name: (reader.read(t.values[0]), reader.read(t.values[1])) for name, t in tensors.items() if t.values is not None
    }
    conversions, reader.conversions = reader.conversions, []
    conditions = tuple(c for condition in launch.conditions for c in _upper_bounds(reader, condition))
    used = _bytes(tensors, extents)
    memory = None if device_memory is None else Polynomial.constant(device_memory) - used
    assert len(grid) == 3
    return LaunchModel(
        launch, space, numbers, steps, grid, arguments, extents, tensors, values, used, memory,
        conversions, reader.unknown, grid_conversions, argument_conversions, conditions,
    )  # fmt: skip


def _upper_bounds(reader: HostReader, condition: HostExpression) -> Iterator[Polynomial]:
    """Polynomials that are non-negative where a condition holds, for its parts of the form `sizes <= limit`: those that
    only get tighter as sizes grow, which is what the prover cuts boxes by."""
    match condition:
        case HostBinary(HostOperator.AND, left, right):
            yield from _upper_bounds(reader, left)
            yield from _upper_bounds(reader, right)
        case HostBinary(HostOperator.LESS | HostOperator.LESS_EQUAL as operator, left, right) if (
            first_unknown(condition) is None and symbols_of(condition) <= reader.symbols.keys()
        ):
            margin = reader.read(right) - reader.read(left)
            margin = margin - ONE if operator is HostOperator.LESS else margin
            space = reader.space
            with space.widest_box():
                falls = all(
                    space.atoms[n].is_symbol and space.sign_range(margin.derivative(n))[1] <= 0 for n in margin.atoms()
                )
            if falls and margin.atoms():
                yield margin


def _extent(reader: HostReader, tensor: Tensor) -> Polynomial | None:
    """Elements from the tensor's first to its last, inclusive: 1 + sum of (size - 1) * stride."""
    if tensor.sizes is None or tensor.strides is None:
        return None
    extent = ONE
    for size, stride in zip(tensor.sizes, tensor.strides, strict=True):
        extent = extent + (reader.read(size) - ONE) * reader.read(stride)
    if tensor.offset is not None:
        extent = extent + reader.read(tensor.offset)
    return extent


def _bytes(tensors: Mapping[str, Tensor], extents: Mapping[str, Polynomial]) -> Polynomial:
    """Bytes of the distinct tensors of a launch; one storage counts once, by its first argument."""
    used = Polynomial({})
    seen: set[str] = set()
    for name, tensor in tensors.items():
        if name in extents and tensor.storage not in seen:
            seen.add(tensor.storage)
            used = used + extents[name].scaled(item_bytes(tensor))
    return used


def item_bytes(tensor: Tensor) -> int:
    """Bytes of one element; 1 where the dtype is not known (the least it can be)."""
    scalar = from_signature(tensor.dtype) if tensor.dtype else None
    return scalar.item_bytes if scalar is not None and hasattr(scalar, "item_bytes") else 1
