"""Arithmetic on compile-time values, as triton's constexpr does it (Python's own), with bounded work."""

from __future__ import annotations

import ast
import operator as python
from collections.abc import Callable

from kernelscope.kernel_reader.arithmetic import NotUnderstood
from kernelscope.triton_source.scalar_types import Kind, ScalarType
from kernelscope.kernel_reader.values import Function, Items, Static, Value

BUILTINS = frozenset(
    {"range", "min", "max", "abs", "len", "int", "float", "bool", "isinstance", "tuple", "print", "str", "round", "sum"}
)
_LARGEST_BITS = 4096

_BINARY: dict[type[ast.operator], Callable[[object, object], object]] = {
    ast.Add: python.add, ast.Sub: python.sub, ast.Mult: python.mul, ast.FloorDiv: python.floordiv,
    ast.Mod: python.mod, ast.Div: python.truediv, ast.BitAnd: python.and_, ast.BitOr: python.or_,
    ast.BitXor: python.xor, ast.LShift: python.lshift, ast.RShift: python.rshift, ast.Pow: python.pow,
}  # type: ignore[dict-item]  # fmt: skip
_COMPARE: dict[type[ast.cmpop], Callable[[object, object], bool]] = {
    ast.Lt: python.lt, ast.LtE: python.le, ast.Gt: python.gt, ast.GtE: python.ge, ast.Eq: python.eq,
    ast.NotEq: python.ne, ast.Is: python.is_, ast.IsNot: python.is_not,
}  # type: ignore[dict-item]  # fmt: skip


def operate(operator: ast.operator, left: Static, right: Static) -> Value:
    """The result on two compile-time values."""
    a, b = left.value, right.value
    action = _BINARY.get(type(operator))
    if action is None or not _bounded(operator, a, b):
        raise NotUnderstood("constexpr arithmetic that is not followed")
    try:
        return Static(action(a, b))
    except (TypeError, ValueError, ArithmeticError) as error:
        raise NotUnderstood(f"constexpr arithmetic: {error}") from error


def _bounded(operator: ast.operator, a: object, b: object) -> bool:
    if isinstance(a, str) or isinstance(b, str):
        return isinstance(operator, ast.Add)
    if isinstance(operator, ast.LShift):
        return isinstance(a, int) and isinstance(b, int) and a.bit_length() + b < _LARGEST_BITS
    if isinstance(operator, ast.Pow):
        small = isinstance(b, int) and isinstance(a, int) and abs(a).bit_length() * abs(b) < _LARGEST_BITS
        return small or isinstance(a, float) or isinstance(b, float)
    if isinstance(operator, ast.Mult) and isinstance(a, int) and isinstance(b, int):
        return a.bit_length() + b.bit_length() < _LARGEST_BITS
    return isinstance(a, bool | int | float) and isinstance(b, bool | int | float)


def unary(operator: ast.unaryop, operand: Static) -> Value:
    value = operand.value
    if isinstance(operator, ast.Not):
        return Static(not value)
    if not isinstance(value, bool | int | float):
        raise NotUnderstood("a sign on something that is no number")
    if isinstance(operator, ast.USub):
        return Static(-value)
    if isinstance(operator, ast.Invert) and isinstance(value, int):
        return Static(~value)
    return operand


def compare(operator: ast.cmpop, left: Value, right: Value) -> Value:
    """A comparison of compile-time values."""
    if isinstance(operator, ast.In | ast.NotIn) and isinstance(right, Items):
        return Static((left in right.items) is isinstance(operator, ast.In))
    a = left.value if isinstance(left, Static) else left
    b = right.value if isinstance(right, Static) else right
    action = _COMPARE.get(type(operator))
    if action is None:
        raise NotUnderstood(f"the comparison {type(operator).__name__.lower()}")
    try:
        return Static(bool(action(a, b)))
    except TypeError as error:
        raise NotUnderstood(f"a constexpr comparison: {error}") from error


def dtype_attribute(kind: object, name: str) -> Value | None:
    """`tl.float32.primitive_bitwidth` and alike."""
    if not isinstance(kind, ScalarType):
        return None
    match name:
        case "primitive_bitwidth" | "int_bitwidth" | "itemsize":
            return Static(kind.bits // 8 if name == "itemsize" else kind.bits)
        case "name":
            return Static(kind.name)
        case _:
            return None


def dtype_query(kind: object, name: str) -> Value | None:
    """`tl.float32.is_floating()` and alike."""
    if not isinstance(kind, ScalarType):
        return None
    answers: dict[str, bool] = {
        "is_floating": not kind.is_integer,
        "is_int": kind.is_integer,
        "is_int_signed": kind.kind is Kind.SIGNED,
        "is_int_unsigned": kind.kind is Kind.UNSIGNED,
        "is_bool": kind.bits == 1,
        "is_fp16": kind.name == "float16",
        "is_bf16": kind.name == "bfloat16",
        "is_fp32": kind.name == "float32",
        "is_fp64": kind.name == "float64",
        "is_fp8": kind.name.startswith("float8"),
        "is_ptr": False,
        "is_block": False,
        **{f"is_{t}": kind.name == t for t in ("int1", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")},
    }
    return Static(answers[name]) if name in answers else None


def python_builtin(name: str, arguments: list[Value]) -> Value | None:
    """min, max, abs, len, int and alike on compile-time values; None when an argument is none."""
    if name == "len" and len(arguments) == 1 and isinstance(arguments[0], Items):
        return Static(len(arguments[0].items))
    if name == "isinstance":
        return Static(not isinstance(arguments[0], Static | Items | Function)) if arguments else None
    values = [a.value for a in arguments if isinstance(a, Static)]
    if name == "float" and len(values) == 1 and isinstance(values[0], str) and values[0] in ("inf", "-inf", "nan", "+inf"):
        return Static(float(values[0]))
    if len(values) != len(arguments) or not all(isinstance(v, bool | int | float) for v in values):
        return None
    actions: dict[str, Callable[..., object]] = {
        "min": min, "max": max, "abs": abs, "int": int, "float": float, "bool": bool, "round": round,
    }  # fmt: skip
    if name not in actions or not values:
        return None
    try:
        return Static(actions[name](*values))
    except (TypeError, ValueError, OverflowError) as error:
        raise NotUnderstood(f"{name} of constexprs: {error}") from error
