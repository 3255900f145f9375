"""Loops: which variables a body carries from one iteration to the next, and which of them advance by a constant."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from kernelscope.kernel_reader.arithmetic import NotUnderstood, cast, integer_promotion, invert, opaque, scalar_of, tensor
from kernelscope.triton_source.index_program import (
    Binary,
    BinaryOperator,
    Carried,
    Loop,
    LoopCounter,
    Node,
    PointerAdd,
    Span,
    UnknownReason,
)
from kernelscope.kernel_reader.nodes import operands
from kernelscope.triton_source.scalar_types import INT1, INT32, PointerType, ScalarType
from kernelscope.kernel_reader.values import BlockPointer, Items, Static, Value

if TYPE_CHECKING:
    from kernelscope.kernel_reader.statements import Interpreter

_CHANGES = "it changes in a loop in a way that is not followed"


def run_for(interpreter: Interpreter, statement: ast.For, target: str, arguments: list[Value]) -> None:
    """`for target in range(start, end, step)`."""
    recorder = interpreter.recorder
    span = recorder.span(statement.iter)
    if not 1 <= len(arguments) <= 3:
        raise NotUnderstood("range with more than three arguments")
    values = [Static(0), *arguments] if len(arguments) == 1 else arguments
    values = [*values, Static(1)] if len(values) == 2 else values
    nodes = [tensor(interpreter.scalar(v, span), span) for v in values]
    if any(n.shape or not scalar_of(n.type).is_integer for n in nodes):
        raise NotUnderstood("a range whose bounds are not integer scalars")
    types = [scalar_of(n.type) for n in nodes]
    counter_type = integer_promotion(integer_promotion(types[0], types[1]), types[2])
    start, end, step = (cast(n, counter_type, span, implicit=True) for n in nodes)
    loop = Loop(target, start, end, step, counter_type, None, (), (), recorder.span(statement.iter))
    _run(interpreter, statement.body, loop, target, None)


def run_while(interpreter: Interpreter, statement: ast.While) -> None:
    """`while condition`: its body runs under the condition; the variables it advances are followed."""
    span = interpreter.recorder.span(statement.test)
    loop = Loop("while", None, None, None, INT32, None, (), (), span)
    _run(interpreter, statement.body, loop, None, statement.test)


def _run(
    interpreter: Interpreter, body: list[ast.stmt], loop: Loop, target: str | None, test: ast.expr | None
) -> None:
    from kernelscope.kernel_reader.statements import assigned_names

    recorder, scope = interpreter.recorder, interpreter.scope
    before = dict(scope.names)
    names = [n for n in assigned_names(body) if n in before and n != target]
    guards = recorder.guards
    index = recorder.open_loop(loop)
    carried = _carried_values(interpreter, body, loop, index, names, target, test)
    scope.names.update(carried)
    if target is not None:
        scope.names[target] = LoopCounter(index, loop.counter_type, loop.span)
    _enter(interpreter, index, test)
    returns = len(scope.returns)
    if interpreter.block(body) or len(scope.returns) > returns:
        recorder.give_up("a return inside a loop", loop.span)
    ends = dict(scope.names)
    if test is not None:
        _observe_updates(interpreter, names, carried, ends, loop.span)
    recorder.close_loop()
    recorder.guards = guards
    scope.names = before
    for name in names:
        scope.names[name] = _after(before[name], carried.get(name), ends.get(name), loop.span)


def _enter(interpreter: Interpreter, index: int, test: ast.expr | None) -> None:
    if test is None:
        return
    span = interpreter.recorder.span(test)
    condition = interpreter._scalar_condition(interpreter.evaluate(test), span)
    interpreter.recorder.observe(condition, span)
    interpreter.recorder.set_condition(index, condition)
    interpreter.recorder.guards = (*interpreter.recorder.guards, condition)


def _observe_updates(
    interpreter: Interpreter, names: list[str], carried: dict[str, Value], ends: dict[str, Value], span: Span
) -> None:
    """A counter of a while loop must be exact after each step too: the next test reads it."""
    for name in names:
        end = ends.get(name)
        if isinstance(carried.get(name), Carried) and isinstance(end, Binary) and not end.shape:
            compared = Binary(BinaryOperator.LESS_EQUAL, end, end, INT1, (), end.span)
            interpreter.recorder.observe(compared, span)


def _carried_values(
    interpreter: Interpreter, body: list[ast.stmt], loop: Loop, index: int, names: list[str], target: str | None,
    test: ast.expr | None,
) -> dict[str, Value]:  # fmt: skip
    """The value of each carried name at the start of an iteration. A trial run with placeholders shows how each
    changes."""
    recorder, scope = interpreter.recorder, interpreter.scope
    before = dict(scope.names)
    placeholders = {name: _placeholder(before[name], loop.span) for name in names}
    if not any(_is_index(v) for v in placeholders.values()):
        return placeholders
    state, guards, open_loops = recorder.mark(), recorder.guards, recorder.open_loops
    returns = len(scope.returns)
    scope.names.update(placeholders)
    if target is not None:
        scope.names[target] = LoopCounter(index, loop.counter_type, loop.span)
    try:
        _enter(interpreter, index, test)
        interpreter.block(body)
        ends = scope.names
    finally:
        recorder.undo(state)
        recorder.guards, recorder.open_loops = guards, open_loops
        scope.names = before
        del scope.returns[returns:]
    varying = {id(p) for v in placeholders.values() for p in _nodes_of(v)}
    found: dict[str, Value] = {}
    for name in names:
        end = ends.get(name)
        found[name] = _followed(name, index, before[name], placeholders[name], end, varying, loop.span)
    return found


def _followed(
    name: str, index: int, initial: Value, placeholder: Value, end: Value | None, varying: set[int], span: Span
) -> Value:
    if end is placeholder:
        return initial
    if isinstance(placeholder, BlockPointer) and isinstance(end, BlockPointer) and isinstance(initial, BlockPointer):
        offsets = tuple(
            _followed_node(name, index, i, p, e, varying, span)
            for i, p, e in zip(initial.offsets, placeholder.offsets, end.offsets, strict=True)
        )
        return BlockPointer(initial.base, initial.shape, initial.strides, offsets, initial.block_shape)
    if isinstance(initial, Node) and isinstance(placeholder, Node) and isinstance(end, Node):
        return _followed_node(name, index, initial, placeholder, end, varying, span)
    return placeholder


def _followed_node(
    name: str, index: int, initial: Node, placeholder: Node, end: Node, varying: set[int], span: Span
) -> Node:
    if end is placeholder:
        return initial
    step = _constant_step(placeholder, end, varying, index)
    if step is None:
        return placeholder
    return Carried(index, name, initial, step, initial.type, initial.shape, span)


def _constant_step(placeholder: Node, end: Node, varying: set[int], loop: int) -> Node | None:
    """c where the end value is `placeholder + c` and c is the same in every iteration."""
    match end:
        case PointerAdd(pointer, offset) if pointer is placeholder and not _varies(offset, varying, loop):
            return offset if end.shape == placeholder.shape else None
        case Binary(BinaryOperator.ADD, left, right) if end.type == placeholder.type:
            for one, other in ((left, right), (right, left)):
                if one is placeholder and not _varies(other, varying, loop):
                    return other
        case Binary(BinaryOperator.SUBTRACT, left, right) if left is placeholder and not _varies(right, varying, loop):
            from kernelscope.triton_source.index_program import Negate

            return Negate(right, scalar_of(right.type), right.shape, right.span)
        case _:
            pass
    return None


def _varies(node: Node, varying: set[int], loop: int) -> bool:
    """Could a value differ between iterations? Loads and opaque values could."""
    from kernelscope.triton_source.index_program import Loaded, Opaque

    seen: set[int] = set()
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if id(current) in varying or isinstance(current, Loaded | Opaque):
            return True
        if isinstance(current, LoopCounter | Carried) and current.loop >= loop:
            return True
        waiting.extend(operands(current))
    return False


def _is_index(value: Value) -> bool:
    if isinstance(value, BlockPointer):
        return True
    if isinstance(value, Items):
        return any(_is_index(v) for v in value.items)
    if not isinstance(value, Node):
        return False
    return isinstance(value.type, PointerType) or value.type.is_integer and value.type.bits > 1


def _nodes_of(value: Value) -> list[Node]:
    if isinstance(value, BlockPointer):
        return list(value.offsets)
    if isinstance(value, Items):
        return [n for v in value.items for n in _nodes_of(v)]
    return [value] if isinstance(value, Node) else []


def _placeholder(value: Value, span: Span) -> Value:
    """A stand-in for a name whose value at the start of an iteration is not known."""
    match value:
        case BlockPointer():
            offsets = tuple(opaque(o.type, o.shape, span, _CHANGES) for o in value.offsets)
            return BlockPointer(value.base, value.shape, value.strides, offsets, value.block_shape)
        case Items(items):
            return Items(tuple(_placeholder(v, span) for v in items))
        case Static(number) if isinstance(number, bool | int | float):
            return _placeholder(tensor(value, span), span)
        case _ if isinstance(value, Node):
            return opaque(value.type, value.shape, span, _CHANGES, reason=UnknownReason.NOT_MODELLED)
        case _:
            return value


def _after(initial: Value, carried: Value | None, end: Value | None, span: Span) -> Value:
    """The value once the loop has ended (the initial one where it never ran)."""
    if end is None or carried is None:
        return initial
    if end is initial or (carried is initial and end is carried):
        return initial
    if isinstance(carried, Carried):
        return Carried(carried.loop, carried.name, carried.initial, carried.step, carried.type, carried.shape, span, True)
    if isinstance(carried, BlockPointer):
        offsets = tuple(
            Carried(o.loop, o.name, o.initial, o.step, o.type, o.shape, span, True) if isinstance(o, Carried) else o
            for o in carried.offsets
        )
        return BlockPointer(carried.base, carried.shape, carried.strides, offsets, carried.block_shape)
    return _placeholder(initial, span)


__all__ = ["ScalarType", "invert", "run_for", "run_while"]
