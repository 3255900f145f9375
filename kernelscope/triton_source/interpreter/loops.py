"""Loops. A body is run once with every variable that it sets standing for an unknown earlier iteration; where the end
of the body shows that a variable keeps its value or moves by a constant, the body is run again with that knowledge."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from kernelscope.triton_source.index_program import (
    COMPARISONS,
    Binary,
    BinaryOperator,
    Carried,
    Constant,
    Loop,
    LoopCounter,
    Node,
)
from kernelscope.triton_source.interpreter import nodes, operators
from kernelscope.triton_source.interpreter.expressions import condition_of, evaluate
from kernelscope.triton_source.interpreter.loop_variables import (
    after_loop,
    make_variable,
    refine,
    updates_of,
    varies,
)
from kernelscope.triton_source.interpreter.promotion import is_unsigned
from kernelscope.triton_source.interpreter.state import State
from kernelscope.triton_source.interpreter.values import LibraryFunction, Unknown, Value, is_integer, is_node
from kernelscope.triton_source.scalar_types import BY_NAME, INT1, INT32, ScalarType

_MOST_RUNS = 4
_BOUND_NAMES = ("arg1", "arg2", "step")

RunBlock = Callable[[State, Sequence[ast.stmt]], object]


def assigned_names(s: State, statement: ast.stmt) -> tuple[str, ...]:
    """Names that a statement may set, in order of appearance."""
    known = s.assigned_names.get(id(statement))
    if known is None:
        names = _stored_names(statement) if s.spans.has_named_expressions else _targets(statement)
        known = s.assigned_names[id(statement)] = tuple(dict.fromkeys(names))
    return known


def _stored_names(node: ast.AST) -> Iterator[str]:
    return (n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _targets(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement and those inside it store to; expressions are not searched."""
    waiting: list[ast.stmt] = [statement]
    while waiting:
        current = waiting.pop()
        match current:
            case ast.Assign(targets=targets):
                for target in targets:
                    yield from (target.id,) if isinstance(target, ast.Name) else _stored_names(target)
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                yield from _stored_names(target)
            case ast.For(target=target, body=body, orelse=orelse):
                yield from _stored_names(target)
                waiting += [*body, *orelse]
            case ast.If(body=body, orelse=orelse) | ast.While(body=body, orelse=orelse):
                waiting += [*body, *orelse]
            case ast.Expr() | ast.Pass() | ast.Return() | ast.Assert():
                pass
            case _:
                yield from _stored_names(current)


# -- for ------------------------------------------------------------------------------------------------------------


def run_for(s: State, node: ast.For, run_block: RunBlock) -> None:
    """`for name in range(…)`, `tl.range(…)` or `tl.static_range(…)`."""
    bounds = _bounds(s, node)
    if bounds is None or not isinstance(node.target, ast.Name):
        s.at = node
        s.give_up_on("a loop over something else than a range")
        for name in assigned_names(s, node):
            s.scope[name] = Unknown(f"{name}, set in a loop that is not followed")
        return
    iterator, start, end, step = bounds
    if iterator == "tl.static_range":
        _run_unrolled(s, node, node.target.id, (start, end, step), run_block)
    else:
        _run_counted(s, node, node.target.id, (start, end, step), run_block)


def _bounds(s: State, node: ast.For) -> tuple[str, Value, Value, Value] | None:
    if not isinstance(node.iter, ast.Call):
        return None
    function = evaluate(s, node.iter.func)
    if not isinstance(function, LibraryFunction) or function.name not in ("range", "tl.range", "tl.static_range"):
        return None
    values = [evaluate(s, argument) for argument in node.iter.args]
    named = {k.arg: evaluate(s, k.value) for k in node.iter.keywords if k.arg in _BOUND_NAMES}
    for position, name in enumerate(_BOUND_NAMES):
        if name in named and len(values) == position:
            values.append(named[name])
    if not 1 <= len(values) <= 3:
        return None
    if len(values) == 1:
        if function.name == "range" and node.iter.args:
            values[0] = evaluate(s, node.iter.args[0])  # Triton evaluates a lone bound of `range` twice
        values.insert(0, 0)
    return function.name, values[0], values[1], values[2] if len(values) > 2 else 1


def _run_unrolled(
    s: State, node: ast.For, name: str, bounds: tuple[Value, Value, Value], run_block: RunBlock
) -> None:
    numbers = [bound for bound in bounds if isinstance(bound, int)]
    if len(numbers) != 3 or numbers[2] == 0:
        s.at = node
        s.reject("tl.static_range takes compile-time numbers")
        s.give_up_on("a tl.static_range whose bounds are not known")
        return
    for value in range(*numbers):
        s.spend()
        s.scope[name] = value
        run_block(s, node.body)


def _run_counted(
    s: State, node: ast.For, name: str, bounds: tuple[Value, Value, Value], run_block: RunBlock
) -> None:
    s.at = node.iter
    given = [operators.to_node(s, bound) for bound in bounds]
    ends = [
        part if part is not None and is_integer(part) and not part.shape else _unknown_bound(s, bound, part)
        for part, bound in zip(given, bounds, strict=True)
    ]
    if isinstance(ends[2], Constant) and (ends[2].value == 0 or is_node(bounds[2]) and ends[2].value < 0):
        detail = "a step that is not positive, and negative only when the kernel runs"
        s.give_up_on(f"a loop with {detail}")
        ends[2] = nodes.opaque(s, INT32, (), detail)
    kind = operators.loop_type(*ends)
    header = _signed(kind)
    start, end, step = (_loop_bound(s, part, kind, header) for part in ends)
    index = len(s.loops)
    s.loops.append(Loop(name, start, end, step, header, None, s.guards, s.loop_stack, s.spans.of(node.iter)))
    s.at = node.target
    s.spend()
    counter = _reinterpreted(s, LoopCounter(index, header, s.span), kind)
    _run_body(s, node, index, {name: counter}, lambda: run_block(s, node.body))
    s.scope[name] = nodes.opaque(s, kind, (), f"{name} after its loop", (start, end, step))


