"""Attributes and methods of values: `x.dtype`, `x.to(…)`, `x.shape[0]`, `dtype.is_floating()`."""

from __future__ import annotations

from kernelscope.triton_source.interpreter import block_pointers, nodes
from kernelscope.triton_source.interpreter.arguments import bound
from kernelscope.triton_source.interpreter.language_functions import FUNCTIONS
from kernelscope.triton_source.interpreter.math_functions import call as call_math
from kernelscope.triton_source.interpreter.names import member
from kernelscope.triton_source.interpreter.operators import to_node
from kernelscope.triton_source.interpreter.promotion import is_unsigned
from kernelscope.triton_source.interpreter.state import State, element_count
from kernelscope.triton_source.interpreter.values import (
    BlockPointer,
    Descriptor,
    LibraryFunction,
    Method,
    Namespace,
    Unknown,
    Value,
    is_node,
    is_number,
    is_type,
    touches_memory,
)
from kernelscope.triton_source.scalar_types import PointerType, ScalarType

#: Methods of tensors that are functions of triton.language.math.
_MATH_METHODS = frozenset(
    {"exp", "exp2", "log", "log2", "cos", "sin", "sqrt", "rsqrt", "erf", "floor", "ceil", "sigmoid", "softmax"}
)


def attribute(s: State, value: Value, name: str) -> Value:
    """`value.name`."""
    if isinstance(value, Namespace):
        return member(value.name, name)
    if isinstance(value, LibraryFunction):
        return LibraryFunction(f"{value.name}.{name}")
    if isinstance(value, Unknown):
        return Method(value, name)
    if is_node(value):
        if name == "shape":
            return value.shape
        if name in ("dtype", "type"):
            return value.type
        if name == "numel":
            return element_count(value.shape)
        if name == "T":
            return FUNCTIONS["trans"](s, [value], {})
        return Method(value, name)
    if is_type(value):
        return _type_attribute(value, name)
    if isinstance(value, (BlockPointer, Descriptor)):
        return _block_attribute(value, name)
    if name == "value":
        return value
    return Method(value, name)


def _block_attribute(value: BlockPointer | Descriptor, name: str) -> Value:
    element = nodes.pointer_element(value.base)
    match name:
        case "dtype":
            return element if isinstance(value, Descriptor) else value.base.type
        case "shape" | "strides" | "block_shape":
            return tuple(getattr(value, name))
        case "offsets" | "base" if isinstance(value, BlockPointer):
            return getattr(value, name)
        case _:
            return Method(value, name)


def _type_attribute(kind: ScalarType | PointerType, name: str) -> Value:
    if name == "scalar":
        return kind
    if isinstance(kind, PointerType):
        return kind.element if name == "element_ty" else 64 if name == "primitive_bitwidth" else Method(kind, name)
    match name:
        case "primitive_bitwidth" | "int_bitwidth":
            return kind.bits
        case "itemsize":
            return kind.bits // 8
        case "name":
            return kind.name
        case "element_ty":
            return kind
        case _:
            return Method(kind, name)


def call_method(s: State, method: Method, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`receiver.name(*args, **kwargs)`."""
    receiver, name = method.receiver, method.name
    if is_type(receiver):
        return _ask_type(s, receiver, name)
    if isinstance(receiver, Descriptor):
        return _call_descriptor(s, receiver, name, args, kwargs)
    if isinstance(receiver, BlockPointer):
        return _call_block_pointer(s, receiver, name, args, kwargs)
    if is_node(receiver) or is_number(receiver):
        return _call_tensor(s, receiver, name, args, kwargs)
    return _unknown_method(s, receiver, name, args, kwargs)


def _unknown_method(s: State, receiver: Value, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    values = [receiver, *args, *kwargs.values()]
    if isinstance(receiver, Unknown) or any(map(touches_memory, values)):
        s.give_up_on(f"the method {name} of a value that is not followed")
    return Unknown(f"the method {name}")


def _call_tensor(s: State, receiver: Value, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    node = to_node(s, receiver)
    if node is None:
        return Unknown(f"the method {name}")
    handler = FUNCTIONS.get(name)
    if handler is not None and name not in ("program_id", "arange", "full"):
        return handler(s, [node, *args], kwargs)
    if name in _MATH_METHODS:
        return call_math(s, f"tl.math.{name}", [node, *args], kwargs)
    return _unknown_method(s, node, name, args, kwargs)


def _call_descriptor(s: State, descriptor: Descriptor, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    match name:
        case "load":
            return block_pointers.load_descriptor(s, descriptor, *bound(args, kwargs, "offsets"))
        case "store":
            block_pointers.store_descriptor(s, descriptor, *bound(args, kwargs, "offsets", "value"))
        case "gather":
            return block_pointers.gather_rows(s, descriptor, *bound(args, kwargs, "x_offsets", "y_offset"))
        case "scatter":
            value, rows, column = bound(args, kwargs, "value", "x_offsets", "y_offset")
            block_pointers.gather_rows(s, descriptor, rows, column, value)
        case _ if name.startswith("atomic_"):
            block_pointers.reduce_into_descriptor(s, descriptor, *bound(args, kwargs, "offsets", "value"))
        case _:
            return _unknown_method(s, descriptor, name, args, kwargs)
    return None


def _call_block_pointer(
    s: State, pointer: BlockPointer, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    if name in ("load", "store", "advance"):
        return FUNCTIONS[name](s, [pointer, *args], kwargs)
    return _unknown_method(s, pointer, name, args, kwargs)


def _ask_type(s: State, kind: ScalarType | PointerType, name: str) -> Value:
    """`dtype.is_floating()` and its like."""
    if isinstance(kind, PointerType):
        return name == "is_ptr"
    match name:
        case "is_floating" | "is_standard_floating":
            return not kind.is_integer
        case "is_int":
            return kind.is_integer
        case "is_int_signed":
            return kind.is_integer and not is_unsigned(kind)
        case "is_int_unsigned":
            return kind.is_integer and is_unsigned(kind)
        case "is_bool" | "is_int1":
            return kind.bits == 1
        case "is_ptr" | "is_block" | "is_void" | "is_const":
            return False
        case "is_fp8":
            return not kind.is_integer and kind.bits == 8
        case _ if name.startswith("is_"):
            return name[3:] in (kind.name, kind.name.replace("bfloat", "bf").replace("float", "fp"))
        case "get_int_max_value" | "get_int_min_value" if kind.is_integer:
            return kind.maximum if name == "get_int_max_value" else kind.minimum
        case _:
            s.reject(f"{kind.name} has no method {name}")
            return Unknown(f"the method {name} of a type")
