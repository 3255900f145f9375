"""Index expressions as Python source, exact or wrapping to the width of every node."""

from __future__ import annotations

from collections.abc import Iterable
from types import CodeType

from kernelscope.triton_source import index_program as ip
from kernelscope.triton_source.scalar_types import Kind, ScalarType

_SYMBOLS = {
    ip.BinaryOperator.ADD: "({} + {})", ip.BinaryOperator.SUBTRACT: "({} - {})",
    ip.BinaryOperator.MULTIPLY: "({} * {})",
    ip.BinaryOperator.FLOOR_DIVIDE: "quotient({}, {})", ip.BinaryOperator.REMAINDER: "remainder({}, {})",
    ip.BinaryOperator.AND: "({} & {})", ip.BinaryOperator.OR: "({} | {})", ip.BinaryOperator.XOR: "({} ^ {})",
    ip.BinaryOperator.SHIFT_LEFT: "({} << {})", ip.BinaryOperator.SHIFT_RIGHT: "({} >> {})",
    ip.BinaryOperator.MINIMUM: "min({}, {})", ip.BinaryOperator.MAXIMUM: "max({}, {})",
    ip.BinaryOperator.LESS: "({} < {})", ip.BinaryOperator.LESS_EQUAL: "({} <= {})",
    ip.BinaryOperator.GREATER: "({} > {})", ip.BinaryOperator.GREATER_EQUAL: "({} >= {})",
    ip.BinaryOperator.EQUAL: "({} == {})", ip.BinaryOperator.NOT_EQUAL: "({} != {})",
}  # fmt: skip


class Undefined(Exception):
    """A division by zero: no value is right."""


def helpers() -> dict[str, object]:
    """The names that compiled expressions use."""
    return {"quotient": _quotient, "remainder": _remainder, "trips": _trips, "min": min, "max": max, "abs": abs}


def _quotient(a: int, b: int) -> int:
    if b == 0:
        raise Undefined
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int:
    return a - b * _quotient(a, b)


def _trips(start: int, end: int, step: int) -> int:
    if step == 0:
        raise Undefined
    return len(range(start, end, step))


def code_of(
    program: ip.IndexProgram, node: ip.Node, lanes: tuple[str, ...], wrapping: bool, pointer: bool = False
) -> CodeType:
    """A node compiled; `lanes` names its coordinates. `pointer`: the offset of a pointer from its base."""
    writer = _Writer(program, wrapping)
    text = writer.offset(node, lanes) if pointer else writer.value(node, lanes)
    return compile(text, "<node>", "eval")


def agreement_code(program: ip.IndexProgram, access: ip.Access, lanes: tuple[str, ...]) -> CodeType:
    """One expression that is true where nothing can differ at a lane of an access: the common case, tested fast."""
    exact, machine = _Writer(program, False), _Writer(program, True)
    live = [" and ".join(_conditions(writer, access, lanes)) or "True" for writer in (exact, machine)]
    same = f"{exact.offset(access.pointer, lanes)} == {machine.offset(access.pointer, lanes)}"
    if access.value is not None and isinstance(access.value.type, ScalarType) and access.value.type.is_integer:
        same += f" and {exact.value(access.value, lanes)} == {machine.value(access.value, lanes)}"
    return compile(f"({same}) if ({live[0]}) and ({live[1]}) else not (({live[0]}) or ({live[1]}))", "<lane>", "eval")


def _conditions(writer: _Writer, access: ip.Access, lanes: tuple[str, ...]) -> list[str]:
    conditions = [writer.value(guard, ()) for guard in access.guards]
    return conditions if access.mask is None else [*conditions, writer.value(access.mask, lanes)]


