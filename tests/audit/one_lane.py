"""Runs a kernel's own Python text at one program, lane and iteration, twice: with exact integers and as the hardware does.

It shares nothing with the audit: `tl` is replaced by a few classes that know Triton's widths, and Python does the rest."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kernelscope.audit.results import KernelResult, Witness
from kernelscope.launches.host_arithmetic import evaluate
from kernelscope.launches.launch import Launch, ScalarArgument, TensorArgument

_BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}


class Data:
    """A value that is not an index; everything made of it is data as well."""

    def _data(self, *_: Any, **__: Any) -> Data:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __mod__ = __neg__ = _data
    __lt__ = __le__ = __gt__ = __ge__ = __and__ = __rand__ = __or__ = __ror__ = __invert__ = __getitem__ = to = _data
    __eq__ = __ne__ = __floordiv__ = __rshift__ = __lshift__ = __xor__ = _data  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, _: str) -> Data:
        return self

    def __call__(self, *_: Any, **__: Any) -> Data:
        return self

    def __iter__(self) -> Iterator[Data]:
        return iter((self, self))


DATA = Data()


def _truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@dataclass(frozen=True, eq=False)
class Number:
    """An integer of Triton's; `exact` numbers never wrap."""

    value: int
    bits: int
    exact: bool

    def _with(self, other: Any, compute: Callable[[int, int], int], swapped: bool = False) -> Any:
        if isinstance(other, (Data, float)):
            return DATA
        if isinstance(other, Pointer):
            return other + self
        value, bits = (other.value, max(self.bits, other.bits)) if isinstance(other, Number) else (int(other), self.bits)
        first, second = (value, self.value) if swapped else (self.value, value)
        return make(compute(first, second), bits, self.exact)

    def _compared(self, other: Any, compute: Callable[[int, int], bool]) -> Any:
        result = self._with(other, compute)
        return Number(result.value, 1, self.exact) if isinstance(result, Number) else result

    def __add__(self, other: Any) -> Any:
        return self._with(other, operator.add)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._with(other, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, operator.sub, swapped=True)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, operator.mul)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        return self._with(other, _truncated)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._with(other, _truncated, swapped=True)

    def __bool__(self) -> bool:
        return self.value != 0

    def __mod__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a - b * _truncated(a, b))

    def __truediv__(self, _: Any) -> Any:
        return DATA

    def __neg__(self) -> Any:
        return make(-self.value, self.bits, self.exact)

    def __and__(self, other: Any) -> Any:
        return self._with(other, operator.and_)

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        return self._with(other, operator.or_)

    def __invert__(self) -> Any:
        return Number(1 - self.value, 1, self.exact) if self.bits == 1 else make(~self.value, self.bits, self.exact)

    def __lt__(self, other: Any) -> Any:
        return self._compared(other, operator.lt)

    def __le__(self, other: Any) -> Any:
        return self._compared(other, operator.le)

    def __gt__(self, other: Any) -> Any:
        return self._compared(other, operator.gt)

    def __ge__(self, other: Any) -> Any:
        return self._compared(other, operator.ge)

    def __eq__(self, other: Any) -> Any:
        return self._compared(other, operator.eq)

    def __ne__(self, other: Any) -> Any:
        return self._compared(other, operator.ne)

    def __getitem__(self, _: Any) -> Any:
        return self

    def to(self, name: Any) -> Any:
        bits = _BITS.get(str(name).replace("nt", ""))
        return DATA if bits is None else make(self.value, bits, self.exact)


