"""A launcher of a C++ wrapper as patches see it: its arguments and its grid, located by tree-sitter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernelscope.cpp_wrapper.embedded_kernel import embedded_kernel, without_comment
from kernelscope.cpp_wrapper.syntax import FunctionSlice, Node, ParsedFunction, field, nodes_of_type, parse_function
from kernelscope.errors import KernelscopeError
from kernelscope.rewrite.edits import Edit, Replacement, insertion
from kernelscope.triton_source.index_program import Span

_WIDE = ("int64_t", "uint64_t", "long", "long long", "size_t")


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
    """`uint32_t grid_0 = …;`, or a variable that a dimension is computed from (`uint32_t y_grid_raw_ = …;`)."""

    name: str
    type: str
    value: str
    span: Span
    value_span: Span
    indent: int


@dataclass(frozen=True, slots=True)
class LauncherView:
    """One launcher. `grid`: the dimensions, and in their order the variables that these are computed from. `widened`: the
    kernel's parameters that became 64 bits wide. Spans are positions in the file."""

    name: str
    file: str
    scalars: tuple[PassedScalar, ...]
    grid: tuple[GridDimension, ...]
    parameters: Mapping[str, str]  # the launcher's own, name to C type
    widened: frozenset[str]

    def retyped(self, scalar: PassedScalar, type_: str) -> Edit:
        return Edit((Replacement(scalar.type_span, type_),), scalar.span)

    def in_64_bits(self, dimension: GridDimension) -> str:
        """Its value with the narrow variables of the grid in it cast, so that it does not wrap as they would."""
        names = [other.name for other in self.grid if other.type not in _WIDE]
        pattern = rf"\b(?:{'|'.join(map(re.escape, names))})\b"
        return re.sub(pattern, lambda found: f"int64_t({found[0]})", dimension.value) if names else dimension.value

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
    variables: list[GridDimension] = []
    for declaration in nodes_of_type(parsed.body, "declaration"):
        for declarator in declaration.children_by_field_name("declarator"):
            if declarator.type == "init_declarator":
                _declared(parsed, declaration, declarator, scalars, variables)
    parameters = dict(_parameters(parsed))
    return LauncherView(
        function.name.removeprefix("call_"), function.file, tuple(scalars), _grid(variables), parameters, widened
    )


def _grid(variables: Sequence[GridDimension]) -> tuple[GridDimension, ...]:
    """The dimensions and what they are computed from, in the order of the file."""
    kept: list[GridDimension] = []
    read: set[str] = set()
    for variable in reversed(variables):
        if variable.name.startswith("grid_") or variable.name in read:
            kept.append(variable)
            read.update(re.findall(r"\w+", variable.value))
    return tuple(reversed(kept))


def _declared(
    parsed: ParsedFunction, declaration: Node, declarator: Node, scalars: list[PassedScalar],
    variables: list[GridDimension],
) -> None:  # fmt: skip
    name, value = parsed.text(field(declarator, "declarator")), field(declarator, "value")
    kind = field(declaration, "type")
    if name.startswith("var_"):
        scalars.append(
            PassedScalar(parsed.text(kind), name, parsed.text(value), _span(parsed, kind), _span(parsed, declaration))
        )
    else:
        variables.append(
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
