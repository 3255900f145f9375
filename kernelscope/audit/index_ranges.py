"""The type and range of every index expression of a kernel, by its place in the source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import floor

from kernelscope.audit import conditions
from kernelscope.audit.coordinates import Coordinates, fitting, operand_coordinates
from kernelscope.audit.evaluation import Evaluator, NeedsCase, fork
from kernelscope.audit.evidence import least_bound
from kernelscope.audit.index_nodes import IndexNodes
from kernelscope.audit.launch_analysis import LaunchAnalyser
from kernelscope.bounds.proof import Constraints
from kernelscope.bounds.space import UNBOUNDED
from kernelscope.triton_source.index_program import (
    COMPARISONS,
    Access,
    AccessKind,
    Binary,
    Broadcast,
    Carried,
    Cast,
    Constant,
    ExpandDims,
    Loaded,
    Node,
    Permute,
    Span,
    Where,
)
from kernelscope.triton_source.operands import operands
from kernelscope.triton_source.scalar_types import ScalarType

#: Conditions that one expression is told apart by, one below the other; beyond, its range is not told.
_MOST_CONDITIONS = 6


@dataclass(frozen=True, slots=True)
class IndexRange:
    """An integer expression: its type, and the exact values that it has, without wrapping, at all sizes considered on the
    lanes that access memory with it (None: no bound). A condition has no range of its own: `compared` are its two sides,
    on every lane that it is computed for. `operator`: of the outermost operation, where it is one of two operands."""

    span: Span
    type: str
    minimum: int | None
    maximum: int | None
    fits: bool
    operator: str = ""
    compared: tuple[IndexRange, ...] = ()


def index_ranges(analysers: Iterable[LaunchAnalyser]) -> tuple[IndexRange, ...]:
    """What the expressions of one kernel reach in any of its launches, in the order of the text; of the same text the
    whole before its parts."""
    found = _Found()
    for analyser in analysers:
        if not analyser.result.impossible and not analyser.result.program.compile_errors:
            _Launch(analyser, found).read()
    return tuple(sorted(found.all(), key=lambda r: (r.span.line, r.span.column, -r.span.end_line, -r.span.end_column)))


class _Found:
    """Ranges by place, joined. What addresses are made of counts before what only conditions read."""

    def __init__(self) -> None:
        self.live: dict[Span, IndexRange] = {}
        self.read: dict[Span, IndexRange] = {}
        self.conditions: dict[Span, IndexRange] = {}

    def all(self) -> Iterator[IndexRange]:
        yield from {**self.read, **self.live}.values()
        yield from (c for span, c in self.conditions.items() if span not in self.live and span not in self.read)


def _add(kept: dict[Span, IndexRange], one: IndexRange) -> None:
    known = kept.get(one.span)
    kept[one.span] = one if known is None else _joined(known, one)


def _joined(first: IndexRange, second: IndexRange) -> IndexRange:
    """Either of two values of one expression, as in two launches; under two types, both are named."""
    lows, highs = (first.minimum, second.minimum), (first.maximum, second.maximum)
    types = first.type if second.type in first.type.split(" or ") else f"{first.type} or {second.type}"
    sides = tuple(_joined(a, b) for a, b in zip(first.compared, second.compared, strict=False))
    return replace(
        first, type=types, fits=first.fits and second.fits, compared=sides,
        minimum=None if None in lows else min(v for v in lows if v is not None),
        maximum=None if None in highs else max(v for v in highs if v is not None),
    )  # fmt: skip


class _Launch:
    """One launch under one choice of block sizes."""

    def __init__(self, analyser: LaunchAnalyser, found: _Found) -> None:
        self._analyser = analyser
        self._program = analyser.result.program
        self._nodes = IndexNodes(self._program.updates)
        self._found = found

    def read(self) -> None:
        """Add what addresses, stored indices, masks, loop bounds and branch conditions are made of."""
        collector = self._analyser.collector
        for access in self._program.accesses:
            for context in collector.live_contexts(access):
                self._visit(context, self._roots(access), context.lane_coordinates(access.pointer.shape), self._found.live)
        for access in self._program.accesses:
            if access.mask is not None:
                for context in collector.base_contexts(access.guards, access.loops):
                    lanes = context.lane_coordinates(access.pointer.shape)
                    self._visit(context, (access.mask,), lanes, self._found.read)
        for loop in self._program.loops:
            bounds = [n for n in (loop.start, loop.end, loop.step, loop.condition) if n is not None]
            for context in collector.base_contexts(loop.guards, loop.loops):
                self._visit(context, bounds, (), self._found.read)
        for observation in self._program.observations:
            for context in collector.base_contexts(observation.guards, observation.loops):
                self._visit(context, (observation.condition,), (), self._found.read)

    def _roots(self, access: Access) -> list[Node]:
        stored = access.value if access.kind is not AccessKind.LOAD else None
        if stored is not None and self._nodes.holds_index(stored) and stored.shape == access.pointer.shape:
            return [access.pointer, stored]
        return [access.pointer]

    def _visit(
        self, context: Evaluator, roots: Sequence[Node], lanes: Coordinates, kept: dict[Span, IndexRange], depth: int = 0
    ) -> None:
        """Add the ranges below the roots; where a value depends on a condition, those with it true and with it false."""
        context.space.set_box(self._analyser.result.box)
        walk = _Walk(context, self._analyser.prover.constraints, lenient=depth >= _MOST_CONDITIONS)
        try:
            for root in roots:
                walk.below(root, fitting(root, lanes))
        except NeedsCase as undecided:
            for truth in (True, False):
                branch = fork(context)
                if _assumed(branch, undecided, truth):
                    self._visit(branch, roots, lanes, kept, depth + 1)
            return
        for one in walk.ranges:
            _add(kept, one)
        for one in walk.conditions:
            _add(self._found.conditions, one)


def _assumed(branch: Evaluator, undecided: NeedsCase, truth: bool) -> bool:
    try:
        facts = list(conditions.literals(undecided.condition, undecided.coordinates, truth))
        if not conditions.assume(branch, facts):
            return False
    except NeedsCase:
        pass  # the condition depends on another one: without it the ranges are wider
    branch.decide(undecided.condition, undecided.coordinates, truth)
    return True


class _Walk:
    """Ranges of the nodes below an expression in one context."""

    def __init__(self, context: Evaluator, constraints: Constraints, lenient: bool) -> None:
        self._context = context
        self._constraints = constraints
        self._lenient = lenient
        self._seen: set[tuple[int, Coordinates]] = set()
        self.ranges: list[IndexRange] = []
        self.conditions: list[IndexRange] = []

    def below(self, node: Node, lanes: Coordinates, within: Span | None = None) -> None:
        """`within`: the place of the expression that the node is part of; at the same place it is a step inside it."""
        key = (id(node), lanes)
        if key in self._seen:
            return
        self._seen.add(key)
        if isinstance(node, Binary) and node.operator in COMPARISONS:
            self._condition(node, lanes)
        elif _is_told(node):
            if node.span != within:
                self.ranges.append(self._range(node, lanes))
            within = node.span
        for part, where in self._parts(node, lanes):
            self.below(part, where, within)

    def _parts(self, node: Node, lanes: Coordinates) -> Iterator[tuple[Node, Coordinates]]:
        match node:
            case Loaded():
                pass  # its address belongs to an access of its own
            case ExpandDims() | Broadcast() | Permute():
                yield node.operand, operand_coordinates(node, lanes)
            case Where(condition, if_true, if_false):
                yield condition, lanes
                if self._lenient:
                    yield from ((if_true, lanes), (if_false, lanes))
                else:
                    yield (if_true if self._context.choose(condition, lanes) else if_false), lanes
            case Carried(_, _, initial, step):
                yield from ((part, fitting(part, lanes)) for part in (initial, step))
            case _:
                for operand in operands(node):
                    same = operand.shape == node.shape
                    yield operand, lanes if same else self._context.lane_coordinates(operand.shape)

    def _condition(self, node: Binary, lanes: Coordinates) -> None:
        sides = (node.left, node.right)
        if all(isinstance(s.type, ScalarType) and s.type.is_integer for s in sides):
            compared = tuple(self._range(side, lanes) for side in sides)
            self.conditions.append(
                IndexRange(node.span, compared[0].type, None, None, True, node.operator.value, compared)
            )

    def _range(self, node: Node, lanes: Coordinates) -> IndexRange:
        low, high = self._ends(node, lanes)
        assert isinstance(node.type, ScalarType)
        fits = low is not None and high is not None and node.type.minimum <= low and high <= node.type.maximum
        operator = node.operator.value if isinstance(node, Binary) else ""
        return IndexRange(node.span, node.type.name, low, high, fits, operator)

    def _ends(self, node: Node, lanes: Coordinates) -> tuple[int | None, int | None]:
        try:
            value = self._context.value(node, lanes)
        except NeedsCase:
            if self._lenient:
                return None, None
            raise
        except KeyError:  # of a kind that has no integer value
            return None, None
        low, high = (floor(end) for end in self._context.space.range_of(value))
        high = min(high, least_bound(self._context.space, value, self._constraints))
        low = max(low, -least_bound(self._context.space, -value, self._constraints))
        return (low if low > -UNBOUNDED else None), (high if high < UNBOUNDED else None)


def _is_told(node: Node) -> bool:
    """Is a node an integer of the text, and neither a literal nor a step that only Triton makes?"""
    if not isinstance(node.type, ScalarType) or not node.type.is_integer or node.type.bits == 1:
        return False
    return not isinstance(node, Constant | Broadcast) and not (isinstance(node, Cast) and node.implicit)