def make(value: int, bits: int, exact: bool) -> Number:
    if not exact and bits > 1:
        value = (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
    return Number(value, bits, exact)


@dataclass(frozen=True, eq=False)
class Pointer:
    """A kernel argument plus an offset, which is 64 bits wide."""

    name: str
    offset: int = 0

    def __add__(self, other: Any) -> Any:
        return other if isinstance(other, Data) else Pointer(self.name, self.offset + int(getattr(other, "value", other)))

    __radd__ = __add__

    def to(self, *_: Any, **__: Any) -> Pointer:
        return self


@dataclass(frozen=True, eq=False)
class _Arange(Number):
    """`tl.arange`: the lane's coordinate on the axis that the subscript leaves."""

    lane: tuple[int, ...] = ()

    def __getitem__(self, subscript: Any) -> Number:
        parts = subscript if isinstance(subscript, tuple) else (subscript,)
        axis = next(i for i, part in enumerate(parts) if part is not None)
        return Number(self.lane[axis] if axis < len(self.lane) else 0, 32, self.exact)


@dataclass
class Language:
    """`tl`, with what the kernel did at this lane: (pointer, offset) of each live access, None where it is masked off."""

    witness: Witness
    grid: tuple[int, int, int]
    exact: bool
    loops: list[str]
    seen: list[tuple[str, int] | None] = field(default_factory=list)
    bounds: list[tuple[int, ...]] = field(default_factory=list)

    def program_id(self, axis: int) -> Number:
        return Number(self.witness.program_id[axis], 32, self.exact)

    def num_programs(self, axis: int) -> Number:
        return Number(self.grid[axis], 32, self.exact)

    def arange(self, _: int, __: int) -> _Arange:
        lane = self.witness.lane
        return _Arange(lane[0] if lane else 0, 32, self.exact, lane)

    def range(self, *ends: Any, **_: Any) -> Iterator[Number]:
        values = [int(getattr(end, "value", end)) for end in ends]
        self.bounds.append(tuple(values))
        start = values[0] if len(values) > 1 else 0
        yield Number(self.witness.loop.get(self.loops.pop(0), start), 32, self.exact)

    def full(self, _: Any, value: Any, dtype: Any) -> Any:
        if isinstance(value, bool):
            return Number(int(value), 1, self.exact)
        if isinstance(value, int):
            value = Number(value, 64, self.exact)
        return value.to(dtype) if isinstance(value, Number) else DATA

    def load(self, pointer: Any, mask: Any = None, **_: Any) -> Any:
        self._access(pointer, mask)
        value = self.witness.loaded.get(pointer.name) if isinstance(pointer, Pointer) else None
        return DATA if value is None else Number(value, 64, self.exact)

    def store(self, pointer: Any, _: Any, mask: Any = None, **__: Any) -> None:
        self._access(pointer, mask)

    def atomic_add(self, pointer: Any, _: Any, mask: Any = None, **__: Any) -> Any:
        self._access(pointer, mask)
        return DATA

    def _access(self, pointer: Any, mask: Any) -> None:
        live = mask is None or not isinstance(mask, Number) or bool(mask.value)
        self.seen.append((pointer.name, pointer.offset) if live and isinstance(pointer, Pointer) else None)

    def broadcast_to(self, value: Any, *_: Any) -> Any:
        return value

    def where(self, condition: Any, if_true: Any, if_false: Any) -> Any:
        return (if_true if condition.value else if_false) if isinstance(condition, Number) else DATA

    def cdiv(self, a: Any, b: Any) -> Any:
        return DATA if isinstance(a, Data) else (a + b - 1) // b

    def minimum(self, a: Any, b: Any, *_: Any) -> Any:
        return DATA if isinstance(a < b, Data) else a if a < b else b

    def maximum(self, a: Any, b: Any, *_: Any) -> Any:
        return DATA if isinstance(a < b, Data) else b if a < b else a

    def multiple_of(self, value: Any, _: Any) -> Any:
        return value

    max_contiguous = max_constancy = multiple_of

    def swizzle2d(self, i: Any, j: Any, size_i: Any, size_j: Any, group: Any) -> tuple[Any, Any]:
        flat = i * size_j + j
        first = flat // (group * size_j) * group
        rows = self.minimum(size_i - first, group)
        inside = flat % (group * size_j)
        return first + inside % rows, inside // rows

    def device_assert(self, *_: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return name if name.startswith(("int", "float", "bfloat", "uint")) else DATA


class Helpers:
    """`triton_helpers`: Welford functions give three values; a pointer given to any is accessed by it."""

    def __init__(self, language: Language) -> None:
        self.language = language

    def __getattr__(self, name: str) -> Any:
        def helper(*given: Any, **_: Any) -> Any:
            for pointer in given:
                if isinstance(pointer, Pointer):
                    self.language.seen.append((pointer.name, pointer.offset))
            return (DATA, DATA, DATA) if name.startswith("welford") else DATA

        return helper


def run(kernel: KernelResult, launch: Launch, witness: Witness, *, exact: bool) -> Language:
    """What the kernel does at the witness, in exact or in machine arithmetic."""
    assert kernel.source is not None
    tree = ast.parse(kernel.source.text)
    name = launch.kernel
    (function,) = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name]
    function.decorator_list = []
    for argument in function.args.args:
        argument.annotation = None
    loops = [n.target.id for n in ast.walk(function) if isinstance(n, ast.For) and isinstance(n.target, ast.Name)]
    language = Language(witness, grid_of(launch, witness), exact, loops)
    values: dict[str, Any] = {"XBLOCK": 1, "YBLOCK": 1, "R0_BLOCK": 2048, "R1_BLOCK": 1, **launch.constexprs}
    for argument in launch.arguments:
        values[argument.name] = _argument(argument, launch, witness.symbols, exact)
    scope: dict[str, Any] = {}
    scope |= {"tl": language, "range": language.range}
    scope |= dict.fromkeys(("libdevice", "tl_math", "triton"), DATA) | {"triton_helpers": Helpers(language)}
    scope["min"] = language.minimum
    helpers = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n is not function]
    for helper in helpers:
        helper.decorator_list = []
        for argument in helper.args.args:
            argument.annotation = None
    exec(compile(ast.Module([*helpers, function], []), kernel.source.file, "exec"), scope)
    scope[name](**{a.arg: values[a.arg] for a in function.args.args})
    return language


def grid_of(launch: Launch, witness: Witness) -> tuple[int, int, int]:
    x, y, z = (evaluate(dimension, witness.symbols) for dimension in launch.grid)
    return x, y, z


def _argument(argument: Any, launch: Launch, sizes: Mapping[str, int], exact: bool) -> Any:
    if isinstance(argument, TensorArgument):
        return Pointer(argument.name)
    assert isinstance(argument, ScalarArgument)
    bits = _BITS[launch.types.get(argument.name, "i64")]
    narrowest = min(bits, argument.c_type.bits or 64) if argument.c_type is not None else bits
    value = make(evaluate(argument.value, sizes), narrowest, exact).value
    return Number(value, bits, exact)
