"""The integer operations that an index program says a kernel does, in the words of Triton's IR."""

from __future__ import annotations

from collections import Counter

from kernelscope.triton_source.index_program import (
    Binary,
    BinaryOperator,
    Cast,
    IndexProgram,
    Invert,
    Negate,
    Node,
    PointerAdd,
)
from kernelscope.triton_source.interpreter.promotion import is_unsigned
from kernelscope.triton_source.scalar_types import ScalarType

Operation = tuple[int, str, int]

_NAMES = {
    BinaryOperator.ADD: "addi", BinaryOperator.SUBTRACT: "subi", BinaryOperator.MULTIPLY: "muli",
    BinaryOperator.AND: "andi", BinaryOperator.OR: "ori", BinaryOperator.XOR: "xori",
    BinaryOperator.SHIFT_LEFT: "shli", BinaryOperator.EQUAL: "cmpi eq", BinaryOperator.NOT_EQUAL: "cmpi ne",
}  # fmt: skip
_SIGNED_NAMES = {
    BinaryOperator.FLOOR_DIVIDE: ("divsi", "divui"), BinaryOperator.REMAINDER: ("remsi", "remui"),
    BinaryOperator.SHIFT_RIGHT: ("shrsi", "shrui"), BinaryOperator.MINIMUM: ("minsi", "minui"),
    BinaryOperator.MAXIMUM: ("maxsi", "maxui"), BinaryOperator.LESS: ("cmpi slt", "cmpi ult"),
    BinaryOperator.LESS_EQUAL: ("cmpi sle", "cmpi ule"), BinaryOperator.GREATER: ("cmpi sgt", "cmpi ugt"),
    BinaryOperator.GREATER_EQUAL: ("cmpi sge", "cmpi uge"),
}  # fmt: skip


def inferred_operations(program: IndexProgram) -> Counter[Operation]:
    """Line, operation and operand width of each integer operation that Triton emits for the program."""
    result: Counter[Operation] = Counter()
    for node in program.operations:
        described = _described(node)
        if described is not None:
            result[(node.span.line, *described)] += 1
    return result


def _described(node: Node) -> tuple[str, int] | None:
    match node:
        case Binary(operator, left):
            kind = left.type
            assert isinstance(kind, ScalarType)
            if operator in _NAMES:
                return _NAMES[operator], kind.bits
            return _SIGNED_NAMES[operator][is_unsigned(kind)], kind.bits
        case Negate():
            return "subi", node.type.bits
        case Invert():
            return "xori", node.type.bits
        case Cast():
            return _described_cast(node)
        case PointerAdd(_, offset):
            return f"extui from {getattr(offset.type, 'bits', 0)}", 64
        case _:
            raise AssertionError(f"{type(node).__name__} is no integer operation")


def _described_cast(node: Cast) -> tuple[str, int] | None:
    source, target = node.operand.type, node.type
    assert isinstance(source, ScalarType) and isinstance(target, ScalarType)
    if target.bits == 1:
        return "cmpi ne", source.bits
    if target.bits == source.bits:
        return None
    if target.bits < source.bits:
        return f"trunci from {source.bits}", target.bits
    return f"{'extui' if is_unsigned(source) else 'extsi'} from {source.bits}", target.bits
