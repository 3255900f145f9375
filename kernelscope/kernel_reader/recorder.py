"""What a kernel does, written down in program order while its body is read."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from kernelscope.errors import KernelscopeError
from kernelscope.kernel_reader.arithmetic import alike, broadcast_to, cast, common_shape, truth
from kernelscope.triton_source.index_program import (
    Access,
    AccessKind,
    Assertion,
    Loaded,
    Loop,
    Node,
    Observation,
    Span,
    Unmodelled,
)
from kernelscope.triton_source.scalar_types import INT1, INT8, PointerType, ScalarType, ValueType

_MOST_RECORDS = 50_000


@dataclass(slots=True)
class _State:
    """Lengths of the records, to take a trial run back."""

    lengths: tuple[int, ...]


class Recorder:
    """Collects accesses, loops, assertions and branch conditions; `guards` and `loops` are those open now."""

    def __init__(self, text: str) -> None:
        self.accesses: list[Access] = []
        self.loops: list[Loop | None] = []
        self.assertions: list[Assertion] = []
        self.observations: list[Observation] = []
        self.unmodelled: list[Unmodelled] = []
        self.operations: list[Node] = []
        self.program_id_spans: dict[int, Span] = {}
        self.guards: tuple[Node, ...] = ()
        self.open_loops: tuple[int, ...] = ()
        self._ascii = text.isascii()
        self._lines = [] if self._ascii else [line.encode() for line in text.splitlines()]
        self._steps = 0

    # -- places -----------------------------------------------------------------------------------------------------

    def span(self, node: ast.expr | ast.stmt | ast.arg) -> Span:
        """The node's range with columns in characters (ast counts bytes)."""
        end_line = node.end_lineno or node.lineno
        end_column = node.end_col_offset or node.col_offset
        if self._ascii:
            return Span(node.lineno, node.col_offset, end_line, end_column)
        return Span(
            node.lineno, self._characters(node.lineno, node.col_offset), end_line, self._characters(end_line, end_column)
        )

    def _characters(self, line: int, column: int) -> int:
        if not 0 < line <= len(self._lines):
            return column
        return len(self._lines[line - 1][:column].decode("utf-8", "replace"))

    def step(self) -> None:
        """Count work; raises KernelscopeError where a kernel would take unbounded time."""
        self._steps += 1
        if self._steps > _MOST_RECORDS:
            raise KernelscopeError("the kernel has more operations than are followed", where="line 1")

    # -- trial runs -------------------------------------------------------------------------------------------------

    def mark(self) -> _State:
        return _State(
            tuple(
                len(part)  # type: ignore[arg-type]
                for part in (
                    self.accesses, self.loops, self.assertions, self.observations, self.unmodelled, self.operations,
                )
            )
        )  # fmt: skip

    def undo(self, state: _State) -> None:
        parts: tuple[list[object], ...] = (
            self.accesses, self.loops, self.assertions, self.observations, self.unmodelled, self.operations,
        )  # type: ignore[assignment]  # fmt: skip
        for part, length in zip(parts, state.lengths, strict=True):
            del part[length:]

    # -- records ----------------------------------------------------------------------------------------------------

    def load(self, pointer: Node, mask: Node | None, other: Node | None, span: Span) -> Node:
        """Record a load; its value."""
        pointer, mask, other = self._aligned(pointer, mask, other, span)
        assert isinstance(pointer.type, PointerType)
        self._add(AccessKind.LOAD, pointer, mask, None, other, span)
        return Loaded(len(self.accesses) - 1, pointer.type.element, pointer.shape, span)

    def store(self, pointer: Node, value: Node, mask: Node | None, span: Span) -> None:
        assert isinstance(pointer.type, PointerType)
        element: ValueType = pointer.type.element
        if element == INT1:
            element = INT8
        if value.type != element:
            value = cast(value, element, value.span, implicit=True)
        parts = [pointer, value, *([mask] if mask is not None else [])]
        shape = common_shape(*parts)
        pointer, value = (broadcast_to(n, shape, span) for n in (pointer, value))
        mask = broadcast_to(mask, shape, span) if mask is not None else None
        self._add(AccessKind.STORE, pointer, mask, value, None, span)

    def atomic(self, pointer: Node, value: Node | None, mask: Node | None, span: Span) -> Node:
        """Record an atomic operation; the old value."""
        parts = [n for n in (pointer, value, mask) if n is not None]
        shape = common_shape(*parts)
        pointer = broadcast_to(pointer, shape, span)
        assert isinstance(pointer.type, PointerType)
        mask = broadcast_to(mask, shape, span) if mask is not None else None
        self._add(AccessKind.ATOMIC, pointer, mask, broadcast_to(value, shape, span) if value else None, None, span)
        return Loaded(len(self.accesses) - 1, pointer.type.element, shape, span)

    def _aligned(
        self, pointer: Node, mask: Node | None, other: Node | None, span: Span
    ) -> tuple[Node, Node | None, Node | None]:
        if mask is not None:
            pointer, mask = alike(span, pointer, truth(mask, span))
        if other is not None and isinstance(other.type, ScalarType):
            pointer, other = alike(span, pointer, other)
            mask = broadcast_to(mask, pointer.shape, span) if mask is not None else None
        return pointer, mask, other

    def _add(
        self, kind: AccessKind, pointer: Node, mask: Node | None, value: Node | None, other: Node | None, span: Span
    ) -> None:
        self.step()
        self.accesses.append(Access(kind, pointer, mask, value, other, self.guards, self.open_loops, span))

    def assume(self, condition: Node, span: Span) -> None:
        self.assertions.append(Assertion(condition, self.guards, self.open_loops, len(self.accesses), span))

    def observe(self, condition: Node, span: Span) -> None:
        self.observations.append(Observation(condition, self.guards, self.open_loops, span))

    def give_up(self, detail: str, span: Span) -> None:
        self.unmodelled.append(Unmodelled(detail, span))

    # -- loops ------------------------------------------------------------------------------------------------------

    def open_loop(self, loop: Loop) -> int:
        self.loops.append(replace(loop, guards=self.guards, loops=self.open_loops))
        index = len(self.loops) - 1
        self.open_loops = (*self.open_loops, index)
        return index

    def close_loop(self) -> None:
        self.open_loops = self.open_loops[:-1]

    def set_condition(self, index: int, condition: Node) -> None:
        loop = self.loops[index]
        assert loop is not None
        self.loops[index] = replace(loop, condition=condition)

    def finished_loops(self) -> list[Loop]:
        return [loop for loop in self.loops if loop is not None]