def _signed(kind: ScalarType) -> ScalarType:
    return BY_NAME[kind.name.removeprefix("u")]


def _loop_bound(s: State, node: Node, kind: ScalarType, header: ScalarType) -> Node:
    """A bound as the loop's header compares it. Triton widens it with the sign of the counter's type, not its own, and
    compares as signed numbers."""
    assert isinstance(node.type, ScalarType)
    if node.type.bits == 1 and kind.bits > 1:
        return node if isinstance(node, Constant) else nodes.opaque(s, header, (), "a condition as a bound of a loop", (node,))
    if is_unsigned(node.type) != is_unsigned(kind) and node.type.bits < kind.bits and not isinstance(node, Constant):
        other = _signed(node.type) if is_unsigned(node.type) else BY_NAME[f"u{node.type.name}"]
        node = _reinterpreted(s, node, other)
    if isinstance(node, Constant) and kind is not header:
        return _reinterpreted(s, node, header)
    return _reinterpreted(s, nodes.cast(s, node, kind, implicit=True), header)


def _reinterpreted(s: State, node: Node, kind: ScalarType) -> Node:
    """The same bits as another type, which is no operation of the kernel."""
    recording, s.recording = s.recording, False
    result = nodes.cast(s, node, kind, implicit=True)
    s.recording = recording
    return result


def _unknown_bound(s: State, bound: Value, part: Node | None) -> Node:
    if part is not None and part.shape and is_integer(part):
        single = part
        while single.shape and single.shape[0] == 1:
            single = nodes.squeeze(s, single, 0)
        if not single.shape:
            return single
    if part is not None:
        s.reject("loop bounds are integer scalars")
    detail = bound.detail if isinstance(bound, Unknown) else "a loop bound that is not followed"
    return nodes.opaque(s, INT32, (), detail)


# -- while ----------------------------------------------------------------------------------------------------------


def run_while(s: State, node: ast.While, run_block: RunBlock) -> None:
    """`while condition:`, a counted loop where the condition compares a variable that moves by a constant."""
    index = len(s.loops)
    s.loops.append(Loop("while", None, None, None, INT32, None, s.guards, s.loop_stack, s.spans.of(node.test)))

    def body() -> None:
        test = evaluate(s, node.test)
        s.at = node.test
        condition = condition_of(s, test)
        guards = s.guards
        if is_node(condition):
            loop = s.loops[index]
            counted = _as_counted(s, loop, index, condition)
            s.loops[index] = counted if counted is not None else replace(loop, condition=condition)
            if counted is None:
                s.observe(condition)
                s.guards = (*guards, condition)
        elif not condition:
            s.guards = (*guards, nodes.constant(s, 0, INT1))
        run_block(s, node.body)
        s.guards = guards

    _run_body(s, node, index, {}, body)


def _as_counted(s: State, loop: Loop, index: int, condition: Node) -> Loop | None:
    """`while i < end` with `i += step` is `for i in range(i0, end, step)`."""
    if not isinstance(condition, Binary) or condition.operator not in COMPARISONS:
        return None
    left, right, operator = condition.left, condition.right, condition.operator
    if isinstance(right, Carried) and right.loop == index:
        left, right, operator = right, left, _MIRRORED.get(operator, operator)
    if not isinstance(left, Carried) or left.loop != index or not is_integer(left) or varies(s, right, index):
        return None
    step = left.step
    if not isinstance(step, Constant) or step.value == 0:
        return None
    upward = step.value > 0
    if operator is not (BinaryOperator.LESS if upward else BinaryOperator.GREATER):
        return None
    assert isinstance(left.type, ScalarType)
    return replace(
        loop, name=left.name, start=left.initial, end=right, step=step, counter_type=left.type, condition=condition
    )


_MIRRORED = {
    BinaryOperator.LESS: BinaryOperator.GREATER,
    BinaryOperator.GREATER: BinaryOperator.LESS,
    BinaryOperator.LESS_EQUAL: BinaryOperator.GREATER_EQUAL,
    BinaryOperator.GREATER_EQUAL: BinaryOperator.LESS_EQUAL,
}


# -- bodies ---------------------------------------------------------------------------------------------------------


def _run_body(
    s: State, node: ast.For | ast.While, index: int, counters: dict[str, Value], body: Callable[[], object]
) -> None:
    """Run a loop's body with what is known of the variables that it sets, as often as that improves."""
    entry, header = s.scope, s.loops[index]
    names = [name for name in assigned_names(s, node) if name in entry and name not in counters]
    mark, stack = s.mark(), s.loop_stack
    variables = {name: make_variable(s, name, entry[name]) for name in names}
    for attempt in range(_MOST_RUNS):
        s.scope = {**entry, **counters, **{name: v.current for name, v in variables.items()}}
        s.loop_stack = (*stack, index)
        body()
        s.loop_stack = stack
        improved = refine(s, index, mark, variables, s.scope)
        if not improved or attempt == _MOST_RUNS - 1:
            break
        s.roll_back(mark)
        s.loops[index] = header
    s.at = node
    s.updates += [update for variable in variables.values() for update in updates_of(index, variable)]
    s.scope = {**entry, **{name: after_loop(s, index, variable) for name, variable in variables.items()}}

