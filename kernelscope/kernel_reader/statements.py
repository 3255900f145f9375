"""Statements of a kernel: assignments, branches, loops, returns, calls of other functions in the text."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from kernelscope.kernel_reader import loops
from kernelscope.kernel_reader.arithmetic import (
    NotUnderstood,
    alike,
    broadcast_to,
    cast,
    computation_type,
    invert,
    opaque,
    scalar_of,
    tensor,
    truth,
)
from kernelscope.kernel_reader.declaration import SourceModule, dotted_name
from kernelscope.kernel_reader.expressions import Expressions
from kernelscope.triton_source.index_program import INT32, Binary, BinaryOperator, Node, Span, Where
from kernelscope.kernel_reader.recorder import Recorder
from kernelscope.triton_source.scalar_types import INT1, PointerType
from kernelscope.kernel_reader.values import Function, Items, Static, Value

_DEEPEST_CALL = 24
_MOST_UNROLLED = 4096


@dataclass(slots=True)
class Scope:
    """The names of one function's activation, and the values it returned under which conditions."""

    names: dict[str, Value]
    returns: list[tuple[tuple[Node, ...], Value]] = field(default_factory=list)


class Interpreter(Expressions):
    """Runs statements. A block returns True where it always returns from the function."""

    def __init__(self, recorder: Recorder, module: SourceModule) -> None:
        super().__init__(recorder, module)
        self._depth = 0

    def run(self, function: ast.FunctionDef, scope: Scope) -> Value:
        """Execute a function's body with its parameters bound; the value it returns."""
        outer, self.scope = self.scope, scope
        guards = self.recorder.guards
        self._depth += 1
        try:
            if self._depth > _DEEPEST_CALL:
                raise NotUnderstood("calls nested too deeply")
            self.block(function.body)
        finally:
            self._depth -= 1
            self.scope = outer
            self.recorder.guards = guards
        return self._returned(scope, self.recorder.span(function))

    def _returned(self, scope: Scope, span: Span) -> Value:
        if not scope.returns:
            return Static(None)
        result = scope.returns[-1][1]
        for guards, value in reversed(scope.returns[:-1]):
            if not guards:
                return value
            result = self._merged(self._all(guards, span), value, result, span)
        return result

    def _all(self, guards: tuple[Node, ...], span: Span) -> Node:
        condition = guards[0]
        for guard in guards[1:]:
            condition = Binary(BinaryOperator.AND, condition, guard, INT1, (), span)
        return condition

    def call_function(self, function: Function, arguments: list[Value], keywords: dict[str, Value], span: Span) -> Value:
        definition = function.definition
        parameters = [*definition.args.posonlyargs, *definition.args.args, *definition.args.kwonlyargs]
        names = [p.arg for p in parameters]
        values: dict[str, Value] = dict(zip(names, arguments, strict=False))
        values.update((k, v) for k, v in keywords.items() if k in names)
        positional = [*definition.args.posonlyargs, *definition.args.args]
        defaults = definition.args.defaults
        for parameter, default in zip(positional[len(positional) - len(defaults) :], defaults, strict=True):
            if parameter.arg not in values:
                values[parameter.arg] = self.evaluate(default)
        for parameter, keyword_default in zip(definition.args.kwonlyargs, definition.args.kw_defaults, strict=True):
            if parameter.arg not in values and keyword_default is not None:
                values[parameter.arg] = self.evaluate(keyword_default)
        if len(values) != len(names):
            raise NotUnderstood(f"a call of {definition.name} with arguments missing")
        return self.run(definition, Scope(values))

    # -- statements -------------------------------------------------------------------------------------------------

    def block(self, statements: list[ast.stmt]) -> bool:
        return any(self._statement(s) for s in statements)

    def _statement(self, statement: ast.stmt) -> bool:
        self.recorder.step()
        try:
            match statement:
                case ast.Assign(targets=targets, value=value):
                    result = self._as_variable(self.evaluate(value), self.recorder.span(value))
                    for target in targets:
                        self._assign(target, result)
                case ast.AnnAssign(target=target, value=ast.expr() as value, annotation=annotation):
                    result = self.evaluate(value)
                    if (dotted_name(annotation) or "").rpartition(".")[2] != "constexpr":
                        result = self._as_variable(result, self.recorder.span(value))
                    self._assign(target, result)
                case ast.AugAssign(target=target, op=operator, value=value):
                    left = self.evaluate(ast.copy_location(_loaded(target), target))
                    result = self.operate(operator, left, self.evaluate(value), self.recorder.span(statement))
                    self._assign(target, self._as_variable(result, self.recorder.span(statement)))
                case ast.Expr(value=value):
                    if not isinstance(value, ast.Constant):
                        self.evaluate(value)
                case ast.If():
                    return self._if(statement)
                case ast.For():
                    self._for(statement)
                case ast.While():
                    self._while(statement)
                case ast.Return(value=value):
                    result = self.evaluate(value) if value is not None else Static(None)
                    self.scope.returns.append((self.recorder.guards, result))
                    return True
                case ast.Pass() | ast.Assert() | ast.Import() | ast.ImportFrom() | ast.AnnAssign():
                    pass
                case ast.FunctionDef():
                    self.scope.names[statement.name] = Function(statement)
                case _:
                    self._not_followed(statement, f"the statement {type(statement).__name__.lower()}")
        except NotUnderstood as error:
            self._not_followed(statement, error.detail)
        return False

    def _not_followed(self, statement: ast.stmt, detail: str) -> None:
        """Give up on one statement: what it assigns is opaque, and that it was not followed is recorded."""
        span = self.recorder.span(statement)
        self.recorder.give_up(detail, span)
        for name in assigned_names([statement]):
            self.scope.names[name] = opaque(INT32, (), span, detail)

    def _as_variable(self, value: Value, span: Span) -> Value:
        """A number assigned to a variable becomes a tensor of its own type."""
        if isinstance(value, Static) and isinstance(value.value, bool | int | float):
            return tensor(value, span)
        if isinstance(value, Items):
            return Items(tuple(self._as_variable(v, span) for v in value.items))
        return value

    def _assign(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(id=name):
                self.scope.names[name] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                if not isinstance(value, Items) or len(value.items) != len(parts):
                    raise NotUnderstood("an assignment to several names of one value")
                for part, item in zip(parts, value.items, strict=True):
                    self._assign(part, item)
            case _:
                raise NotUnderstood("an assignment to something other than names")

    # -- branches ---------------------------------------------------------------------------------------------------

    def _if(self, statement: ast.If) -> bool:
        test = self.evaluate(statement.test)
        if isinstance(test, Static | Items):
            chosen = bool(test.value) if isinstance(test, Static) else bool(test.items)
            return self.block(statement.body if chosen else statement.orelse)
        span = self.recorder.span(statement.test)
        condition = self._scalar_condition(test, span)
        self.recorder.observe(condition, span)
        guards, before = self.recorder.guards, dict(self.scope.names)
        self.recorder.guards = (*guards, condition)
        returned = self.block(statement.body)
        after_true, guards_true = self.scope.names, self.recorder.guards
        negated = invert(condition, span)
        self.scope.names, self.recorder.guards = before, (*guards, negated)
        returned_else = self.block(statement.orelse)
        after_false, guards_false = self.scope.names, self.recorder.guards
        if returned and returned_else:
            self.recorder.guards = guards
            return True
        if returned or returned_else:
            self.scope.names = after_false if returned else after_true
            self.recorder.guards = guards_false if returned else guards_true
            return False
        self.recorder.guards = guards
        self.scope.names = self._merged_names(condition, after_true, after_false, span)
        return False

    def _scalar_condition(self, test: Value, span: Span) -> Node:
        node = self.node(test, span)
        if node.shape and any(extent != 1 for extent in node.shape):
            raise NotUnderstood("a branch on a tensor")
        if isinstance(node.type, PointerType):
            return opaque(INT1, (), span, "a branch on a pointer")
        if node.shape:
            return opaque(INT1, (), span, "a branch on a block of one element", (node,))
        return truth(node, span)

    def _merged_names(
        self, condition: Node, if_true: dict[str, Value], if_false: dict[str, Value], span: Span
    ) -> dict[str, Value]:
        merged: dict[str, Value] = {}
        for name, value in if_true.items():
            if name in if_false:
                merged[name] = self._merged(condition, value, if_false[name], span)
        return merged

    def _merged(self, condition: Node, first: Value, second: Value, span: Span) -> Value:
        if first is second or (isinstance(first, Static) and isinstance(second, Static) and first == second):
            return first
        if isinstance(first, Items) and isinstance(second, Items) and len(first.items) == len(second.items):
            parts = zip(first.items, second.items, strict=True)
            return Items(tuple(self._merged(condition, a, b, span) for a, b in parts))
        if not isinstance(first, Static | Node) or not isinstance(second, Static | Node):
            raise NotUnderstood("a block pointer or descriptor that depends on a branch")
        a, b = tensor(first, span), tensor(second, span)
        if a.type != b.type:
            if isinstance(a.type, PointerType) or isinstance(b.type, PointerType):
                raise NotUnderstood("a pointer whose type depends on a branch")
            type_ = computation_type(scalar_of(a.type), False, scalar_of(b.type), False, False)
            a, b = cast(a, type_, span, implicit=True), cast(b, type_, span, implicit=True)
        a, b = alike(span, a, b)
        return Where(broadcast_to(condition, a.shape, span), a, b, a.type, a.shape, span)

    # -- loops ------------------------------------------------------------------------------------------------------

    def _for(self, statement: ast.For) -> None:
        if not isinstance(statement.target, ast.Name) or not isinstance(statement.iter, ast.Call):
            raise NotUnderstood("a for loop that is not over a range")
        path = self.path_of(statement.iter.func)
        arguments = [self.evaluate(a) for a in statement.iter.args]
        keywords = {k.arg: self.evaluate(k.value) for k in statement.iter.keywords if k.arg}
        for position, name in enumerate(("arg1", "arg2", "step")):
            if name in keywords and len(arguments) == position:
                arguments.append(keywords[name])
        if path in ("triton.language.static_range",) or path == "range" and all(isinstance(a, Static) for a in arguments) and False:
            self._unrolled(statement, arguments)
        elif path in ("range", "triton.language.range"):
            loops.run_for(self, statement, statement.target.id, arguments)
        else:
            raise NotUnderstood(f"a loop over {path or 'something unknown'}")

    def _unrolled(self, statement: ast.For, arguments: list[Value]) -> None:
        numbers = [a.value for a in arguments if isinstance(a, Static)]
        if len(numbers) != len(arguments) or not all(isinstance(n, int) for n in numbers):
            raise NotUnderstood("static_range over values that are not constexprs")
        steps = range(*numbers)  # type: ignore[arg-type]
        if len(steps) > _MOST_UNROLLED:
            raise NotUnderstood(f"static_range over {len(steps)} iterations")
        assert isinstance(statement.target, ast.Name)
        for number in steps:
            self.scope.names[statement.target.id] = Static(number)
            if self.block(statement.body):
                raise NotUnderstood("a return inside a loop")

    def _while(self, statement: ast.While) -> None:
        loops.run_while(self, statement)


def _loaded(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    raise NotUnderstood("an update of something other than a name")


def assigned_names(statements: list[ast.stmt]) -> list[str]:
    """Names that statements assign, in order, without duplicates."""
    found: dict[str, None] = {}
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found[node.id] = None
    return list(found)
