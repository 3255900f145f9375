"""A launcher of a C++ wrapper as patches see it: its arguments and its grid, located by tree-sitter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kernelscope.cpp_wrapper.embedded_kernel import embedded_kernel, without_comment
from kernelscope.cpp_wrapper.syntax import FunctionSlice, Node, ParsedFunction, field, nodes_of_type, parse_function
from kernelscope.errors import KernelscopeError
from kernelscope.rewrite.edits import Edit, Replacement, insertion
from kernelscope.triton_source.index_program import Span


@dataclass(frozen=True, slots=True)
class PassedScalar:
    """`int32_t var_3 = xnumel;`: the declared type and variable, and where the type's text lies in the file."""

    type: str
    variable: str
    value: str
    type_span: Span
    span: Span


@dataclass(frozen=True, slots=True)
class GridDimension:
    """`uint32_t grid_0 = …;`"""

    name: str
    type: str
    value: str
    span: Span
    value_span: Span
    indent: int


@dataclass(frozen=True, slots=True)
class LauncherView:
    """One launcher. `widened`: the kernel's parameters that became 64 bits wide. Spans are positions in the file."""

    name: str
    file: str
    scalars: tuple[PassedScalar, ...]
    grid: tuple[GridDimension, ...]
    parameters: Mapping[str, str]  # the launcher's own, name to C type
    widened: frozenset[str]

    def retyped(self, scalar: PassedScalar, type_: str) -> Edit:
        return Edit((Replacement(scalar.type_span, type_),), scalar.span)

    def inserted_after(self, dimension: GridDimension, statement: str) -> Edit:
        place = dimension.span
        text = "\n" + " " * dimension.indent + statement
        return Edit((insertion(place.end_line, place.end_column, text),), place)


def launcher_view(function: FunctionSlice, widened: frozenset[str]) -> LauncherView:
    """The view of one launcher; KernelscopeError where it can't be parsed."""
    bare = without_comment(function) if embedded_kernel(function) is not None else function
    parsed = parse_function(bare)
    if parsed is None:
        raise KernelscopeError("the launcher can't be parsed", where=f"{function.file}: line {function.first_line}")
    scalars: list[PassedScalar] = []
    grid: list[GridDimension] = []
    for declaration in nodes_of_type(parsed.body, "declaration"):
        for declarator in declaration.children_by_field_name("declarator"):
            if declarator.type == "init_declarator":
                _declared(parsed, declaration, declarator, scalars, grid)
    parameters = dict(_parameters(parsed))
    return LauncherView(
        function.name.removeprefix("call_"), function.file, tuple(scalars), tuple(grid), parameters, widened
    )


def _declared(
    parsed: ParsedFunction, declaration: Node, declarator: Node, scalars: list[PassedScalar], grid: list[GridDimension]
) -> None:
    name, value = parsed.text(field(declarator, "declarator")), field(declarator, "value")
    kind = field(declaration, "type")
    if name.startswith("var_"):
        scalars.append(
            PassedScalar(parsed.text(kind), name, parsed.text(value), _span(parsed, kind), _span(parsed, declaration))
        )
    elif name.startswith("grid_"):
        grid.append(
            GridDimension(
                name,
                parsed.text(kind),
                parsed.text(value),
                _span(parsed, declaration),
                _span(parsed, value),
                declaration.start_point[1],
            )
        )


def _parameters(parsed: ParsedFunction) -> Iterator[tuple[str, str]]:
    for parameter in parsed.parameters:
        declarator = parameter.child_by_field_name("declarator")
        kind = parameter.child_by_field_name("type")
        if declarator is not None and kind is not None:
            yield parsed.text(declarator).lstrip("&* "), parsed.text(kind)


def _span(parsed: ParsedFunction, node: Node) -> Span:
    """Columns are counted in characters, as everywhere."""
    first = parsed.slice.first_line
    lines = parsed.source.split(b"\n")
    (row, column), (end_row, end_column) = node.start_point, node.end_point
    start = len(lines[row][:column].decode("utf-8", "replace"))
    end = len(lines[end_row][:end_column].decode("utf-8", "replace"))
    return Span(first + row, start, first + end_row, end)
