"""One program at one point, evaluated twice: exactly, and as the hardware does with wrapping arithmetic."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kernelscope.triton_source.index_program import (
    Absolute,
    Arange,
    Argument,
    Binary,
    BinaryOperator,
    Broadcast,
    Carried,
    Cast,
    Constant,
    ExpandDims,
    IndexProgram,
    Invert,
    Loaded,
    LoopCounter,
    Negate,
    Node,
    NumPrograms,
    Permute,
    PointerAdd,
    ProgramId,
    Where,
)
from kernelscope.triton_source.scalar_types import INT64, ScalarType

Lanes = tuple[int, ...]


class NotEvaluable(Exception):
    """The node's value cannot be computed at a point (a float, an opaque value)."""


class Undefined(NotEvaluable):
    """The exact program itself has no value here: it divides by zero."""


@dataclass(frozen=True, slots=True)
class Point:
    """Where a program is evaluated. `arguments`: exact values before any narrowing. `machine_arguments`: as they arrive.
    `iterations`: iteration number (from 0) of each running loop. `loaded`: value of each load, by access index."""

    program_id: tuple[int, int, int]
    num_programs: tuple[int, int, int]
    arguments: Mapping[str, int]
    machine_arguments: Mapping[str, int]
    iterations: Mapping[int, int]
    loaded: Mapping[int, int]


