"""The facts in an Inductor decorator: literals, with calls such as `DeviceProperties(…)` among them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

_DIVISIBILITY = "tt.divisibility"


@dataclass(frozen=True, slots=True)
class DecoratorFacts:
    """`triton_meta` and `inductor_meta`, as far as they are literals."""

    signature: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, object] = field(default_factory=dict)
    divisibility: Mapping[str, int] = field(default_factory=dict)
    inductor_meta: Mapping[str, object] = field(default_factory=dict)
    size_hints: Mapping[str, object] = field(default_factory=dict)


def read_keywords(decorator: ast.Call | None, parameters: tuple[str, ...]) -> DecoratorFacts:
    """The facts in a decorator's keyword arguments."""
    keywords = {k.arg: k.value for k in decorator.keywords if k.arg is not None} if decorator is not None else {}
    meta = _entries(keywords.get("triton_meta"))
    signature = _table(literal(meta.get("signature")))
    configs = literal(meta.get("configs"))
    first = configs[0] if isinstance(configs, (list, tuple)) and configs else None
    return DecoratorFacts(
        {_parameter(key, parameters): str(kind) for key, kind in signature.items()},
        {_parameter(key, parameters): value for key, value in _table(literal(meta.get("constants"))).items()},
        _divisibility(first, parameters),
        {str(key): value for key, value in _table(literal(keywords.get("inductor_meta"))).items()},
        {str(key): value for key, value in _table(literal(keywords.get("size_hints"))).items()},
    )


def literal(node: ast.expr | None) -> object:
    """The value of a literal; a call or name in it becomes None, or its arguments' table."""
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


def _entries(node: ast.expr | None) -> dict[str, ast.expr]:
    """A dict display's values by their text keys, or `dict(key=value)`'s."""
    match node:
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return {k.value: v for k, v in pairs if isinstance(k, ast.Constant) and isinstance(k.value, str)}
        case ast.Call(keywords=keywords):
            return {k.arg: k.value for k in keywords if k.arg is not None}
        case _:
            return {}


def _table(value: object) -> dict[object, object]:
    return value if isinstance(value, dict) else {}


def _parameter(key: object, parameters: tuple[str, ...]) -> str:
    """A parameter's name, given by name, by number, or by a path of one number."""
    while isinstance(key, tuple) and len(key) == 1:
        key = key[0]
    if isinstance(key, int) and 0 <= key < len(parameters):
        return parameters[key]
    return str(key)


def _divisibility(config: object, parameters: tuple[str, ...]) -> dict[str, int]:
    """Parameters that a config (of triton 3.4 on: `{(0,): [['tt.divisibility', 16]]}`) promises to be multiples."""
    found: dict[str, int] = {}
    for key, attributes in _table(config).items():
        for attribute in attributes if isinstance(attributes, list) else ():
            match attribute:
                case [kind, int(multiple)] if kind == _DIVISIBILITY:
                    found[_parameter(key, parameters)] = multiple
                case _:
                    pass
    return found
