"""Integer expressions in Python's syntax, as launch files and Python wrappers write them, to host expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable

from kernelscope.launches.host_arithmetic import apply
from kernelscope.launches.host_expression import (
    HostBinary,
    HostConstant,
    HostExpression,
    HostOperator,
    HostSelect,
    HostType,
    HostUnknown,
)
from kernelscope.launches.scaled_sizes import scaled
from kernelscope.python_syntax import parse_expression

MAX_DEPTH = 100

_BINARY: dict[type[ast.operator], HostOperator] = {
    ast.Add: HostOperator.ADD, ast.Sub: HostOperator.SUBTRACT, ast.Mult: HostOperator.MULTIPLY,
    ast.FloorDiv: HostOperator.FLOOR_DIVIDE, ast.Mod: HostOperator.FLOOR_REMAINDER,
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], tuple[HostOperator, bool]] = {
    ast.Lt: (HostOperator.LESS, False), ast.LtE: (HostOperator.LESS_EQUAL, False), ast.Gt: (HostOperator.LESS, True),
    ast.GtE: (HostOperator.LESS_EQUAL, True), ast.Eq: (HostOperator.EQUAL, False),
    ast.NotEq: (HostOperator.NOT_EQUAL, False),
}  # fmt: skip
_EXTREMA = {"min": HostOperator.MINIMUM, "max": HostOperator.MAXIMUM, "Min": HostOperator.MINIMUM,
            "Max": HostOperator.MAXIMUM}  # fmt: skip
_CDIV = frozenset({"cdiv", "ceildiv", "CeilDiv"})
_ROUNDING = frozenset({"trunc", "floor", "ceil"})
_TO_FLOAT = frozenset({"float", "torch.sym_float"})
_IDENTITY = frozenset({"int", "_launcher_int"})

Resolve = Callable[[str], HostExpression | None]


class UndefinedName(Exception):
    """A name in an expression that nothing defines."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class PythonExpressions:
    """Reads expressions; `resolve` gives a name's value (None: not defined), `kind` the type of the arithmetic.

    `/` between integers is read as a floor division only where `true_division_floors`, as in launch files."""

    def __init__(self, resolve: Resolve, kind: HostType, *, true_division_floors: bool) -> None:
        self._resolve = resolve
        self._kind = kind
        self._true_division_floors = true_division_floors

    def parse(self, text: str) -> HostExpression:
        """The value of `text`; raises SyntaxError where it is not an expression and UndefinedName for a stray name."""
        try:
            body = parse_expression(text.strip()).body
        except (ValueError, RecursionError, MemoryError) as error:
            raise SyntaxError(str(error)) from error
        return self.read(body)

    def read(self, node: ast.expr, depth: int = 0) -> HostExpression:
        """The value of a parsed expression; forms that are not modelled become HostUnknown."""
        if depth > MAX_DEPTH:
            return HostUnknown("…", "the expression is nested too deeply")
        match node:
            case ast.Constant(value=bool() | int() as value):
                return HostConstant(int(value))
            case ast.Name(id=name):
                found = self._resolve(name)
                if found is None:
                    raise UndefinedName(name)
                return found
            case ast.BinOp():
                return self._binary(node, depth)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return apply(HostOperator.SUBTRACT, HostConstant(0), self.read(operand, depth + 1), self._kind)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.read(operand, depth + 1)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return apply(HostOperator.EQUAL, self.read(operand, depth + 1), HostConstant(0), self._kind)
            case ast.IfExp():
                return self._select(node, depth)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                operator, swapped = _COMPARE[type(op)]
                first, second = self.read(left, depth + 1), self.read(right, depth + 1)
                first, second = (second, first) if swapped else (first, second)
                return apply(operator, first, second, self._kind)
            case ast.BoolOp(op=op, values=values):
                operator = HostOperator.AND if isinstance(op, ast.And) else HostOperator.OR
                return self._fold(operator, values, depth)
            case ast.Call():
                return self._call(node, depth)
        return HostUnknown(ast.unparse(node)[:200], "the expression is not modelled")

    def _binary(self, node: ast.BinOp, depth: int) -> HostExpression:
        operator = _BINARY.get(type(node.op))
        if operator is None and isinstance(node.op, ast.Div) and self._true_division_floors:
            operator = HostOperator.FLOOR_DIVIDE
        if isinstance(node.op, ast.Pow):
            return self._power(node, depth)
        if operator is None:
            return HostUnknown(ast.unparse(node)[:200], "the operator is not modelled")
        return apply(operator, self.read(node.left, depth + 1), self.read(node.right, depth + 1), self._kind)

    def _power(self, node: ast.BinOp, depth: int) -> HostExpression:
        base, exponent = self.read(node.left, depth + 1), self.read(node.right, depth + 1)
        if not isinstance(exponent, HostConstant) or not 0 <= exponent.value <= 63:
            return HostUnknown(ast.unparse(node)[:200], "a power whose exponent is not a small constant")
        result: HostExpression = HostConstant(1)
        for _ in range(min(exponent.value, 8 if not isinstance(base, HostConstant) else 63)):
            result = apply(HostOperator.MULTIPLY, base, result, self._kind) if result != HostConstant(1) else base
        if not isinstance(base, HostConstant) and exponent.value > 8:
            return HostUnknown(ast.unparse(node)[:200], "a power that is too large")
        return result

    def _select(self, node: ast.IfExp, depth: int) -> HostExpression:
        condition = self.read(node.test, depth + 1)
        if isinstance(condition, HostConstant):
            return self.read(node.body if condition.value else node.orelse, depth + 1)
        return HostSelect(condition, self.read(node.body, depth + 1), self.read(node.orelse, depth + 1))

    def _fold(self, operator: HostOperator, nodes: list[ast.expr], depth: int) -> HostExpression:
        values = [self.read(node, depth + 1) for node in nodes]
        result = values[0]
        for value in values[1:]:
            result = apply(operator, result, value, self._kind)
        return result

    def _call(self, node: ast.Call, depth: int) -> HostExpression:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else name
        arguments = node.args
        if len(arguments) == 1 and isinstance(arguments[0], (ast.List, ast.Tuple)):
            arguments = arguments[0].elts
        if name in _EXTREMA and arguments and not node.keywords:
            return self._fold(_EXTREMA[name], arguments, depth)
        if name in _CDIV and len(arguments) == 2:
            return ceiling(self.read(arguments[0], depth + 1), self.read(arguments[1], depth + 1), self._kind)
        if name in _ROUNDING and len(arguments) == 1:
            rounded = self._rounded(name, arguments[0], depth)
            if rounded is not None:
                return rounded
        if name in _IDENTITY and len(arguments) == 1:
            return self.read(arguments[0], depth + 1)
        return HostUnknown(ast.unparse(node)[:200], "the function is not modelled")

    def _rounded(self, rounding: str, node: ast.expr, depth: int) -> HostExpression | None:
        """`math.trunc(1.5*torch.sym_float(s0))`."""
        match node:
            case ast.BinOp(
                left=ast.Constant(value=float() as factor), op=ast.Mult(), right=ast.Call(func=made, args=[operand])
            ) if ast.unparse(made) in _TO_FLOAT:
                return scaled(factor, self.read(operand, depth + 1), rounding)
        return None


def ceiling(numerator: HostExpression, divisor: HostExpression, kind: HostType) -> HostExpression:
    """`(numerator + divisor - 1) // divisor`."""
    if divisor == HostConstant(1):
        return numerator
    rounding = apply(HostOperator.SUBTRACT, divisor, HostConstant(1), kind)
    total = apply(HostOperator.ADD, numerator, rounding, kind)
    if isinstance(total, HostConstant) and isinstance(divisor, HostConstant):
        return apply(HostOperator.FLOOR_DIVIDE, total, divisor, kind)
    return HostBinary(HostOperator.FLOOR_DIVIDE, total, divisor, kind)
