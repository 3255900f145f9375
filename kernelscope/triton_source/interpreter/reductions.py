"""Reductions, scans and sorts: their types and shapes, and what is known of their values."""

from __future__ import annotations

import ast

from kernelscope.triton_source.index_program import RUNNING_SUM, Node, Reduce, Shape
from kernelscope.triton_source.interpreter import nodes
from kernelscope.triton_source.interpreter.arguments import Handler, bound, flag
from kernelscope.triton_source.interpreter.promotion import is_unsigned
from kernelscope.triton_source.interpreter.state import State
from kernelscope.triton_source.interpreter.values import JitFunction, LibraryFunction, Unknown, Value, is_node
from kernelscope.triton_source.scalar_types import BFLOAT16, FLOAT32, INT32, UINT32, ScalarType

#: Reductions whose result is one of the operand's values.
_SELECTING = {
    "triton_helpers.maximum": "max", "triton_helpers.minimum": "min", "triton_helpers._maximum_reduce": "max",
    "triton_helpers._minimum_reduce": "min", "tl.maximum": "max", "tl.minimum": "min",
    "triton_helpers.fmaximum": "max",
}  # fmt: skip


def _reduced_shape(shape: Shape, axis: int | None, keep: bool) -> Shape:
    if axis is None:
        return (1,) * len(shape) if keep else ()
    kept = (1,) if keep else ()
    return shape[:axis] + kept + shape[axis + 1 :]


def _axis(s: State, node: Node, axis: Value) -> int | None:
    if not isinstance(axis, int):
        return None
    if not -len(node.shape) <= axis < len(node.shape):
        s.reject(f"axis {axis} of a block of shape {list(node.shape)}")
        return None
    return axis % len(node.shape)


def reduce_one(s: State, function: str, node: Node, axis: Value, keep: bool) -> Node:
    """A reduction of one block."""
    place = _axis(s, node, axis)
    shape = _reduced_shape(node.shape, place, False)
    if not isinstance(node.type, ScalarType):
        return nodes.opaque(s, node.type, _reduced_shape(node.shape, place, keep), "a reduction of pointers", (node,))
    s.spend()
    result: Node = Reduce(function, node, place, node.type, shape, s.span)
    if keep and place is not None:
        return nodes.expand_dims(s, result, place)
    return nodes.broadcast(s, result, (1,) * len(node.shape)) if keep else result


def _function_name(combine: Value) -> str:
    """What a reduction is told by: a function of the kernel's own file may be called `max` and add."""
    if isinstance(combine, LibraryFunction):
        return _SELECTING.get(combine.name, combine.name)
    return f"combination by {combine.definition.name}" if isinstance(combine, JitFunction) else "combination"


