"""The nesting of a model's call, as torch records it, and `dynamic_shapes` written in the same nesting."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kernelscope.errors import KernelscopeError

_TUPLES = ("builtins.tuple", "collections.namedtuple", "torch.Size")
_MOST_NONES = 4
_DICTS = ("builtins.dict", "collections.OrderedDict", "collections.defaultdict")


@dataclass(frozen=True, slots=True)
class CallNode:
    """A node of the nesting: `keys` of a dict, `children`; a leaf has `kind` None and is one input."""

    kind: str | None
    keys: tuple[str, ...]
    children: tuple[CallNode, ...]


@dataclass(frozen=True, slots=True)
class CallTree:
    """The arguments of `forward`, positional ones first. `names` is None where only their order is known."""

    arguments: tuple[CallNode, ...]
    names: tuple[str, ...] | None


def read_call_tree(spec: str, names: Sequence[str] | None = None) -> CallTree:
    """From the JSON of `torch.utils._pytree.treespec_dumps`; KernelscopeError when it is none."""
    try:
        version_and_root = json.loads(spec)
        root = _node(version_and_root[1])
    except (ValueError, LookupError, TypeError, RecursionError):
        raise KernelscopeError("the nesting of the model's inputs is not readable") from None
    if len(root.children) != 2:
        raise KernelscopeError("the model's inputs are not recorded as positional and keyword arguments")
    positional, keywords = root.children
    arguments = (*positional.children, *keywords.children)
    given = tuple(names) if names is not None and len(names) == len(arguments) else None
    return CallTree(arguments, given)


def _node(value: dict[str, object]) -> CallNode:
    kind, context, children = value["type"], value.get("context"), value["children_spec"]
    if kind is not None and not isinstance(kind, str) or not isinstance(children, list):
        raise TypeError
    keys: tuple[str, ...] = ()
    if kind in _DICTS and isinstance(context, str):
        found = json.loads(context)
        names = found[-1] if kind == "collections.defaultdict" and isinstance(found, list) and found else found
        keys = tuple(repr(key) for key in names) if isinstance(names, list) else ()
    return CallNode(kind, keys, tuple(_node(child) for child in children))


def dynamic_shapes_text(tree: CallTree, leaf: Callable[[int], str | None]) -> str:
    """Python for `dynamic_shapes`: `leaf` gives the text for an input by its number, None for one with static sizes only.

    torch wants the nesting in full, also where nothing in it is dynamic (torch/export/dynamic_shapes.py, 2.14)."""
    numbers = iter(range(1 << 30))
    texts = [_text(argument, numbers, leaf) for argument in tree.arguments]
    if tree.names is not None:
        return "{" + ", ".join(f'"{name}": {text}' for name, text in zip(tree.names, texts, strict=True)) + "}"
    return _sequence("(", texts, ")")


def _text(node: CallNode, numbers: Iterator[int], leaf: Callable[[int], str | None]) -> str:
    if node.kind is None:
        return leaf(next(numbers)) or "None"
    texts = [_text(child, numbers, leaf) for child in node.children]
    if node.kind in _DICTS and len(node.keys) == len(texts):
        return "{" + ", ".join(f"{key}: {text}" for key, text in zip(node.keys, texts, strict=True)) + "}"
    return _sequence("(", texts, ")") if node.kind in _TUPLES else _sequence("[", texts, "]")


def _sequence(start: str, texts: Sequence[str], end: str) -> str:
    """A tuple or list; a long one of static inputs (weights) as `[None] * 152`."""
    comma = "," if start == "(" and len(texts) == 1 else ""
    if len(texts) > _MOST_NONES and set(texts) == {"None"}:
        return f"{start}None{',' if start == '(' else ''}{end} * {len(texts)}"
    return f"{start}{', '.join(texts)}{comma}{end}"
