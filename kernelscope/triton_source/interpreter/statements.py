"""Statements. Each runs to an `Outcome`: under which condition the function has returned by then."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from kernelscope.triton_source.index_program import Node
from kernelscope.triton_source.interpreter import language_functions, loops, nodes, operators
from kernelscope.triton_source.interpreter.branches import merge_scopes, merged
from kernelscope.triton_source.interpreter.calls import bind_parameters
from kernelscope.triton_source.interpreter.expressions import condition_of, evaluate, operate, read_name
from kernelscope.triton_source.interpreter.state import Frame, State
from kernelscope.triton_source.interpreter.values import (
    JitFunction,
    Unknown,
    Value,
    is_node,
    is_number,
)

#: Returned under this scalar condition; True: on every path; None: on none.
Outcome = Node | bool | None


def run_block(s: State, body: Sequence[ast.stmt]) -> Outcome:
    """Run statements until one that always returns."""
    outer = s.guards
    returned: Outcome = None
    for statement in body:
        s.spend()
        handler = _HANDLERS.get(type(statement))
        if handler is None:
            _unsupported(s, statement)
            continue
        outcome = handler(s, statement)
        if outcome is True:
            s.guards = outer
            return True
        if outcome is not None and outcome is not False:
            assert is_node(outcome)
            s.guards = (*s.guards, nodes.opposite(s, outcome))
            returned = outcome if returned is None else nodes.either(s, _as_node(returned), outcome)
    s.guards = outer
    return returned


def _as_node(outcome: Outcome) -> Node:
    assert is_node(outcome)
    return outcome


def _unsupported(s: State, statement: ast.stmt) -> None:
    s.at = statement
    s.give_up_on(f"the statement {type(statement).__name__}")
    for name in loops.assigned_names(s, statement):
        s.scope[name] = Unknown(f"{name}, set by a statement that is not followed")


# -- assignments ----------------------------------------------------------------------------------------------------


def as_variable(s: State, value: Value) -> Value:
    """What a variable holds after `name = value`: numbers become tensors."""
    if is_node(value):
        return value
    if is_number(value):
        made = operators.to_node(s, value)
        assert made is not None
        return made
    if isinstance(value, tuple):
        return tuple(as_variable(s, item) for item in value)
    return value


def _assign(s: State, node: ast.Assign) -> Outcome:
    value = evaluate(s, node.value)
    s.at = node.value
    targets = node.targets
    first = targets[0]
    if type(first) is ast.Name and len(targets) == 1 and not s.scope_notes and is_node(value):
        s.scope[first.id] = value
        return None
    if len(targets) > 1:
        s.reject("an assignment to several targets")
    for target in targets:
        _bind(s, target, _for_target(s, target, value))
    return None


def _for_target(s: State, target: ast.expr, value: Value) -> Value:
    """Names announced as `name: tl.constexpr` keep compile-time values."""
    if s.scope_notes and isinstance(target, ast.Name) and ("constexpr", target.id) in s.scope_notes:
        s.scope_notes.discard(("constexpr", target.id))
        return value
    return as_variable(s, value)


def _bind(s: State, target: ast.expr, value: Value) -> None:
    if type(target) is ast.Name:
        s.scope[target.id] = value
        return
    match target:
        case ast.Name(id=name):
            s.scope[name] = value
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            items = value if isinstance(value, tuple) else ()
            if is_node(value) or isinstance(value, tuple) and len(items) != len(elements):
                s.reject("cannot unpack this value")
            for index, element in enumerate(elements):
                known = isinstance(value, tuple) and index < len(items)
                _bind(s, element, items[index] if known else Unknown("a part of a value that is not followed"))
        case ast.Starred(value=inner):
            _bind(s, inner, Unknown("a starred target"))
        case _:
            s.at = target
            s.give_up_on("an assignment to something else than a name")


def _annotated(s: State, node: ast.AnnAssign) -> Outcome:
    constexpr = _is_constexpr(node.annotation)
    if node.value is None:
        if constexpr and isinstance(node.target, ast.Name):
            s.scope_notes.add(("constexpr", node.target.id))
        return None
    value = evaluate(s, node.value)
    s.at = node.value
    _bind(s, node.target, value if constexpr else as_variable(s, value))
    return None


def _is_constexpr(annotation: ast.expr) -> bool:
    match annotation:
        case ast.Attribute(attr="constexpr") | ast.Name(id="constexpr"):
            return True
        case ast.Constant(value=str(text)):
            return text.rpartition(".")[2] == "constexpr"
        case _:
            return False


def _augmented(s: State, node: ast.AugAssign) -> Outcome:
    if not isinstance(node.target, ast.Name):
        _unsupported(s, node)
        return None
    left = read_name(s, node.target)
    right = evaluate(s, node.value)
    s.at = node
    s.scope[node.target.id] = as_variable(s, operate(s, type(node.op), left, right))
    return None


def _expression(s: State, node: ast.Expr) -> Outcome:
    if not isinstance(node.value, ast.Constant):
        evaluate(s, node.value)
    return None


def _assert(s: State, node: ast.Assert) -> Outcome:
    condition = evaluate(s, node.test)
    s.at = node
    if is_node(condition):
        language_functions.device_assert(s, [condition], {})
    elif condition is False:
        s.reject("an assertion that is always false")
    return None


def _nothing(s: State, node: ast.stmt) -> Outcome:
    return None


# -- control flow ---------------------------------------------------------------------------------------------------


def _return(s: State, node: ast.Return) -> Outcome:
    value = evaluate(s, node.value) if node.value is not None else None
    s.at = node
    frame = s.frames[-1]
    if len(s.loop_stack) > frame.base_loops:
        s.give_up_on("a return inside a loop")
    frame.returns.append((s.guards[frame.base_guards :], value))
    return True


def _if(s: State, node: ast.If) -> Outcome:
    test = evaluate(s, node.test)
    s.at = node.test
    condition = condition_of(s, test)
    if not is_node(condition):
        return run_block(s, node.body if condition else node.orelse)
    s.observe(condition)
    guards, before = s.guards, s.scope
    s.guards, s.scope = (*guards, condition), dict(before)
    in_body = run_block(s, node.body)
    body_scope = s.scope
    opposite = nodes.opposite(s, condition)
    s.guards, s.scope = (*guards, opposite), dict(before)
    in_else = run_block(s, node.orelse)
    else_scope = s.scope
    s.guards = guards
    s.at = node.test
    if in_body is True and in_else is True:
        s.scope = body_scope
        return True
    if in_body is True or in_else is True:
        s.scope = else_scope if in_body is True else body_scope
    else:
        s.scope = merge_scopes(s, condition, body_scope, else_scope, loops.assigned_names(s, node))
    return _returned(s, condition, opposite, in_body, in_else)


def _returned(s: State, condition: Node, opposite: Node, in_body: Outcome, in_else: Outcome) -> Outcome:
    parts: list[Node] = []
    for side, outcome in ((condition, in_body), (opposite, in_else)):
        if outcome is True:
            parts.append(side)
        elif is_node(outcome):
            parts.append(nodes.both(s, side, outcome))
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else nodes.either(s, parts[0], parts[1])


def _for(s: State, node: ast.For) -> Outcome:
    loops.run_for(s, node, run_block)
    return None


def _while(s: State, node: ast.While) -> Outcome:
    loops.run_while(s, node, run_block)
    return None


def _with(s: State, node: ast.With) -> Outcome:
    """Context managers of triton only mark code."""
    for item in node.items:
        evaluate(s, item.context_expr)
        if item.optional_vars is not None:
            _bind(s, item.optional_vars, Unknown("a context manager"))
    return run_block(s, node.body)


def _jump(s: State, node: ast.stmt) -> Outcome:
    s.at = node
    s.reject(f"`{type(node).__name__.lower()}` is not supported in kernels")
    s.give_up_on(f"the statement {type(node).__name__}")
    return None


# -- functions ------------------------------------------------------------------------------------------------------


def call_function(s: State, function: JitFunction, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Run a jitted function of the same text in place of its call."""
    definition, caller, at, notes = function.definition, s.scope, s.at, s.scope_notes
    scope, missing = bind_parameters(s, definition, args, kwargs)
    s.scope, s.scope_notes = {}, set()
    for name, default in missing:
        scope[name] = evaluate(s, default)
    s.scope = scope
    frame = Frame(definition.name, len(s.guards), len(s.loop_stack), [])
    s.frames.append(frame)
    run_block(s, definition.body)
    s.frames.pop()
    s.scope, s.at, s.scope_notes = caller, at, notes
    return _result(s, frame)


def _result(s: State, frame: Frame) -> Value:
    """The returned value, chosen by the guards of each return."""
    if not frame.returns:
        return None
    result = frame.returns[-1][1]
    for guards, value in reversed(frame.returns[:-1]):
        condition: Node | None = None
        for guard in guards:
            condition = guard if condition is None else nodes.both(s, condition, guard)
        result = value if condition is None else merged(s, condition, value, result)
    return result


_HANDLERS: dict[type, Callable[..., Outcome]] = {
    ast.Assign: _assign, ast.AnnAssign: _annotated, ast.AugAssign: _augmented, ast.Expr: _expression,
    ast.Assert: _assert, ast.Pass: _nothing, ast.Return: _return, ast.If: _if, ast.For: _for, ast.While: _while,
    ast.With: _with, ast.Break: _jump, ast.Continue: _jump, ast.Import: _nothing, ast.ImportFrom: _nothing,
}  # fmt: skip