class _Writer:
    def __init__(self, program: ip.IndexProgram, wrapping: bool) -> None:
        self.program = program
        self.wrapping = wrapping

    def value(self, node: ip.Node, lanes: tuple[str, ...]) -> str:
        return self._wrapped(self._plain(node, lanes), node.type)

    def _wrapped(self, text: str, type_: object) -> str:
        if not self.wrapping or not isinstance(type_, ScalarType) or type_.kind is Kind.FLOAT:
            return text
        if type_.bits == 1:
            return f"(({text}) & 1)"
        mask = (1 << type_.bits) - 1
        if type_.kind is Kind.UNSIGNED:
            return f"(({text}) & {mask})"
        half = 1 << (type_.bits - 1)
        return f"(((({text}) + {half}) & {mask}) - {half})"

    def _plain(self, node: ip.Node, lanes: tuple[str, ...]) -> str:
        match node:
            case ip.Constant(value):
                return f"({int(value)})"
            case ip.Argument(name):
                return f"m_{name}" if self.wrapping else f"a_{name}"
            case ip.ProgramId(axis):
                return f"p{axis}"
            case ip.NumPrograms(axis):
                return f"n{axis}"
            case ip.Arange(start):
                return f"({start} + {lanes[0]})"
            case ip.Loaded(access):
                return f"v{access}"
            case ip.Binary(operator, left, right):
                return _SYMBOLS[operator].format(self.value(left, lanes), self.value(right, lanes))
            case ip.Negate(operand):
                return f"(-{self.value(operand, lanes)})"
            case ip.Absolute(operand):
                return f"abs({self.value(operand, lanes)})"
            case ip.Invert(operand, type_):
                inner = self.value(operand, lanes)
                return f"(1 - {inner})" if type_.bits == 1 else f"(~{inner})"
            case ip.Cast(operand, type_):
                inner = self.value(operand, lanes)
                return f"({inner} != 0)" if isinstance(type_, ScalarType) and type_.bits == 1 else inner
            case ip.Where(condition, if_true, if_false):
                return self._where(condition, self.value(if_true, lanes), self.value(if_false, lanes), lanes)
            case ip.ExpandDims() | ip.Broadcast() | ip.Permute():
                return self.value(node.operand, _inner(node, lanes))
            case ip.LoopCounter(loop):
                start, _, step = self._bounds(loop)
                return f"({start} + {step} * k{loop})"
            case ip.Carried(_, _, initial, step):
                first = self.value(initial, lanes[: len(initial.shape)])
                return f"({first} + {self.value(step, lanes[: len(step.shape)])} * {self._count(node)})"
            case _:
                raise AssertionError(type(node).__name__)

    def _where(self, condition: ip.Node, if_true: str, if_false: str, lanes: tuple[str, ...]) -> str:
        return f"({if_true} if {self.value(condition, lanes)} else {if_false})"

    def _bounds(self, loop: int) -> tuple[str, str, str]:
        header = self.program.loops[loop]
        assert header.start is not None and header.end is not None and header.step is not None
        return self.value(header.start, ()), self.value(header.end, ()), self.value(header.step, ())

    def _count(self, node: ip.Carried) -> str:
        return "trips({}, {}, {})".format(*self._bounds(node.loop)) if node.after else f"k{node.loop}"

    def offset(self, node: ip.Node, lanes: tuple[str, ...]) -> str:
        """The offset of a pointer; sums of offsets are formed in 64 bits, which no narrow program reaches."""
        match node:
            case ip.Argument():
                return "0"
            case ip.PointerAdd(pointer, offset):
                return f"({self.offset(pointer, lanes)} + {self.value(offset, lanes)})"
            case ip.ExpandDims() | ip.Broadcast() | ip.Permute():
                return self.offset(node.operand, _inner(node, lanes))
            case ip.Where(condition, if_true, if_false):
                return self._where(condition, self.offset(if_true, lanes), self.offset(if_false, lanes), lanes)
            case ip.Carried(_, _, initial, step):
                first = self.offset(initial, lanes[: len(initial.shape)])
                return f"({first} + {self.value(step, lanes[: len(step.shape)])} * {self._count(node)})"
            case _:
                raise AssertionError(type(node).__name__)


def _inner(node: ip.ExpandDims | ip.Broadcast | ip.Permute, lanes: tuple[str, ...]) -> tuple[str, ...]:
    match node:
        case ip.ExpandDims(_, axis):
            return lanes[:axis] + lanes[axis + 1 :]
        case ip.Permute(_, order):
            return tuple(lanes[order.index(axis)] for axis in range(len(order)))
        case ip.Broadcast(operand):
            pairs = zip(operand.shape, lanes, strict=False)
            return tuple("0" if extent == 1 else lane for extent, lane in pairs)


def loads_below(roots: Iterable[ip.Node]) -> set[int]:
    """Accesses whose loaded values the roots depend on."""
    found: set[int] = set()
    waiting, seen = list(roots), set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, ip.Loaded):
            found.add(node.access)
        waiting.extend(_children(node))
    return found


def _children(node: ip.Node) -> list[ip.Node]:
    names = ("operand", "left", "right", "condition", "if_true", "if_false", "pointer", "offset", "initial", "step")
    return [child for name in names if (child := getattr(node, name, None)) is not None]
