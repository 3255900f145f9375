"""Triton's scalar types, with the widths and ranges that decide when index arithmetic wraps."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Kind(Enum):
    __hash__ = object.__hash__  # Enum's own is Python code

    SIGNED = "signed"
    UNSIGNED = "unsigned"
    FLOAT = "float"


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A Triton scalar type such as `int32`; `bits` is its width. `int1` is Kind.SIGNED with values 0 and 1."""

    name: str
    kind: Kind
    bits: int
    is_integer: bool = field(init=False, repr=False, compare=False)
    #: Smallest and largest value of an integer type.
    minimum: int = field(init=False, repr=False, compare=False)
    maximum: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        sign_bits = int(self.kind is Kind.SIGNED and self.bits > 1)
        object.__setattr__(self, "is_integer", self.kind is not Kind.FLOAT)
        object.__setattr__(self, "minimum", -sign_bits << (self.bits - 1))
        object.__setattr__(self, "maximum", (1 << (self.bits - sign_bits)) - 1)

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def item_bytes(self) -> int:
        return max(1, self.bits // 8)

    def wrap(self, value: int) -> int:
        """`value` reduced to this integer type as the hardware does: modulo 2**bits."""
        if self.bits == 1:
            return value & 1
        value &= (1 << self.bits) - 1
        return value - (1 << self.bits) if value > self.maximum else value


@dataclass(frozen=True, slots=True)
class PointerType:
    """A pointer to elements of a scalar type (`*fp32`)."""

    element: ScalarType

    @property
    def name(self) -> str:
        return f"pointer<{self.element.name}>"


ValueType = ScalarType | PointerType

INT1 = ScalarType("int1", Kind.SIGNED, 1)
INT8 = ScalarType("int8", Kind.SIGNED, 8)
INT16 = ScalarType("int16", Kind.SIGNED, 16)
INT32 = ScalarType("int32", Kind.SIGNED, 32)
INT64 = ScalarType("int64", Kind.SIGNED, 64)
UINT8 = ScalarType("uint8", Kind.UNSIGNED, 8)
UINT16 = ScalarType("uint16", Kind.UNSIGNED, 16)
UINT32 = ScalarType("uint32", Kind.UNSIGNED, 32)
UINT64 = ScalarType("uint64", Kind.UNSIGNED, 64)
FLOAT16 = ScalarType("float16", Kind.FLOAT, 16)
BFLOAT16 = ScalarType("bfloat16", Kind.FLOAT, 16)
FLOAT32 = ScalarType("float32", Kind.FLOAT, 32)
FLOAT64 = ScalarType("float64", Kind.FLOAT, 64)
FLOAT8E4NV = ScalarType("float8e4nv", Kind.FLOAT, 8)
FLOAT8E5 = ScalarType("float8e5", Kind.FLOAT, 8)
FLOAT8E4B8 = ScalarType("float8e4b8", Kind.FLOAT, 8)
FLOAT8E4B15 = ScalarType("float8e4b15", Kind.FLOAT, 8)
FLOAT8E5B16 = ScalarType("float8e5b16", Kind.FLOAT, 8)

#: Names as they appear in a kernel body (`tl.int64`).
BY_NAME = {
    scalar.name: scalar
    for scalar in (
        INT1, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, FLOAT16, BFLOAT16, FLOAT32, FLOAT64,
        FLOAT8E4NV, FLOAT8E5, FLOAT8E4B8, FLOAT8E4B15, FLOAT8E5B16,
    )
}  # fmt: skip

#: Names as they appear in a signature (`i64`, `*fp32` without the star).
BY_SIGNATURE_NAME = {
    "i1": INT1, "i8": INT8, "i16": INT16, "i32": INT32, "i64": INT64,
    "u1": INT1, "u8": UINT8, "u16": UINT16, "u32": UINT32, "u64": UINT64,
    "fp16": FLOAT16, "bf16": BFLOAT16, "fp32": FLOAT32, "f32": FLOAT32, "fp64": FLOAT64,
    "fp8e4nv": FLOAT8E4NV, "fp8e5": FLOAT8E5, "fp8e4b8": FLOAT8E4B8, "fp8e4b15": FLOAT8E4B15,
    "fp8e5b16": FLOAT8E5B16,
}  # fmt: skip


def from_signature(text: str) -> ValueType | None:
    """The type named in a kernel signature (`i32`, `*bf16`), or None when it is not a scalar or pointer type."""
    scalar = BY_SIGNATURE_NAME.get(text.lstrip("*"))
    return PointerType(scalar) if scalar and text.startswith("*") else scalar
