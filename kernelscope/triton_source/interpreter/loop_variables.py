"""Variables that a loop's body sets: what they are at the start of an iteration, and once the loop has ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kernelscope.triton_source.index_program import (
    Binary,
    BinaryOperator,
    Carried,
    Constant,
    Loaded,
    LoopCounter,
    LoopUpdate,
    Node,
    Opaque,
    PointerAdd,
)
from kernelscope.triton_source.interpreter import nodes
from kernelscope.triton_source.interpreter.state import Mark, State
from kernelscope.triton_source.interpreter.values import (
    BlockPointer,
    Descriptor,
    Unknown,
    Value,
    is_integer,
    is_node,
    is_pointer,
)
from kernelscope.triton_source.operands import operands
from kernelscope.triton_source.scalar_types import INT64, PointerType, ScalarType

_MOST_VISITS = 4000
_DEEPEST_SUM = 24


@dataclass(slots=True)
class Variable:
    """`initial` before the loop; `current` at the start of an iteration; `final` at its end (of the last run)."""

    name: str
    initial: Value
    current: Value
    final: Value = None


def make_variable(s: State, name: str, value: Value) -> Variable:
    """A variable of which nothing is known but its type."""
    return Variable(name, value, _rebuilt(value, [_placeholder(s, name, part) for part in _parts(value)]))


def _placeholder(s: State, name: str, part: Node) -> Node:
    return nodes.opaque(s, part.type, part.shape, f"{name} changes in a loop in a way that is not followed", (part,))


def _parts(value: Value) -> list[Node]:
    """The nodes that a value is made of."""
    if is_node(value):
        return [value]
    if isinstance(value, BlockPointer):
        return [value.base, *value.shape, *value.strides, *value.offsets]
    if isinstance(value, Descriptor):
        return [value.base, *value.shape, *value.strides]
    if isinstance(value, tuple):
        return [part for item in value for part in _parts(item)]
    return []


def _rebuilt(value: Value, parts: list[Node]) -> Value:
    """`value` with its nodes replaced."""
    remaining = iter(parts)
    return _rebuild(value, remaining)


def _rebuild(value: Value, parts: Iterator[Node]) -> Value:
    if is_node(value):
        return next(parts)
    if isinstance(value, BlockPointer):
        base = next(parts)
        shape, strides, offsets = (
            tuple(next(parts) for _ in old) for old in (value.shape, value.strides, value.offsets)
        )
        return BlockPointer(base, shape, strides, offsets, value.block_shape)
    if isinstance(value, Descriptor):
        base = next(parts)
        shape, strides = (tuple(next(parts) for _ in old) for old in (value.shape, value.strides))
        return Descriptor(base, shape, strides, value.block_shape)
    if isinstance(value, tuple):
        return tuple(_rebuild(item, parts) for item in value)
    return value


def _same_structure(a: Value, b: Value) -> bool:
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(_same_structure, a, b))
    if isinstance(a, (BlockPointer, Descriptor)):
        return type(a) is type(b) and a.block_shape == b.block_shape
    return is_node(a) == is_node(b)


def refine(s: State, loop: int, mark: Mark, variables: dict[str, Variable], scope: dict[str, Value]) -> bool:
    """Learn from the values at the end of the body; True when the body should be run again with what was learnt."""
    improved = False
    for name, variable in variables.items():
        variable.final = scope.get(name)
        if isinstance(variable.current, Unknown):
            continue
        if not _same_structure(variable.current, variable.final):
            variable.current = Unknown(f"{name} changes in a loop in a way that is not followed")
            improved = improved or _parts(variable.initial) != []
            continue
        known = _parts(variable.initial)
        before, after = _parts(variable.current), _parts(variable.final)
        better = [
            _better(s, loop, mark, name, *trio) for trio in zip(known, before, after, strict=True)
        ]
        if any(new is not old for new, old in zip(better, before, strict=True)):
            variable.current = _rebuilt(variable.initial, better)
            improved = True
    return improved


def _better(s: State, loop: int, mark: Mark, name: str, initial: Node, before: Node, after: Node) -> Node:
    """What is now known of a part of a variable at the start of an iteration."""
    if not isinstance(before, Opaque) or before is initial:
        return before
    _check_type(s, name, initial, after)
    if after is before or after is initial:
        return initial
    if not is_integer(before) and not is_pointer(before):
        return before
    steps = _steps(s, after, before, _DEEPEST_SUM, set())
    if not steps or any(varies(s, step, loop, mark) for step in steps):
        return before
    s.spend()
    return Carried(loop, name, initial, _total(s, steps, initial), initial.type, initial.shape, after.span)


def _check_type(s: State, name: str, initial: Node, after: Node) -> None:
    if initial.type == after.type and initial.shape == after.shape:
        return
    if isinstance(after, Opaque) or isinstance(initial, Opaque):
        return
    if is_integer(initial) or is_pointer(initial):
        s.reject(f"{name} has type {initial.type.name}{list(initial.shape)} before a loop that makes it "
                 f"{after.type.name}{list(after.shape)}")  # fmt: skip


def _steps(s: State, node: Node, start: Node, depth: int, failed: set[int]) -> list[Node] | None:
    """The amounts added to `start` to give `node`; None when it is not such a sum."""
    if node is start:
        return []
    if depth == 0 or id(node) in failed:
        return None
    match node:
        case Binary(BinaryOperator.ADD, left, right):
            for side, other in ((left, right), (right, left)):
                inner = _steps(s, side, start, depth - 1, failed)
                if inner is not None:
                    return [*inner, other]
        case Binary(BinaryOperator.SUBTRACT, left, right):
            inner = _steps(s, left, start, depth - 1, failed)
            if inner is not None:
                return [*inner, _unrecorded(s, right, negative=True)]
        case PointerAdd(pointer, offset):
            inner = _steps(s, pointer, start, depth - 1, failed)
            if inner is not None:
                return [*inner, offset]
        case Carried(after=True):
            return _steps_of_inner_loop(s, node, start, depth, failed)
    failed.add(id(node))
    return None


def _unrecorded(s: State, node: Node, *, negative: bool) -> Node:
    recording, s.recording = s.recording, False
    result = nodes.negate(s, node) if negative else node
    s.recording = recording
    return result


def _steps_of_inner_loop(s: State, node: Carried, start: Node, depth: int, failed: set[int]) -> list[Node] | None:
    """A loop inside adds its step once per iteration: a constant amount where its trip count is constant."""
    inner = _steps(s, node.initial, start, depth - 1, failed)
    loop = s.loops[node.loop] if node.loop < len(s.loops) else None
    if inner is None or loop is None or loop.start is None or loop.end is None or loop.step is None:
        return None
    ends = [part.value for part in (loop.start, loop.end, loop.step) if isinstance(part, Constant)]
    if len(ends) != 3 or ends[2] == 0:
        return None
    trips = len(range(*(int(value) for value in ends)))
    if trips == 0:
        return inner
    step = node.step
    if isinstance(step, Constant) and isinstance(step.type, ScalarType):
        kind = INT64 if is_pointer(node) else step.type
        amount = int(step.value) * trips
        return [*inner, nodes.constant(s, amount, kind, step.shape)] if kind.wrap(amount) == amount else None
    if not isinstance(step.type, ScalarType) or trips > (1 << 20):
        return None
    recording, s.recording = s.recording, False
    kind = INT64 if is_pointer(node) else step.type
    times = nodes.constant(s, trips, kind, step.shape)
    total = nodes.binary(s, BinaryOperator.MULTIPLY, nodes.cast(s, step, kind, implicit=True), times, kind)
    s.recording = recording
    return [*inner, total]


def _total(s: State, steps: list[Node], initial: Node) -> Node:
    """The sum of the amounts added in one iteration."""
    if len(steps) == 1:
        return steps[0]
    recording, s.recording = s.recording, False
    kind = INT64 if isinstance(initial.type, PointerType) else initial.type
    assert isinstance(kind, ScalarType)
    total = nodes.cast(s, steps[0], kind, implicit=True)
    for step in steps[1:]:
        total, addend = nodes.align(s, total, nodes.cast(s, step, kind, implicit=True))
        total = nodes.binary(s, BinaryOperator.ADD, total, addend, kind)
    s.recording = recording
    return total


def varies(s: State, node: Node, loop: int, mark: Mark | None = None) -> bool:
    """Whether a value may differ between iterations of a loop. `mark`: where the loop's body began."""
    waiting, seen = [node], {id(node)}
    while waiting:
        current = waiting.pop()
        if len(seen) > _MOST_VISITS:
            return True
        match current:
            case LoopCounter(index) | Carried(index) if index >= loop:
                return True
            case Loaded(access) if mark is None or access >= mark.accesses:
                return True
            case Opaque():
                return True
        for child in operands(current):
            if id(child) not in seen:
                seen.add(id(child))
                waiting.append(child)
    return False


def updates_of(loop: int, variable: Variable) -> Iterator[LoopUpdate]:
    """The parts of a variable that are not followed, each with what the body makes of it."""
    if not isinstance(variable.current, Unknown) and _same_structure(variable.current, variable.final):
        for before, end in zip(_parts(variable.current), _parts(variable.final), strict=True):
            if isinstance(before, Opaque) and before is not end:
                yield LoopUpdate(loop, before, end)


def after_loop(s: State, loop: int, variable: Variable) -> Value:
    """The value of a variable once the loop has ended."""
    if isinstance(variable.current, Unknown):
        return variable.current
    known, before = _parts(variable.initial), _parts(variable.current)
    ends = _parts(variable.final) if _same_structure(variable.current, variable.final) else known
    parts = [_after(s, loop, variable.name, *trio) for trio in zip(known, before, ends, strict=True)]
    return _rebuilt(variable.initial, parts)


def _after(s: State, loop: int, name: str, initial: Node, before: Node, end: Node) -> Node:
    if before is initial:
        return initial
    if isinstance(before, Carried):
        s.spend()
        return replace(before, after=True)
    return nodes.opaque(s, initial.type, initial.shape, f"{name} after a loop that sets it", (initial, end))