def reduce(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    value, axis, combine, keep = bound(args, kwargs, "input", "axis", "combine_fn", "keep_dims")
    name = _function_name(combine)
    if isinstance(value, tuple):
        return tuple(
            _reduced_jointly(s, name, part, axis, flag(keep)) if is_node(part) else Unknown("tl.reduce")
            for part in value
        )
    return reduce_one(s, name, value, axis, flag(keep)) if is_node(value) else Unknown("tl.reduce")


def _reduced_jointly(s: State, name: str, node: Node, axis: Value, keep: bool) -> Node:
    """One result of a reduction of several blocks: no single function of one operand."""
    return reduce_one(s, f"{name} of several", node, axis, keep)


def sum_(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    value, axis, keep, kind = bound(args, kwargs, "input", "axis", "keep_dims", "dtype")
    if not is_node(value):
        return Unknown("tl.sum")
    return reduce_one(s, "sum", _widened(s, value, kind), axis, flag(keep))


def _widened(s: State, node: Node, kind: Value) -> Node:
    """Sums of integers below 32 bits are done in 32."""
    if isinstance(kind, ScalarType):
        return nodes.cast(s, node, kind)
    if isinstance(node.type, ScalarType) and node.type.is_integer and node.type.bits < 32:
        return nodes.cast(s, node, UINT32 if is_unsigned(node.type) else INT32)
    return node


def _extreme(function: str) -> Handler:
    def handler(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
        value, axis, indices, _, keep = bound(
            args, kwargs, "input", "axis", "return_indices", "return_indices_tie_break_left", "keep_dims"
        )
        if not is_node(value) or not isinstance(value.type, ScalarType):
            return Unknown(f"tl.{function}")
        if value.type is BFLOAT16:
            value = nodes.cast(s, value, FLOAT32, implicit=True)
        if flag(indices):
            return reduce_one(s, function, value, axis, flag(keep)), _position(s, value, axis, flag(keep))
        assert isinstance(value.type, ScalarType)
        if value.type.bits < 32:
            value = nodes.cast(s, value, INT32 if value.type.is_integer else FLOAT32, implicit=True)
        return reduce_one(s, function, value, axis, flag(keep))

    return handler


def _position(s: State, node: Node, axis: Value, keep: bool) -> Node:
    """The index that argmax gives: one of those along the axis."""
    place = _axis(s, node, axis)
    if place is None or not node.shape:
        return nodes.opaque(s, INT32, _reduced_shape(node.shape, place, keep), "an argmax", (node,))
    s.spend()
    result: Node = Reduce("argmax", node, place, INT32, _reduced_shape(node.shape, place, False), s.span)
    return nodes.expand_dims(s, result, place) if keep else result


def _argument(function: str) -> Handler:
    def handler(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
        value, axis, _, keep = bound(args, kwargs, "input", "axis", "tie_break_left", "keep_dims")
        return _position(s, value, axis, flag(keep)) if is_node(value) else Unknown(f"tl.{function}")

    return handler


def _plain(function: str) -> Handler:
    def handler(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
        value, axis, keep = bound(args, kwargs, "input", "axis", "keep_dims")
        return reduce_one(s, function, value, axis, flag(keep)) if is_node(value) else Unknown(f"tl.{function}")

    return handler


def scan(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
    value, axis, combine = bound(args, kwargs, "input", "axis", "combine_fn")
    name = f"a scan with {_function_name(combine)}"
    if isinstance(value, tuple):
        if len(value) == 1 and is_node(value[0]) and _adds(combine):
            return (_running_sum(s, value[0], _axis(s, value[0], axis), name),)
        return tuple(_same_shape(s, part, name) for part in value)
    if is_node(value):
        place = _axis(s, value, axis)
        if _adds(combine):
            return _running_sum(s, value, place, name)
    return _same_shape(s, value, name)


def _adds(combine: Value) -> bool:
    """Is a function of a scan `return a + b`, with or without a variable in between?"""
    if not isinstance(combine, JitFunction):
        return False
    names = [argument.arg for argument in combine.definition.args.args]
    body = combine.definition.body
    last = body[-1]
    result = last.value if isinstance(last, ast.Return) else None
    if len(body) == 2 and isinstance(body[0], ast.Assign) and isinstance(result, ast.Name):
        (target, *more) = body[0].targets
        if not more and isinstance(target, ast.Name) and target.id == result.id:
            result = body[0].value
    elif len(body) != 1:
        return False
    match result:
        case ast.BinOp(ast.Name(left), ast.Add(), ast.Name(right)):
            return len(names) == 2 and {left, right} == set(names)
        case _:
            return False


def _running_sum(s: State, node: Node, place: int | None, name: str) -> Node:
    if place is None or not isinstance(node.type, ScalarType) or not node.type.is_integer or node.type.bits == 1:
        return nodes.opaque(s, node.type, node.shape, name, (node,))
    s.spend()
    return Reduce(RUNNING_SUM, node, place, node.type, node.shape, s.span)


def _same_shape(s: State, value: Value, name: str) -> Value:
    return nodes.opaque(s, value.type, value.shape, name, (value,)) if is_node(value) else Unknown(name)


def _running(function: str) -> Handler:
    def handler(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
        value, axis, _, kind = bound(args, kwargs, "input", "axis", "reverse", "dtype")
        if not is_node(value):
            return Unknown(f"tl.{function}")
        if value.type is BFLOAT16:
            value = nodes.cast(s, value, FLOAT32, implicit=True)
        if function == "cumsum":
            return _running_sum(s, _widened(s, value, kind), _axis(s, value, axis or 0), "tl.cumsum")
        return _same_shape(s, value, f"tl.{function}")

    return handler


def _rearranged(function: str) -> Handler:
    def handler(s: State, args: list[Value], kwargs: dict[str, Value]) -> Value:
        value = args[0] if args else kwargs.get("x")
        size = (args[1] if len(args) > 1 else kwargs.get("k")) if function == "topk" else None
        if is_node(value) and value.shape and isinstance(size, int):
            return nodes.opaque(s, value.type, (*value.shape[:-1], size), "tl.topk", (value,))
        return _same_shape(s, value, f"tl.{function}")

    return handler


FUNCTIONS: dict[str, Handler] = {
    "reduce": reduce, "sum": sum_, "max": _extreme("max"), "min": _extreme("min"), "argmax": _argument("argmax"),
    "argmin": _argument("argmin"), "xor_sum": _plain("xor_sum"), "reduce_or": _plain("reduce_or"),
    "associative_scan": scan, "cumsum": _running("cumsum"), "cumprod": _running("cumprod"),
    "sort": _rearranged("sort"), "flip": _rearranged("flip"), "topk": _rearranged("topk"),
    "bitonic_merge": _rearranged("bitonic_merge"),
}  # fmt: skip
