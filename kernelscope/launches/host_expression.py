"""Integer expressions that the host computes before a launch: sizes, strides, grids and arguments."""

from __future__ import annotations

from enum import Enum

from kernelscope.frozen import frozen_dataclass


class HostOperator(Enum):
    __hash__ = object.__hash__  # Enum's own is Python code

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    TRUNCATED_DIVIDE = "/"  # C's integer division: toward zero
    TRUNCATED_REMAINDER = "%"  # C's remainder: sign of the dividend
    FLOOR_DIVIDE = "//"  # c10::div_floor_integer, Python's //
    FLOOR_REMAINDER = "mod"  # Python's %
    MINIMUM = "min"
    MAXIMUM = "max"
    LESS = "<"
    LESS_EQUAL = "<="
    EQUAL = "=="
    NOT_EQUAL = "!="
    AND = "&&"
    OR = "||"


class HostType(Enum):
    """C integer types; PYTHON is Python's own int, which does not wrap and has no `bits`."""

    __hash__ = object.__hash__
    bits: int | None
    signed: bool

    INT32 = "int32_t"
    UINT32 = "uint32_t"
    INT64 = "int64_t"
    UINT64 = "uint64_t"
    PYTHON = "int"

    def __init__(self, c_name: str) -> None:
        self.bits = None if c_name == "int" else 64 if "64" in c_name else 32
        self.signed = not c_name.startswith("u")


@frozen_dataclass(frozen=True, slots=True)
class HostConstant:
    value: int


@frozen_dataclass(frozen=True, slots=True)
class HostSymbol:
    """A size symbol (`s10`, `u0`) defined by the model's inputs or data."""

    name: str


@frozen_dataclass(frozen=True, slots=True)
class HostBinary:
    """Evaluated in 64 bits (`type` INT64) unless the C++ source makes it narrower."""

    operator: HostOperator
    left: HostExpression
    right: HostExpression
    type: HostType = HostType.INT64


@frozen_dataclass(frozen=True, slots=True)
class HostSelect:
    """`condition ? if_true : if_false`."""

    condition: HostExpression
    if_true: HostExpression
    if_false: HostExpression


@frozen_dataclass(frozen=True, slots=True)
class HostCast:
    """Assignment or cast to a C type: the value is reduced to it (`uint32_t grid_0 = …`)."""

    operand: HostExpression
    type: HostType


@frozen_dataclass(frozen=True, slots=True)
class HostUnknown:
    """An expression that is not understood; `text` is its source."""

    text: str
    reason: str


HostExpression = HostConstant | HostSymbol | HostBinary | HostSelect | HostCast | HostUnknown
