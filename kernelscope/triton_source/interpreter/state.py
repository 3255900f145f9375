"""The interpreter's state: where it is in the kernel, and the program collected so far."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kernelscope.errors import KernelscopeError
from kernelscope.triton_source.index_program import (
    Access,
    Assertion,
    CompileError,
    Loop,
    LoopUpdate,
    Node,
    Observation,
    Shape,
    Span,
    Unmodelled,
)
from kernelscope.triton_source.interpreter.spans import NOWHERE, SpanMap
from kernelscope.triton_source.interpreter.values import JitFunction, Value

#: Bound on the work for one kernel: nodes made and statements executed.
MOST_NODES = 200_000
_MOST_REMARKS = 100


@dataclass(slots=True)
class Frame:
    """One running function: what it returned so far, under which guards (relative to the frame's own)."""

    name: str
    base_guards: int
    base_loops: int
    returns: list[tuple[tuple[Node, ...], Value]]


@dataclass(frozen=True, slots=True)
class Mark:
    """How much of the program had been collected at some point."""

    accesses: int
    loops: int
    assertions: int
    observations: int
    unmodelled: int
    errors: int
    operations: int


class State:
    """What is known while a kernel is interpreted. `at` is the syntax node being evaluated, for spans."""

    def __init__(self, spans: SpanMap, globals_: Mapping[str, Value]) -> None:
        self.spans = spans
        self.globals = globals_
        self.at: ast.expr | ast.stmt | ast.arg | None = None
        self.scope: dict[str, Value] = {}
        self.scope_notes: set[tuple[str, str]] = set()
        self.frames: list[Frame] = []
        self.guards: tuple[Node, ...] = ()
        self.loop_stack: tuple[int, ...] = ()
        self.accesses: list[Access] = []
        self.loops: list[Loop] = []
        self.assertions: list[Assertion] = []
        self.observations: list[Observation] = []
        self.unmodelled: list[Unmodelled] = []
        self.errors: list[CompileError] = []
        self.operations: list[Node] = []
        self.updates: list[LoopUpdate] = []
        self.program_id_spans: dict[int, Span] = {}
        self.shared: dict[tuple[object, ...], Node] = {}
        self.assigned_names: dict[int, tuple[str, ...]] = {}
        self.global_values: dict[str, Value] = {}
        self.descriptors: dict[int, Value] = {}
        self.recording = True
        #: A value of unknown type or shape was met: what looks like an error of types may be none.
        self.guessed = False
        self.work = 0
        self.call: Callable[[State, JitFunction, list[Value], dict[str, Value]], Value]

    @property
    def span(self) -> Span:
        at = self.at
        if at is None:
            return NOWHERE
        return self.spans.known.get(id(at)) or self.spans.of(at)

    def spend(self, amount: int = 1) -> None:
        """Account for work; raises when the kernel asks for too much."""
        self.work += amount
        if self.work > MOST_NODES:
            raise self.failure("the kernel is too large to analyse")

    def failure(self, what: str) -> KernelscopeError:
        """An error at the current line."""
        return KernelscopeError(what, where=f"line {self.span.line}")

    def reject(self, detail: str) -> None:
        """Note that Triton would not compile the current expression, which is certain only where all types are."""
        if self.guessed:
            if not self.unmodelled:
                self.give_up_on(detail)
        elif len(self.errors) < _MOST_REMARKS:
            self.errors.append(CompileError(detail, self.span))

    def give_up_on(self, detail: str) -> None:
        """Note a construct that could touch memory or alter control flow and that is not followed."""
        self.guessed = True
        if len(self.unmodelled) < _MOST_REMARKS:
            self.unmodelled.append(Unmodelled(detail, self.span))

    def promise(self, condition: Node) -> None:
        """A condition that the kernel asserts."""
        self.assertions.append(
            Assertion(condition, self.guards, self.loop_stack, len(self.accesses), self.span)
        )

    def observe(self, condition: Node) -> None:
        self.observations.append(Observation(condition, self.guards, self.loop_stack, self.span))

    def mark(self) -> Mark:
        return Mark(
            len(self.accesses), len(self.loops), len(self.assertions), len(self.observations), len(self.unmodelled),
            len(self.errors), len(self.operations),
        )  # fmt: skip

    def roll_back(self, mark: Mark) -> None:
        """Forget what was collected since `mark`."""
        del self.accesses[mark.accesses :]
        del self.loops[mark.loops :]
        del self.assertions[mark.assertions :]
        del self.observations[mark.observations :]
        del self.unmodelled[mark.unmodelled :]
        del self.errors[mark.errors :]
        del self.operations[mark.operations :]


def element_count(shape: Shape) -> int:
    """Number of lanes of a shape."""
    count = 1
    for extent in shape:
        count *= extent
    return count
