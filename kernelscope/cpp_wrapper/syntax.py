"""C++ syntax trees of single functions, with positions in the whole file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import tree_sitter
import tree_sitter_cpp

from kernelscope.launches.launch import SourcePosition

Node = tree_sitter.Node


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))


@dataclass(frozen=True, slots=True)
class FunctionSlice:
    """One function cut out of a wrapper: its text and where that starts."""

    name: str
    file: str
    text: str
    first_line: int

    def position(self, line_offset: int = 0, column: int = 0) -> SourcePosition:
        return SourcePosition(self.file, self.first_line + line_offset, column)


@dataclass(frozen=True, slots=True)
class ParsedFunction:
    """A function's tree; `body` and `parameters` are free of syntax errors."""

    slice: FunctionSlice
    source: bytes
    parameters: tuple[Node, ...]
    body: Node

    def text(self, node: Node) -> str:
        return str(self.source[node.start_byte : node.end_byte], "utf-8", "replace")

    def position(self, node: Node) -> SourcePosition:
        row, column = node.start_point
        return self.slice.position(row, column)


def parse_function(function: FunctionSlice) -> ParsedFunction | None:
    """The tree of `function`, or None where it holds any syntax error or is not one function."""
    source = function.text.encode("utf-8", "replace")
    root = _parser().parse(source).root_node
    if root.has_error or root.named_child_count != 1:
        return None
    definition = root.named_children[0]
    body = definition.child_by_field_name("body")
    declarator = definition.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator")
    if definition.type != "function_definition" or body is None or declarator is None:
        return None
    parameters = declarator.child_by_field_name("parameters")
    return ParsedFunction(function, source, tuple(parameters.named_children) if parameters else (), body)


def field(node: Node, name: str) -> Node:
    """The child in field `name`; the caller knows from the grammar that it is there."""
    child = node.child_by_field_name(name)
    if child is None:
        raise MissingField(f"{node.type} has no {name}")
    return child


class MissingField(Exception):
    """A node lacks a field that the grammar promises; the statement around it becomes an unknown."""


def unwrapped(node: Node) -> Node:
    """`node` without the parentheses around it."""
    while node.type in ("parenthesized_expression", "condition_clause") and node.named_child_count == 1:
        node = node.named_children[0]
    return node


def argument_nodes(call: Node) -> tuple[Node, ...]:
    """The arguments of a call expression."""
    arguments = call.child_by_field_name("arguments")
    return tuple([n for n in arguments.named_children if n.type != "comment"]) if arguments else ()


_LEAVES = frozenset({"identifier", "number_literal", "field_identifier", "type_identifier", "primitive_type", "comment"})


def nodes_of_type(node: Node, *types: str) -> Iterator[Node]:
    """Every node of the given types below `node`, in source order."""
    stack = [node]
    while stack:
        current = stack.pop()
        kind = current.type
        if kind in types:
            yield current
        if kind not in _LEAVES:
            stack.extend(reversed(current.named_children))
