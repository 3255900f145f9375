"""Integer expressions that the host computes before a launch: sizes, strides, grids and arguments."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class HostOperator(Enum):
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
    """C integer types; PYTHON is Python's own int, which does not wrap."""

    INT32 = "int32_t"
    UINT32 = "uint32_t"
    INT64 = "int64_t"
    UINT64 = "uint64_t"
    PYTHON = "int"

    @property
    def bits(self) -> int | None:
        return _BITS[self.value]

    @property
    def signed(self) -> bool:
        return not self.value.startswith("u")


_BITS = {"int32_t": 32, "uint32_t": 32, "int64_t": 64, "uint64_t": 64, "int": None}


@dataclass(frozen=True, slots=True)
class HostConstant:
    value: int


@dataclass(frozen=True, slots=True)
class HostSymbol:
    """A size symbol (`s10`, `u0`) defined by the model's inputs or data."""

    name: str


@dataclass(frozen=True, slots=True)
class HostBinary:
    """Evaluated in 64 bits (`type` INT64) unless the C++ source makes it narrower."""

    operator: HostOperator
    left: HostExpression
    right: HostExpression
    type: HostType = HostType.INT64


@dataclass(frozen=True, slots=True)
class HostSelect:
    """`condition ? if_true : if_false`."""

    condition: HostExpression
    if_true: HostExpression
    if_false: HostExpression


@dataclass(frozen=True, slots=True)
class HostCast:
    """Assignment or cast to a C type: the value is reduced to it (`uint32_t grid_0 = …`)."""

    operand: HostExpression
    type: HostType


@dataclass(frozen=True, slots=True)
class HostUnknown:
    """An expression that is not understood; `text` is its source."""

    text: str
    reason: str


HostExpression = HostConstant | HostSymbol | HostBinary | HostSelect | HostCast | HostUnknown
