"""The syntax of launchers: their parameters and what their statements declare, define and call.

Launchers resemble each other: most of their lines (`uint32_t grid_1 = 1;`, `int32_t var_7 = xnumel;`) stand in many of
one wrapper. A launcher whose every line is a statement is therefore cut at its lines, and each line is parsed once for the
whole wrapper; C++'s syntax does not depend on what stands before. Any other launcher is parsed as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kernelscope.cpp_wrapper.syntax import (
    FunctionSlice,
    Node,
    ParsedFunction,
    argument_nodes,
    field,
    nodes_of_type,
    parse_function,
)
from kernelscope.frozen import frozen_dataclass

_HEAD = re.compile(r"static (?:__attribute__\(\(noinline\)\) )?(?:inline )?void call_\w+\(\n")
_PARAMETER = re.compile(r"    [^/#\n(){};,]+(?=,?\n)")
#: A statement on a line of its own, an array, or a condition with a block of such statements.
_STATEMENT = re.compile(
    r"([^ /#{}\n;][^{};\n]*(?:\{[^{};\n]*\})?;|if \([^{};\n]*\) \{\n(?: +[^ /#{}\n;][^{};\n]*; *\n)* +\})(?: *\n)+ *"
)
_BLANK = re.compile(r"(?: *\n)* *")


@frozen_dataclass(frozen=True, slots=True)
class Parameter:
    """A launcher's parameter and the text of its type."""

    name: str
    kind: str


@frozen_dataclass(frozen=True, slots=True)
class Declaration:
    """`kind name;`"""

    name: str
    kind: str


@frozen_dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """`kind name = value;`. `pointee` is `x` where the value is `reinterpret_cast<…>(x.data_ptr())`."""

    name: str
    kind: str
    text: str
    pointee: str | None
    function: ParsedFunction
    value: Node


@frozen_dataclass(frozen=True, slots=True)
class ArgumentOrder:
    """`void* kernel_args_[] = {&var_0, …};`: the elements without `&`."""

    elements: tuple[str, ...]


@frozen_dataclass(frozen=True, slots=True)
class Call:
    """A call: the callee, its arguments as text, and which of them are string literals."""

    callee: str
    arguments: tuple[str, ...]
    strings: tuple[str, ...]


Effect = Declaration | Definition | ArgumentOrder | Call


@frozen_dataclass(frozen=True, slots=True)
class LauncherSyntax:
    """A launcher's parameters and the effects of its statements, in order."""

    parameters: tuple[Parameter, ...]
    effects: tuple[Effect, ...]


class LauncherParser:
    """Parses the launchers of one wrapper."""

    def __init__(self) -> None:
        self._parameters: dict[str, Parameter | None] = {}
        self._statements: dict[str, tuple[Effect, ...]] = {}

    def parse(self, function: FunctionSlice) -> LauncherSyntax | None:
        """The syntax of a launcher, None where its C++ has an error; raises MissingField where it is not as expected."""
        pieces = _pieces(function.text)
        if pieces is not None and self._learn(function, *pieces):
            parameters, statements = pieces
            known = (self._parameters[piece] for piece in parameters)
            effects = tuple(effect for piece in statements for effect in self._statements[piece])
            return LauncherSyntax(tuple(p for p in known if p is not None), effects)
        parsed = parse_function(function)
        if parsed is None:
            return None
        found = (_parameter(parsed, node) for node in parsed.parameters)
        effects = tuple(effect for node in parsed.body.named_children for effect in _effects(parsed, node))
        return LauncherSyntax(tuple(p for p in found if p is not None), effects)

    def _learn(self, function: FunctionSlice, parameters: Sequence[str], statements: Sequence[str]) -> bool:
        """Parse the pieces that are new; whether each is one parameter or statement."""
        new_parameters = [piece for piece in dict.fromkeys(parameters) if piece not in self._parameters]
        new_statements = [piece for piece in dict.fromkeys(statements) if piece not in self._statements]
        if not new_parameters and not new_statements:
            return True
        text = f"void {function.name}(\n{','.join(new_parameters)}\n){{\n{chr(10).join(new_statements)}\n}}\n"
        parsed = parse_function(FunctionSlice(function.name, function.file, text, function.first_line))
        if parsed is None:
            return False
        nodes = parsed.body.named_children
        if len(parsed.parameters) != len(new_parameters) or len(nodes) != len(new_statements):
            return False
        self._parameters.update(
            (piece, _parameter(parsed, node)) for piece, node in zip(new_parameters, parsed.parameters, strict=True)
        )
        self._statements.update(
            (piece, tuple(_effects(parsed, node))) for piece, node in zip(new_statements, nodes, strict=True)
        )
        return True


def _pieces(text: str) -> tuple[list[str], list[str]] | None:
    """The parameters and statements of a launcher as texts; None where it can't be cut at its lines."""
    head = _HEAD.match(text)
    if head is None:
        return None
    parameters: list[str] = []
    place = head.end()
    while found := _PARAMETER.match(text, place):
        parameters.append(found[0])
        place = found.end() + 1
        if text[place - 1] == ",":
            place += 1
            continue
        break
    if not text.startswith("){\n", place):
        return None
    statements: list[str] = []
    blank = _BLANK.match(text, place + 2)
    place = blank.end() if blank else place
    while found := _STATEMENT.match(text, place):
        statements.append(found[1])
        place = found.end()
    return (parameters, statements) if text[place:] == "}" else None


def _parameter(function: ParsedFunction, node: Node) -> Parameter | None:
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "identifier":
        declarator = declarator.named_children[-1] if declarator.named_children else None
    if declarator is None:
        return None
    return Parameter(function.text(declarator), function.text(field(node, "type")))


def _effects(function: ParsedFunction, statement: Node) -> Iterator[Effect]:
    """What a statement declares and calls, in a block inside it too."""
    if statement.type == "declaration":
        yield from _declared(function, statement)
        return
    for node in nodes_of_type(statement, "declaration", "call_expression"):
        if node.type == "declaration":
            yield from _declared(function, node)
        else:
            arguments = argument_nodes(node)
            strings = tuple(function.text(n) for n in arguments if n.type in ("string_literal", "concatenated_string"))
            yield Call(function.text(field(node, "function")), tuple(map(function.text, arguments)), strings)


def _declared(function: ParsedFunction, node: Node) -> Iterator[Effect]:
    kind = function.text(field(node, "type"))
    for declarator in node.children_by_field_name("declarator"):
        if declarator.type == "identifier":
            yield Declaration(function.text(declarator), kind)
        elif declarator.type == "init_declarator":
            target, value = field(declarator, "declarator"), field(declarator, "value")
            text = function.text(target)
            if target.type == "identifier":
                yield Definition(text, kind, function.text(value), _pointee(function, value), function, value)
            elif text.endswith("kernel_args_[]"):
                yield ArgumentOrder(tuple(function.text(n).lstrip("&") for n in value.named_children))


def _pointee(function: ParsedFunction, value: Node) -> str | None:
    """`x` in `reinterpret_cast<CUdeviceptr>(x.data_ptr())`."""
    arguments = argument_nodes(value) if value.type == "call_expression" else ()
    method = arguments[0].child_by_field_name("function") if len(arguments) == 1 else None
    if method is None or method.type != "field_expression" or function.text(field(method, "field")) != "data_ptr":
        return None
    return function.text(field(method, "argument"))
