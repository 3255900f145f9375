"""The numbers of a launch in a wrapper that a recompiled kernel may change: shared memory and warps."""

from __future__ import annotations

from collections.abc import Iterator

from kernelscope.cpp_wrapper.embedded_kernel import embedded_kernel, without_comment
from kernelscope.cpp_wrapper.syntax import (
    FunctionSlice,
    Node,
    ParsedFunction,
    argument_nodes,
    nodes_of_type,
    parse_function,
)
from kernelscope.errors import KernelscopeError
from kernelscope.rewrite.edits import Edit, Replacement
from kernelscope.triton_source.index_program import Span

#: Positions of the shared memory in `loadKernel`, of warps and shared memory in `launchKernel` (torch 2.8 to 2.14).
_SHARED_AT_LOAD = 2
_WARPS_AT_LAUNCH, _SHARED_AT_LAUNCH = 4, 5


def with_launch_facts(function: FunctionSlice, num_warps: int, shared_bytes: int) -> list[Edit]:
    """Edits that give a launcher these numbers; none where it has them. KernelscopeError where they aren't found."""
    bare = without_comment(function) if embedded_kernel(function) is not None else function
    parsed = parse_function(bare)
    if parsed is None:
        raise KernelscopeError("the launcher can't be parsed", where=f"{function.file}: line {function.first_line}")
    wanted = {
        "loadKernel": {_SHARED_AT_LOAD: shared_bytes},
        "launchKernel": {_WARPS_AT_LAUNCH: num_warps, _SHARED_AT_LAUNCH: shared_bytes},
    }
    edits: list[Edit] = []
    seen: set[str] = set()
    for call in nodes_of_type(parsed.body, "call_expression"):
        callee = call.child_by_field_name("function")
        name = parsed.text(callee) if callee is not None else ""
        if name in wanted:
            seen.add(name)
            edits += _numbers(parsed, call, wanted[name])
    if seen != set(wanted):
        raise KernelscopeError("no load or no launch in the launcher", where=function.file)
    return edits


def _numbers(parsed: ParsedFunction, call: Node, wanted: dict[int, int]) -> Iterator[Edit]:
    arguments = argument_nodes(call)
    for position, value in wanted.items():
        node = arguments[position] if position < len(arguments) else None
        if node is None or not parsed.text(node).isdigit():
            raise KernelscopeError("a launch has another form than is known", where=parsed.slice.file)
        if int(parsed.text(node)) != value:
            span = _span(parsed, node)
            yield Edit((Replacement(span, str(value)),), span)


def _span(parsed: ParsedFunction, node: Node) -> Span:
    first = parsed.slice.first_line
    (row, column), (end_row, end_column) = node.start_point, node.end_point
    return Span(first + row, column, first + end_row, end_column)