class PointEvaluator:
    """Values at a point; `wrapping` chooses the hardware's arithmetic."""

    def __init__(self, program: IndexProgram, point: Point, *, wrapping: bool) -> None:
        self.program = program
        self.point = point
        self.wrapping = wrapping
        self._known: dict[tuple[int, Lanes], int] = {}

    def value(self, node: Node, lanes: Lanes) -> int:
        """The integer value of a node at lane coordinates; raises NotEvaluable."""
        key = (id(node), lanes)
        value = self._known.get(key)
        if value is None:
            compute = _COMPUTE.get(type(node))
            if compute is None:
                raise NotEvaluable(type(node).__name__)
            value = compute(self, node, lanes)
            if self.wrapping and isinstance(node.type, ScalarType) and node.type.is_integer:
                value = node.type.wrap(value)
            self._known[key] = value
        return value

    def offset(self, node: Node, lanes: Lanes) -> int:
        """Offset of a pointer from its base argument, in elements."""
        match node:
            case PointerAdd(pointer, offset):
                return self._in_64_bits(self.offset(pointer, lanes) + self.value(offset, lanes))
            case Argument():
                return 0
            case ExpandDims() | Broadcast() | Permute():
                return self.offset(node.operand, inner_lanes(node, lanes))
            case Cast():
                return self._cast_offset(node, lanes)
            case Where(condition, if_true, if_false):
                return self.offset(if_true if self.value(condition, lanes) else if_false, lanes)
            case Carried(loop, _, initial, step):
                count = self._carried_count(node, loop)
                return self._in_64_bits(
                    self.offset(initial, lanes) + self.value(step, lanes[: len(step.shape)]) * count
                )
            case _:
                raise NotEvaluable(type(node).__name__)

    def _in_64_bits(self, value: int) -> int:
        return INT64.wrap(value) if self.wrapping else value

    def _cast_offset(self, node: Cast, lanes: Lanes) -> int:
        before, after = getattr(node.operand.type, "element", None), getattr(node.type, "element", None)
        if before is None or after is None:
            raise NotEvaluable("pointer cast")
        total = self.offset(node.operand, lanes)
        if before.item_bytes == after.item_bytes:
            return total
        if total * before.item_bytes % after.item_bytes:
            raise NotEvaluable("misaligned pointer cast")
        return int(total * before.item_bytes // after.item_bytes)

    def _carried_count(self, node: Carried, loop: int) -> int:
        if not node.after:
            return self._iteration(loop)
        header = self.program.loops[loop]
        if header.start is None or header.end is None or header.step is None:
            raise NotEvaluable("while loop")
        start, end, step = (self.value(n, ()) for n in (header.start, header.end, header.step))
        if step == 0 or (step < 0 and not header.counts_down):
            raise NotEvaluable("a loop that does not come nearer to its end")
        return max(0, -((start - end) // step))

    def _iteration(self, loop: int) -> int:
        if loop not in self.point.iterations:
            raise NotEvaluable("a loop that is not running")
        return self.point.iterations[loop]

    def _constant(self, node: Constant, lanes: Lanes) -> int:
        if not isinstance(node.value, int):
            raise NotEvaluable("float")
        return int(node.value)

    def _argument(self, node: Argument, lanes: Lanes) -> int:
        values = self.point.machine_arguments if self.wrapping else self.point.arguments
        if node.name not in values:
            raise NotEvaluable(node.name)
        return values[node.name]

    def _program_id(self, node: ProgramId, lanes: Lanes) -> int:
        return self.point.program_id[node.axis]

    def _num_programs(self, node: NumPrograms, lanes: Lanes) -> int:
        return self.point.num_programs[node.axis]

    def _arange(self, node: Arange, lanes: Lanes) -> int:
        return node.start + lanes[0]

    def _shaped(self, node: ExpandDims | Broadcast | Permute, lanes: Lanes) -> int:
        return self.value(node.operand, inner_lanes(node, lanes))

    def _negate(self, node: Negate, lanes: Lanes) -> int:
        return -self.value(node.operand, lanes)

    def _invert(self, node: Invert, lanes: Lanes) -> int:
        value = self.value(node.operand, lanes)
        return 1 - value if node.type.bits == 1 else ~value

    def _absolute(self, node: Absolute, lanes: Lanes) -> int:
        return abs(self.value(node.operand, lanes))

    def _where(self, node: Where, lanes: Lanes) -> int:
        return self.value(node.if_true if self.value(node.condition, lanes) else node.if_false, lanes)

    def _loop_counter(self, node: LoopCounter, lanes: Lanes) -> int:
        header = self.program.loops[node.loop]
        if header.start is None or header.step is None:
            raise NotEvaluable("while loop")
        return self.value(header.start, ()) + self.value(header.step, ()) * self._iteration(node.loop)

    def _carried(self, node: Carried, lanes: Lanes) -> int:
        first = self.value(node.initial, lanes[: len(node.initial.shape)])
        return first + self.value(node.step, lanes[: len(node.step.shape)]) * self._carried_count(node, node.loop)

    def _loaded(self, node: Loaded, lanes: Lanes) -> int:
        access = node.access
        source = self.program.accesses[access]
        if source.mask is not None and source.other is not None and not self.value(source.mask, lanes):
            return self.value(source.other, lanes)
        if access not in self.point.loaded:
            raise NotEvaluable("loaded value")
        return self.point.loaded[access]

    def _cast(self, node: Cast, lanes: Lanes) -> int:
        operand, source, target = node.operand, node.operand.type, node.type
        if not isinstance(source, ScalarType) or not source.is_integer:
            raise NotEvaluable("float")
        if not isinstance(target, ScalarType) or not target.is_integer:
            raise NotEvaluable("float")
        value = self.value(operand, lanes)
        return int(value != 0) if target.bits == 1 and source.bits > 1 else value

    def _binary(self, node: Binary, lanes: Lanes) -> int:
        operand_type = node.left.type
        if not isinstance(operand_type, ScalarType) or not operand_type.is_integer:
            raise NotEvaluable("float")
        left, right = self.value(node.left, lanes), self.value(node.right, lanes)
        return apply(node.operator, left, right, operand_type)


#: How the value of each kind of node is computed from those of its operands.
_COMPUTE: dict[type, Callable[[PointEvaluator, Any, Lanes], int]] = {
    Constant: PointEvaluator._constant,
    Argument: PointEvaluator._argument,
    ProgramId: PointEvaluator._program_id,
    NumPrograms: PointEvaluator._num_programs,
    Arange: PointEvaluator._arange,
    ExpandDims: PointEvaluator._shaped,
    Broadcast: PointEvaluator._shaped,
    Permute: PointEvaluator._shaped,
    Binary: PointEvaluator._binary,
    Cast: PointEvaluator._cast,
    Negate: PointEvaluator._negate,
    Invert: PointEvaluator._invert,
    Absolute: PointEvaluator._absolute,
    Where: PointEvaluator._where,
    Loaded: PointEvaluator._loaded,
    LoopCounter: PointEvaluator._loop_counter,
    Carried: PointEvaluator._carried,
}


def apply(kind: BinaryOperator, left: int, right: int, type_: ScalarType) -> int:
    """The result of an integer operation on two values, before any wrapping."""
    operation = _OPERATIONS.get(kind)
    if operation is not None:
        return int(operation(left, right))
    match kind:
        case BinaryOperator.FLOOR_DIVIDE | BinaryOperator.REMAINDER:
            if right == 0:
                raise Undefined("division by zero")
            quotient = abs(left) // abs(right) * (1 if (left >= 0) == (right > 0) else -1)
            return quotient if kind is BinaryOperator.FLOOR_DIVIDE else left - quotient * right
        case BinaryOperator.SHIFT_LEFT | BinaryOperator.SHIFT_RIGHT:
            if not 0 <= right < type_.bits:
                raise NotEvaluable("shift")
            return left << right if kind is BinaryOperator.SHIFT_LEFT else left >> right
        case _:
            raise NotEvaluable(kind.value)


#: Operations that have a value whatever their operands are.
_OPERATIONS: dict[BinaryOperator, Callable[[int, int], int]] = {
    BinaryOperator.ADD: operator.add,
    BinaryOperator.SUBTRACT: operator.sub,
    BinaryOperator.MULTIPLY: operator.mul,
    BinaryOperator.AND: operator.and_,
    BinaryOperator.OR: operator.or_,
    BinaryOperator.XOR: operator.xor,
    BinaryOperator.MINIMUM: min,
    BinaryOperator.MAXIMUM: max,
    BinaryOperator.LESS: operator.lt,
    BinaryOperator.LESS_EQUAL: operator.le,
    BinaryOperator.GREATER: operator.gt,
    BinaryOperator.GREATER_EQUAL: operator.ge,
    BinaryOperator.EQUAL: operator.eq,
    BinaryOperator.NOT_EQUAL: operator.ne,
}


def inner_lanes(node: ExpandDims | Broadcast | Permute, lanes: Lanes) -> Lanes:
    """Lane coordinates at which the operand of a shape operation is read."""
    match node:
        case ExpandDims(_, axis):
            return lanes[:axis] + lanes[axis + 1 :]
        case Permute(_, order):
            inner = [0] * len(order)
            for position, axis in enumerate(order):
                inner[axis] = lanes[position]
            return tuple(inner)
        case Broadcast(operand):
            if not operand.shape:
                return ()
            return tuple(0 if extent == 1 else lane for extent, lane in zip(operand.shape, lanes, strict=True))
