"""Calls: of library functions, of methods, and of jitted functions in the same text, which are run in place."""

from __future__ import annotations

import ast

from kernelscope.triton_source.index_program import BinaryOperator
from kernelscope.triton_source.interpreter import (
    attributes,
    inductor_functions,
    language_functions,
    math_functions,
    tensor_maps,
)
from kernelscope.triton_source.interpreter.arguments import Handler, bound
from kernelscope.triton_source.interpreter.operators import to_node
from kernelscope.triton_source.interpreter.state import State
from kernelscope.triton_source.interpreter.values import (
    JitFunction,
    LibraryFunction,
    Method,
    Unknown,
    Value,
    is_node,
    is_number,
    is_type,
    touches_memory,
)
from kernelscope.triton_source.scalar_types import BY_NAME

_MOST_DEPTH = 32
_MATH_PREFIXES = ("tl.math.", "libdevice.", "math.")


def call(s: State, function: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The result of a call."""
    if isinstance(function, LibraryFunction):
        return _call_library(s, function.name, args, kwargs)
    if isinstance(function, Method):
        return attributes.call_method(s, function, args, kwargs)
    if isinstance(function, JitFunction):
        if len(s.frames) >= _MOST_DEPTH:
            s.give_up_on(f"calls nested more than {_MOST_DEPTH} deep")
            return Unknown(f"the result of {function.definition.name}")
        return s.call(s, function, args, kwargs)
    if is_type(function):
        return language_functions.FUNCTIONS["cast"](s, [args[0] if args else None, function], {})
    return _unknown_function(s, "a function that is not known", args, kwargs)


def _call_library(s: State, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    handler = _BY_NAME.get(name)
    if handler is not None:
        return handler(s, args, kwargs)
    if name.startswith(_MATH_PREFIXES):
        short = name.rpartition(".")[2]
        if short in _LANGUAGE_MATH:
            return language_functions.FUNCTIONS[short](s, args, kwargs)
        return math_functions.call(s, name, args, kwargs)
    if name.startswith("tl.") and name[3:] in _FLOAT_FUNCTIONS:
        return math_functions.call(s, name, args, kwargs)
    if name.rpartition(".")[2] in _HARMLESS:
        return None
    return _unknown_function(s, name, args, kwargs)


def _unknown_function(s: State, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Its result is not known; it is reported where it could reach memory."""
    values = [*args, *kwargs.values()]
    for value in list(values):
        if isinstance(value, tuple):
            values.extend(value)
    if any(map(touches_memory, values)) or not values:
        s.give_up_on(f"{name} is not modelled")
    return Unknown(f"the result of {name}")


def bind_parameters(
    s: State, definition: ast.FunctionDef, args: list[Value], kwargs: dict[str, Value]
) -> tuple[dict[str, Value], list[tuple[str, ast.expr]]]:
    """A callee's parameters with their values, and those left to their defaults."""
    spec = definition.args
    positional = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    scope: dict[str, Value] = dict(zip(positional, args, strict=False))
    if spec.vararg is not None:
        scope[spec.vararg.arg] = tuple(args[len(positional) :])
    elif len(args) > len(positional):
        s.reject(f"{definition.name} takes {len(positional)} arguments")
    names = {*positional, *(a.arg for a in spec.kwonlyargs)}
    for name, value in kwargs.items():
        if name in names:
            scope[name] = value
        else:
            s.reject(f"{definition.name} has no parameter {name}")
    defaults = list(zip(positional[len(positional) - len(spec.defaults) :], spec.defaults, strict=True))
    for parameter, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
        if default is not None:
            defaults.append((parameter.arg, default))
    missing = [(name, default) for name, default in defaults if name not in scope]
    for name in names - scope.keys() - {name for name, _ in missing}:
        s.reject(f"{definition.name} is called without {name}")
        scope[name] = Unknown(f"the parameter {name}")
    return scope, missing


# -- Python's builtins ----------------------------------------------------------------------------------------------


def _length(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    (value,) = bound(args, kwargs, "obj")
    if isinstance(value, (tuple, str)):
        return len(value)
    return Unknown("the length of a value")


def _number(kind: type) -> Handler:
    def handler(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
        value = args[0] if args else 0
        if is_node(value):
            s.reject(f"{kind.__name__}() of a tensor")
            return Unknown(f"{kind.__name__}() of a tensor")
        if not is_number(value) and not (isinstance(value, str) and len(value) < 400):
            return Unknown("a number")
        try:
            return kind(value)
        except (TypeError, ValueError, OverflowError):
            s.reject(f"{kind.__name__}() of this value")
            return Unknown(f"{kind.__name__}()")

    return handler


def _sequence(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    value = args[0] if args else ()
    return value if isinstance(value, tuple) else Unknown("a sequence")


def _isinstance(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    value, kind = bound(args, kwargs, "obj", "class")
    name = kind.name if isinstance(kind, LibraryFunction) else ""
    if name in ("tl.tensor", "tl.core.tensor"):
        return is_node(value)
    if name in ("tl.constexpr", "tl.core.constexpr"):
        return not is_node(value) and not isinstance(value, Unknown)
    return Unknown("isinstance")


def _round(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    value = args[0] if args else 0
    return round(value) if is_number(value) and abs(value) < 2**1000 else Unknown("a rounded value")


def _getattr(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    value, name = bound(args, kwargs, "obj", "name")
    return attributes.attribute(s, value, name) if isinstance(name, str) else Unknown("getattr")


def _hasattr(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Unknown("hasattr")


def _host_cdiv(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return language_functions.cdiv(s, args, kwargs)


def _nothing(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return None


def _dtype(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    (name,) = bound(args, kwargs, "name")
    return BY_NAME.get(str(name).replace("bf16", "bfloat16").replace("fp", "float"), Unknown("tl.dtype"))


def _to_tensor_or_self(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    value = args[0] if args else None
    node = to_node(s, value)
    return value if node is None else node


_FLOAT_FUNCTIONS = frozenset(
    {"exp", "exp2", "log", "log2", "cos", "sin", "sqrt", "sqrt_rn", "rsqrt", "erf", "floor", "ceil", "fma", "div_rn",
     "sigmoid", "softmax", "tanh"}
)  # fmt: skip
_LANGUAGE_MATH = frozenset({"abs", "umulhi", "fdiv", "cdiv", "minimum", "maximum"})
_HARMLESS = frozenset({"static_print", "device_print", "debug_barrier"})

_BUILTINS: dict[str, Handler] = {
    "min": language_functions.builtin_extreme(BinaryOperator.MINIMUM),
    "max": language_functions.builtin_extreme(BinaryOperator.MAXIMUM), "len": _length, "int": _number(int),
    "float": _number(float), "bool": _number(bool), "abs": math_functions.absolute, "isinstance": _isinstance,
    "print": _nothing, "tuple": _sequence, "list": _sequence, "tl.tuple": _sequence, "round": _round,
    "getattr": _getattr, "hasattr": _hasattr, "triton.cdiv": _host_cdiv, "tl.dtype": _dtype,
    "triton.next_power_of_2": language_functions.FUNCTIONS["next_power_of_2"],
}  # fmt: skip

_BY_NAME: dict[str, Handler] = {
    **_BUILTINS,
    **{f"tl.{name}": handler for name, handler in language_functions.FUNCTIONS.items()},
    **{f"tl.{name}": handler for name, handler in tensor_maps.FUNCTIONS.items()},
    **{f"triton_helpers.{name}": handler for name, handler in inductor_functions.FUNCTIONS.items()},
}
