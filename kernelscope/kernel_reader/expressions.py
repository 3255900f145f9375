"""Expressions of a kernel as nodes and compile-time values."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from kernelscope.kernel_reader import calls, static_values
from kernelscope.kernel_reader.arithmetic import (
    NotUnderstood,
    alike,
    binary,
    broadcast_to,
    invert,
    opaque,
    scalar_of,
    tensor,
    truth,
    where,
)
from kernelscope.kernel_reader.declaration import SourceModule, dotted_name
from kernelscope.triton_source.index_program import (
    Binary,
    BinaryOperator,
    ExpandDims,
    Negate,
    Node,
    Span,
)
from kernelscope.kernel_reader.recorder import Recorder
from kernelscope.triton_source.scalar_types import BY_NAME, INT1, INT32, PointerType
from kernelscope.kernel_reader.values import (
    BlockPointer,
    Descriptor,
    External,
    Function,
    Items,
    Method,
    Static,
    Value,
)

if TYPE_CHECKING:
    from kernelscope.kernel_reader.statements import Scope

OPERATORS: dict[type[ast.operator], BinaryOperator] = {
    ast.Add: BinaryOperator.ADD, ast.Sub: BinaryOperator.SUBTRACT, ast.Mult: BinaryOperator.MULTIPLY,
    ast.FloorDiv: BinaryOperator.FLOOR_DIVIDE, ast.Mod: BinaryOperator.REMAINDER, ast.Div: BinaryOperator.TRUE_DIVIDE,
    ast.BitAnd: BinaryOperator.AND, ast.BitOr: BinaryOperator.OR, ast.BitXor: BinaryOperator.XOR,
    ast.LShift: BinaryOperator.SHIFT_LEFT, ast.RShift: BinaryOperator.SHIFT_RIGHT,
}  # fmt: skip
COMPARE: dict[type[ast.cmpop], BinaryOperator] = {
    ast.Lt: BinaryOperator.LESS, ast.LtE: BinaryOperator.LESS_EQUAL, ast.Gt: BinaryOperator.GREATER,
    ast.GtE: BinaryOperator.GREATER_EQUAL, ast.Eq: BinaryOperator.EQUAL, ast.NotEq: BinaryOperator.NOT_EQUAL,
}  # fmt: skip


class Expressions:
    """Evaluates expressions in the scope of the function being executed."""

    scope: Scope

    def __init__(self, recorder: Recorder, module: SourceModule) -> None:
        from kernelscope.kernel_reader.statements import Scope

        self.recorder = recorder
        self.module = module
        self.scope = Scope({})
        self._constants: dict[str, Value] = {}

    # -- conversions ------------------------------------------------------------------------------------------------

    def node(self, value: Value, span: Span) -> Node:
        """A value as a node; raises NotUnderstood for what is no tensor."""
        if isinstance(value, Static) and isinstance(value.value, bool | int | float):
            return tensor(value, span)
        if isinstance(value, Node):
            return value
        raise NotUnderstood("a value that is no tensor where one is needed")

    def scalar(self, value: Value, span: Span) -> Node | Static:
        """A node or a literal, for operations that type literals by the other side."""
        if isinstance(value, Static) and isinstance(value.value, bool | int | float):
            return value
        return self.node(value, span)

    def call_function(self, function: Function, arguments: list[Value], keywords: dict[str, Value], span: Span) -> Value:
        raise NotImplementedError  # statements.Interpreter

    # -- evaluation -------------------------------------------------------------------------------------------------

    def evaluate(self, node: ast.expr) -> Value:
        """The value of an expression. Raises NotUnderstood where a construct is not modelled."""
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise NotUnderstood(f"the expression {type(node).__name__.lower()}")
        return handler(self, node)

    def _constant(self, node: ast.Constant) -> Value:
        if isinstance(node.value, bool | int | float | str) or node.value is None:
            return Static(node.value)
        raise NotUnderstood("a constant of another kind")

    def _name(self, node: ast.Name) -> Value:
        return self._lookup(node.id)

    def _lookup(self, name: str) -> Value:
        if name in self.scope.names:
            return self.scope.names[name]
        if name in self.module.functions:
            return Function(self.module.functions[name])
        if name in self._constants:
            return self._constants[name]
        if name in self.module.constants:
            self._constants[name] = self._module_constant(self.module.constants[name])
            return self._constants[name]
        if name in self.module.aliases:
            return External(self.module.aliases[name])
        if name in static_values.BUILTINS:
            return External(name)
        raise NotUnderstood(f"the name {name}, which is not defined in the text")

    def _module_constant(self, expression: ast.expr) -> Value:
        value = self.evaluate(expression)
        if not isinstance(value, Static | Items | External):
            raise NotUnderstood("a module constant that is no constexpr")
        return value

    def path_of(self, node: ast.expr) -> str | None:
        """The canonical path of a name of triton's (`triton.language.range`), None when it is something else."""
        name = dotted_name(node)
        if name is None:
            return None
        root, _, rest = name.partition(".")
        if root in self.scope.names or root in self.module.functions:
            return None
        base = self.module.aliases.get(root, root)
        return f"{base}.{rest}" if rest else base

    def _attribute(self, node: ast.Attribute) -> Value:
        path = self.path_of(node)
        if path is not None:
            return external(path)
        receiver = self.evaluate(node.value)
        if isinstance(receiver, External):
            return external(f"{receiver.path}.{node.attr}")
        return self._member(receiver, node.attr)

    def _member(self, receiver: Value, name: str) -> Value:
        match receiver, name:
            case Static(), "value":
                return receiver
            case (BlockPointer() | Descriptor()), "block_shape" | "shape":
                return Items(tuple(Static(n) for n in receiver.block_shape))
            case _:
                pass
        if isinstance(receiver, Node):
            match name:
                case "shape":
                    return Items(tuple(Static(n) for n in receiver.shape))
                case "dtype" | "type" | "scalar":
                    return Static(receiver.type)
                case "T":
                    return calls.transpose(self, receiver, self.recorder.span(_NO_PLACE))
                case _:
                    pass
        if isinstance(receiver, Static):
            kind = receiver.value
            if isinstance(kind, PointerType) and name == "element_ty":
                return Static(kind.element)
            if isinstance(kind, PointerType) and name in ("scalar", "dtype"):
                return receiver
            if name in ("scalar", "element_ty", "dtype"):
                return receiver
            known = static_values.dtype_attribute(kind, name)
            if known is not None:
                return known
        return Method(receiver, name)

    def _binary(self, node: ast.BinOp) -> Value:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        return self.operate(node.op, left, right, self.recorder.span(node))

    def operate(self, operator: ast.operator, left: Value, right: Value, span: Span) -> Value:
        """`left operator right`: on compile-time values in Python's own arithmetic."""
        self.recorder.step()
        if isinstance(left, Static) and isinstance(right, Static):
            return static_values.operate(operator, left, right)
        if isinstance(left, Items) and isinstance(right, Items) and isinstance(operator, ast.Add):
            return Items(left.items + right.items)
        kind = OPERATORS.get(type(operator))
        if kind is None:
            raise NotUnderstood(f"the operator {type(operator).__name__.lower()}")
        result = binary(kind, self.scalar(left, span), self.scalar(right, span), span)
        self.recorder.operations.append(result)
        return result

    def _unary(self, node: ast.UnaryOp) -> Value:
        operand = self.evaluate(node.operand)
        span = self.recorder.span(node)
        if isinstance(operand, Static):
            return static_values.unary(node.op, operand)
        value = self.node(operand, span)
        match node.op:
            case ast.USub():
                return Negate(value, scalar_of(value.type), value.shape, span)
            case ast.Invert():
                return invert(value, span)
            case ast.Not():
                return invert(truth(value, span), span)
            case _:
                return value

    def _compare(self, node: ast.Compare) -> Value:
        span = self.recorder.span(node)
        left = self.evaluate(node.left)
        result: Value | None = None
        for operator, expression in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(expression)
            one = self._comparison(operator, left, right, span)
            result = one if result is None else self._both(result, one, span)
            left = right
        assert result is not None
        return result

    def _comparison(self, operator: ast.cmpop, left: Value, right: Value, span: Span) -> Value:
        if not isinstance(left, Node) and not isinstance(right, Node):
            return static_values.compare(operator, left, right)
        if isinstance(operator, ast.Is | ast.IsNot):
            return Static(isinstance(operator, ast.IsNot))
        kind = COMPARE.get(type(operator))
        if kind is None:
            raise NotUnderstood(f"the comparison {type(operator).__name__.lower()}")
        if isinstance(left, Static) and left.value is None or isinstance(right, Static) and right.value is None:
            return Static(kind is BinaryOperator.NOT_EQUAL)
        result = binary(kind, self.scalar(left, span), self.scalar(right, span), span)
        self.recorder.operations.append(result)
        return result

    def _both(self, left: Value, right: Value, span: Span) -> Value:
        if isinstance(left, Static):
            return right if left.value else left
        if isinstance(right, Static):
            return left if right.value else right
        a, b = alike(span, truth(self.node(left, span), span), truth(self.node(right, span), span))
        return Binary(BinaryOperator.AND, a, b, INT1, a.shape, span)

    def _bool(self, node: ast.BoolOp) -> Value:
        """`and` / `or`: compile-time values decide at once, as in Triton; others combine bitwise."""
        span = self.recorder.span(node)
        is_and = isinstance(node.op, ast.And)
        runtime: list[Node] = []
        last: Value = Static(is_and)
        for expression in node.values:
            value = self.evaluate(expression)
            if isinstance(value, Static | Items):
                decided = bool(value.value) if isinstance(value, Static) else bool(value.items)
                if decided is not is_and:
                    return value if not runtime else self._joined(runtime, is_and, span, decided)
                last = value
            else:
                runtime.append(truth(self.node(value, span), span))
        return self._joined(runtime, is_and, span, None) if runtime else last

    def _joined(self, parts: list[Node], is_and: bool, span: Span, decided: bool | None) -> Value:
        if decided is not None:
            return Static(decided)
        operator = BinaryOperator.AND if is_and else BinaryOperator.OR
        result = parts[0]
        for part in parts[1:]:
            a, b = alike(span, result, part)
            result = Binary(operator, a, b, INT1, a.shape, span)
        return result

    def _if_expression(self, node: ast.IfExp) -> Value:
        test = self.evaluate(node.test)
        if isinstance(test, Static | Items):
            chosen = bool(test.value) if isinstance(test, Static) else bool(test.items)
            return self.evaluate(node.body if chosen else node.orelse)
        span = self.recorder.span(node)
        condition = truth(self.node(test, span), span)
        if condition.shape:
            raise NotUnderstood("a conditional expression on a tensor")
        guards = self.recorder.guards
        self.recorder.observe(condition, span)
        self.recorder.guards = (*guards, condition)
        first = self.evaluate(node.body)
        self.recorder.guards = (*guards, invert(condition, span))
        second = self.evaluate(node.orelse)
        self.recorder.guards = guards
        return where(condition, self.scalar(first, span), self.scalar(second, span), span)

    def _tuple(self, node: ast.Tuple | ast.List) -> Value:
        items: list[Value] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                value = self.evaluate(element.value)
                if not isinstance(value, Items):
                    raise NotUnderstood("a star on something that is no tuple")
                items.extend(value.items)
            else:
                items.append(self.evaluate(element))
        return Items(tuple(items))

    def _joined_string(self, node: ast.JoinedStr) -> Value:
        return Static("")

    def _subscript(self, node: ast.Subscript) -> Value:
        receiver = self.evaluate(node.value)
        span = self.recorder.span(node)
        if isinstance(receiver, Items):
            index = self.evaluate(node.slice)
            if isinstance(index, Static) and isinstance(index.value, int) and -len(receiver.items) <= index.value < len(
                receiver.items
            ):
                return receiver.items[index.value]
            raise NotUnderstood("a tuple index that is no constexpr")
        if isinstance(receiver, Function | External):
            return receiver  # launch or generic brackets: `kernel[grid]`
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return self._sliced(self.node(receiver, span), parts, span)

    def _sliced(self, value: Node, parts: list[ast.expr], span: Span) -> Value:
        axis = 0
        for part in parts:
            if isinstance(part, ast.Constant) and part.value is None:
                shape = (*value.shape[:axis], 1, *value.shape[axis:])
                value = ExpandDims(value, axis, value.type, shape, span)
            elif not (isinstance(part, ast.Slice) and part.lower is part.upper is part.step is None):
                raise NotUnderstood("an index into a tensor")
            axis += 1
        return value

    def _call(self, node: ast.Call) -> Value:
        self.recorder.step()
        function = self.evaluate(node.func)
        arguments: list[Value] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                spread = self.evaluate(argument.value)
                arguments.extend(spread.items if isinstance(spread, Items) else [spread])
            else:
                arguments.append(self.evaluate(argument))
        keywords = {k.arg: self.evaluate(k.value) for k in node.keywords if k.arg}
        span = self.recorder.span(node)
        match function:
            case Function():
                return self.call_function(function, arguments, keywords, span)
            case External(path):
                return calls.call(self, path, arguments, keywords, span)
            case Method(receiver, name):
                return calls.call_method(self, receiver, name, arguments, keywords, span)
            case _:
                raise NotUnderstood("a call of something that is no function")


def external(path: str) -> Value:
    """A name of triton's: a dtype is a compile-time value."""
    head, _, last = path.rpartition(".")
    if head == "triton.language" and last in BY_NAME:
        return Static(BY_NAME[last])
    if head == "triton.language" and last == "constexpr":
        return External(path)
    return External(path)


_NO_PLACE = ast.Constant(None, lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)

_HANDLERS: dict[type, Callable[[Expressions, object], Value]] = {
    ast.Constant: Expressions._constant, ast.Name: Expressions._name, ast.Attribute: Expressions._attribute,
    ast.BinOp: Expressions._binary, ast.UnaryOp: Expressions._unary, ast.Compare: Expressions._compare,
    ast.BoolOp: Expressions._bool, ast.IfExp: Expressions._if_expression, ast.Tuple: Expressions._tuple,
    ast.List: Expressions._tuple, ast.Subscript: Expressions._subscript, ast.Call: Expressions._call,
    ast.JoinedStr: Expressions._joined_string,
}  # type: ignore[dict-item]  # fmt: skip

__all__ = ["INT32", "Expressions", "broadcast_to", "external", "opaque"]
