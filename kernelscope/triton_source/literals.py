"""The facts in an Inductor decorator: literals, with calls such as `DeviceProperties(…)` among them."""

from __future__ import annotations

import ast
from collections.abc import Mapping


def read_table(node: ast.expr | None) -> dict[str, object]:
    """A dict display's values, or `dict(key=value)`'s, by their text keys."""
    return {key: value for key, value in _table(literal(node)).items() if isinstance(key, str)}


def by_parameter(table: object, parameters: tuple[str, ...]) -> dict[str, object]:
    """A table by parameter, each given by its name, by its number, or by a path of one number."""
    return {_parameter(key, parameters): value for key, value in _table(table).items()}


def literal(node: ast.expr | None) -> object:
    """The value of a literal; a name in it becomes None, a call the table of its keyword arguments."""
    match node:
        case None:
            return None
        case ast.Constant(value=value):
            return value
        case ast.Dict(keys=keys, values=values):
            pairs = ((literal(key), literal(value)) for key, value in zip(keys, values, strict=True))
            return {key: value for key, value in pairs if _hashable(key)}
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            items = [literal(element) for element in elements]
            return tuple(items) if isinstance(node, ast.Tuple) else items
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            number = literal(operand)
            return -number if isinstance(number, (int, float)) else None
        case ast.Call(keywords=keywords):
            return {keyword.arg: literal(keyword.value) for keyword in keywords}
        case _:
            return None


def _hashable(value: object) -> bool:
    return isinstance(value, (str, int, float, bool, type(None))) or (
        isinstance(value, tuple) and all(map(_hashable, value))
    )


def _table(value: object) -> Mapping[object, object]:
    return value if isinstance(value, Mapping) else {}


def _parameter(key: object, parameters: tuple[str, ...]) -> str:
    while isinstance(key, tuple) and len(key) == 1:
        key = key[0]
    if isinstance(key, int) and 0 <= key < len(parameters):
        return parameters[key]
    return str(key)
