"""Kernels that compute indices in 64 bits though 32 are enough: their narrower text, to be proved like any other."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from kernelscope.audit.identity import finding_id
from kernelscope.audit.kernels import KernelReader, Readable
from kernelscope.audit.results import Note
from kernelscope.errors import KernelscopeError
from kernelscope.launches.launch import EmbeddedKernel, Launch
from kernelscope.python_syntax import parse_module
from kernelscope.triton_source.index_program import IndexProgram, Span
from kernelscope.triton_source.scalar_types import ScalarType

_INDEX_CALLS = frozenset({"tl.program_id", "tl.arange", "tl.num_programs"})
_TEMPORARY = re.compile(r"tmp\d+")
_WIDE, _NARROW = "tl.int64", "tl.int32"


@dataclass(frozen=True, slots=True)
class TextChange:
    """The characters `column` to `end_column` (from 0) of a line (from 1) become `text`."""

    line: int
    column: int
    end_column: int
    text: str


def narrowing_changes(
    source: str, function: str, wide_arguments: frozenset[str], *, loaded: bool = False
) -> tuple[TextChange, ...]:
    """What makes a kernel's index arithmetic 32 bits wide: casts of program ids and aranges to int64 go, and arguments that
    arrive in 64 bits are cast where they are read. The launch passes what it passed. `loaded`: temporaries in addresses are
    cast too, which are 64 bits wide where they come from an index tensor. Nothing for a text that is not Python, or where
    no cast goes."""
    try:
        tree = parse_module(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    body = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == function), None)
    if body is None:
        return ()
    removed = tuple(_removed_casts(body, source.split("\n")))
    if not removed:
        return ()
    return (*removed, *_cast_arguments(body, wide_arguments), *(_cast_loaded(body) if loaded else ()))


def with_changes(source: str, changes: tuple[TextChange, ...]) -> str:
    """The text after the changes, which do not overlap; lines stay where they are."""
    lines = source.split("\n")
    for change in sorted(changes, key=lambda c: (c.line, c.column), reverse=True):
        line = lines[change.line - 1]
        lines[change.line - 1] = line[: change.column] + change.text + line[change.end_column :]
    return "\n".join(lines)


def _removed_casts(body: ast.FunctionDef, lines: list[str]) -> Iterator[TextChange]:
    for node in ast.walk(body):
        match node:
            case ast.Call(func=ast.Attribute(value=operand, attr="to"), args=[kind]) if (
                ast.unparse(kind) == _WIDE and _is_index(operand) and operand.end_lineno == node.end_lineno
            ):
                assert operand.end_lineno is not None and node.end_col_offset is not None
                place = operand.end_lineno, _dot(lines, operand), node.end_col_offset
                yield TextChange(*place, "")
            case ast.AnnAssign(target=ast.Name(id="INDEX_DTYPE"), value=ast.Attribute() as kind) if (
                ast.unparse(kind) == _WIDE and kind.end_col_offset is not None
            ):
                yield TextChange(kind.lineno, kind.col_offset, kind.end_col_offset, _NARROW)


def _dot(lines: list[str], operand: ast.expr) -> int:
    """Where `.to` begins behind an operand, which may stand in parentheses that the tree does not have."""
    assert operand.end_lineno is not None and operand.end_col_offset is not None
    return lines[operand.end_lineno - 1].index(".to", operand.end_col_offset)


def _is_index(operand: ast.expr) -> bool:
    """Is a value made of program ids and aranges, and of nothing that was loaded?"""
    calls = [ast.unparse(node.func) for node in ast.walk(operand) if isinstance(node, ast.Call)]
    made = [call in _INDEX_CALLS for call in calls]
    return any(made) and all(known or call.endswith(".to") for known, call in zip(made, calls, strict=True))


def _cast_loaded(body: ast.FunctionDef) -> Iterator[TextChange]:
    """`.to(tl.int32)` behind each of Inductor's temporaries in the address of a load or store."""
    for node in ast.walk(body):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("tl.load", "tl.store", "tl.atomic_add") and node.args:
            for name in ast.walk(node.args[0]):
                if isinstance(name, ast.Name) and _TEMPORARY.fullmatch(name.id) and name.end_col_offset is not None:
                    yield TextChange(name.lineno, name.end_col_offset, name.end_col_offset, f".to({_NARROW})")


def _cast_arguments(body: ast.FunctionDef, wide: frozenset[str]) -> Iterator[TextChange]:
    for statement in body.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in wide:
                end = node.end_col_offset
                assert end is not None
                yield TextChange(node.lineno, end, end, f".to({_NARROW})")


# -- the note ----------------------------------------------------------------------------------------------------------


def wide_arguments(program: IndexProgram) -> frozenset[str]:
    """The integer arguments that arrive in 64 bits."""
    types = program.types.items()
    return frozenset(n for n, kind in types if isinstance(kind, ScalarType) and kind.is_integer and kind.bits == 64)


def narrowed(kernel: EmbeddedKernel, program: IndexProgram) -> EmbeddedKernel | None:
    """The kernel with 32-bit indices, not proved yet; None where nothing is to be narrowed."""
    changes = narrowing_changes(kernel.source, kernel.name, wide_arguments(program))
    return replace(kernel, source=with_changes(kernel.source, changes), layout=None) if changes else None


def overwide_note(
    reader: KernelReader, kernel: Readable, launches: Sequence[Launch], program: IndexProgram,
    is_proved: Callable[[IndexProgram, Launch], bool],
) -> Note | None:  # fmt: skip
    """KS501 where the narrowed kernel is proved for every launch."""
    changes = narrowing_changes(kernel.embedded.source, kernel.embedded.name, wide_arguments(program))
    narrow = narrowed(kernel.embedded, program)
    read = reader.read(narrow) if narrow is not None else None
    if not isinstance(read, Readable):
        return None
    try:
        choices = [reader.programs(read, launch) for launch in launches]
    except KernelscopeError:
        return None
    ways = [way for choice in choices for way in zip(choice.programs, choice.launches, strict=True)]
    if not all(is_proved(*way) for way in ways):
        return None
    first = min(changes, key=lambda change: (change.line, change.column))
    span = Span(first.line, first.column, first.line, max(first.end_column, first.column + 1))
    location = kernel.text.location(span)
    expression = kernel.text.lines[first.line - 1].strip()
    identity = finding_id(kernel.embedded.name, "KS501", expression, location.text)
    detail = "64-bit indices, and 32 bits are proved enough in these ranges: `kernelscope patch --narrow` rewrites it"
    return Note(identity, "KS501", location, expression, detail, tuple(launch.index for launch in launches))
