"""Everything that must be exact for one launch to be right, collected from its index program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kernelscope.audit import conditions, iterations
from kernelscope.audit.assertions import Assertions
from kernelscope.audit.conditions import Literal
from kernelscope.audit.evaluation import (
    Coordinates,
    Evaluator,
    NeedsCase,
    NotFollowed,
    Obligation,
    Use,
    fork,
)
from kernelscope.audit.host import LaunchModel
from kernelscope.audit.index_nodes import IndexNodes
from kernelscope.audit.stored_values import StoredValues
from kernelscope.audit.trapped_wraps import Place, conditions_known, is_trapped
from kernelscope.bounds.polynomial import Polynomial
from kernelscope.bounds.space import LARGEST_SIZE
from kernelscope.triton_source.index_program import (
    Access,
    AccessKind,
    Argument,
    Assertion,
    Cast,
    IndexProgram,
    Loop,
    Node,
)
from kernelscope.triton_source.operands import operands
from kernelscope.triton_source.scalar_types import PointerType

_MOST_CASES = 24


@dataclass(frozen=True, slots=True, eq=False)
class Requirement:
    """An obligation with where it comes from. `buffer` (offset, extent): the exact offset of the access that it is part
    of and the elements of its buffer, for the buffer rule. `loop`: set for the overshoot of a loop counter."""

    obligation: Obligation
    access: Access | None
    loop: Loop | None = None
    buffer: tuple[Polynomial, Polynomial] | None = None
    evaluator: Evaluator | None = None


@dataclass(slots=True)
class Collected:
    """What one launch's program requires, and where reading it gave up."""

    requirements: list[Requirement] = field(default_factory=list)
    too_many_cases: list[Access] = field(default_factory=list)
    float_indices: list[tuple[Cast, Access]] = field(default_factory=list)
    not_followed: dict[int, NotFollowed] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Trap:
    """An assertion, the context in which it is reached, and the conditions that hold there."""

    condition: Node
    before: Evaluator
    true: Mapping[Place, bool]

    def catches(self, obligation: Obligation, context: Evaluator) -> bool:
        return is_trapped(obligation, context, self.before, self.condition, self.true)


class Collector:
    """Walks the accesses, loops and branch conditions of a program under one launch model."""

    def __init__(self, program: IndexProgram, model: LaunchModel) -> None:
        self.program = program
        self.model = model
        self.result = Collected()
        self._base: dict[object, list[Evaluator]] = {}
        self._live: dict[object, list[Evaluator]] = {}
        self._chains: dict[tuple[object, ...], list[Evaluator]] = {}
        self._sizes: dict[int, int] = {}
        self._kept: list[Evaluator] = []
        self._cases = 0
        self._nodes = IndexNodes(program.updates)
        self._assertions = Assertions(program)
        self._trap: _Trap | None = None  # while the operands of an assertion are obliged
        self._obliged = False  # while it is assumed: what it reads was obliged before, without it

    def collect(self) -> Collected:
        for loop in self.program.loops:
            self._loop(loop)
        for observation in self.program.observations:
            for evaluator in self.base_contexts(observation.guards, observation.loops):
                self._branch_condition(evaluator, observation.condition)
        for access in self.program.accesses:
            self._access(access)
        return self.result

    # -- contexts ---------------------------------------------------------------------------------------------------

    def base_contexts(self, guards: Sequence[Node], loops: Sequence[int]) -> list[Evaluator]:
        """Contexts in which the loops run and the guards hold, masks not considered."""
        key = (tuple(id(g) for g in guards), tuple(loops))
        if key not in self._base:
            evaluator = Evaluator(self.program, self.model, self.model.space.fork())
            for axis in range(3):
                evaluator.program_id(axis)
            for access in self.program.accesses:  # lanes are the same atoms in every context made from this one
                evaluator.lane_coordinates(access.pointer.shape)
            facts = [fact for guard in guards for fact in conditions.literals(guard, ())]
            evaluator.use = Use.CONDITION
            self._base[key] = self._assumed([evaluator], facts, loops)
            self._drain_base(self._base[key], loops)
        return self._base[key]

    def _drain_base(self, evaluators: list[Evaluator], loops: Sequence[int]) -> None:
        """Guards and the bounds of `for` loops are obliged to be exact where they stand; what the condition of a `while`
        reads is met only here, at every iteration and once after the last."""
        for evaluator in evaluators:
            if any(self.program.loops[loop].is_while for loop in loops):
                self._drain(evaluator, None)
            evaluator.use = Use.ADDRESS
        self._drain_quietly(evaluators)

    def _drain_quietly(self, evaluators: Iterable[Evaluator]) -> None:
        for evaluator in evaluators:
            evaluator.obligations.clear()
            self._keep_not_followed(evaluator)

    def _keep_not_followed(self, evaluator: Evaluator) -> None:
        self.result.not_followed.update((id(part.node), part) for part in evaluator.not_followed)
        evaluator.not_followed.clear()

    def _assumed(
        self, evaluators: list[Evaluator], facts: list[Literal], loops: Sequence[int] = (), access: Access | None = None
    ) -> list[Evaluator]:
        """The contexts with facts added and loops running; a fact or bound whose value depends on a condition splits its
        context."""
        result: list[Evaluator] = []
        for evaluator in evaluators:

            def add(context: Evaluator) -> None:
                for loop in loops:
                    iterations.iteration(context, loop)
                if conditions.assume(context, facts):
                    result.append(context)

            self._in_cases(evaluator, add, access)
        return result

    def _in_cases(self, evaluator: Evaluator, action: Callable[[Evaluator], None], access: Access | None) -> None:
        """Run `action`; where it meets an undecided condition, run it again with the condition true and with it false."""
        try:
            action(evaluator)
        except NeedsCase as undecided:
            condition, where = undecided.condition, undecided.coordinates
            self._cases += 1
            if self._cases > _MOST_CASES:
                if access is not None:
                    self.result.too_many_cases.append(access)
                return
            self._in_cases(evaluator, lambda e: conditions.observe(e, condition, where), access)
            self._drain(evaluator, access)
            for truth in (True, False):
                branch = fork(evaluator)
                self._kept.append(branch)
                facts = list(conditions.literals(condition, where, truth))
                feasible = conditions.assume(branch, facts)
                branch.decide(condition, where, truth)
                if feasible:
                    self._in_cases(branch, action, access)
                self._drain(branch, access)

    def _drain(
        self, evaluator: Evaluator, access: Access | None, buffer: tuple[Polynomial, Polynomial] | None = None,
        loop: Loop | None = None,
    ) -> None:  # fmt: skip
        for obligation in evaluator.obligations:
            if not self._obliged and (self._trap is None or not self._trap.catches(obligation, evaluator)):
                self.result.requirements.append(Requirement(obligation, access, loop, buffer, evaluator))
        evaluator.obligations.clear()
        self._keep_not_followed(evaluator)
        if access is not None:
            self.result.float_indices.extend((c, access) for c in evaluator.float_conversions)
        evaluator.float_conversions.clear()

    # -- accesses ---------------------------------------------------------------------------------------------------

    def _access(self, access: Access) -> None:
        for evaluator in self.live_contexts(access):
            self._address(evaluator, access, evaluator.lane_coordinates(access.pointer.shape))

    def live_contexts(self, access: Access) -> list[Evaluator]:
        """Contexts in which a lane of the access is live. On the way the mask is obliged to be exact: its conjuncts are
        taken one after another, each on the lanes where those before it hold. (On a lane where conjunct i is the first
        false one, all before it and itself are exact, so the machine's conjunction is false too.)"""
        asserted = self._assertions.of(access)
        key = (
            id(access.mask), access.pointer.shape, tuple(id(g) for g in access.guards), access.loops,
            tuple(id(a) for a in asserted),
        )  # fmt: skip
        if key not in self._live:
            contexts = self.base_contexts(access.guards, access.loops)
            if access.mask is not None:
                contexts = [live for c in contexts for live in self._masked(c, access)]
            self._live[key] = self._with_assertions([fork(c) for c in contexts], asserted, access)
        return self._live[key]

    def _masked(self, base: Evaluator, access: Access) -> list[Evaluator]:
        assert access.mask is not None
        coordinates = base.lane_coordinates(access.pointer.shape)
        parts = sorted(conditions.literals(access.mask, coordinates), key=self._complexity)
        contexts = [base]
        prefix: tuple[object, ...] = (id(base),)
        for part in parts:
            prefix = (*prefix, id(part.node), part.coordinates, part.truth)
            if prefix not in self._chains:
                found: list[Evaluator] = []
                for context in contexts:
                    context.use = Use.MASK
                    self._in_cases(
                        context, lambda e, p=part: conditions.observe(e, p.node, p.coordinates), access  # type: ignore[misc]
                    )
                    self._drain(context, access)
                    context.use = Use.ADDRESS
                    narrowed = self._assumed([fork(context)], [part], access=access)
                    self._drain_quietly(narrowed)
                    found.extend(narrowed)
                self._chains[prefix] = found
            contexts = self._chains[prefix]
        return contexts

    def _complexity(self, literal: Literal) -> int:
        """Nodes below a condition: simple masks come first, so that others can lean on them."""
        key = id(literal.node)
        if key not in self._sizes:
            seen: set[int] = set()
            waiting: list[Node] = [literal.node]
            while waiting and len(seen) < 500:
                node = waiting.pop()
                if id(node) not in seen:
                    seen.add(id(node))
                    waiting.extend(operands(node))
            self._sizes[key] = len(seen) + (1000 if conditions.disjuncts(literal) else 0)
        return self._sizes[key]

    def _with_assertions(
        self, evaluators: list[Evaluator], asserted: list[Assertion], access: Access
    ) -> list[Evaluator]:
        true = self._mask_literals(evaluators, access) if asserted else {}
        for assertion in asserted:
            kept: list[Evaluator] = []
            for evaluator in evaluators:
                coordinates = evaluator.lane_coordinates(assertion.condition.shape)
                self._trap = _Trap(assertion.condition, fork(evaluator), true)
                self._kept.append(self._trap.before)
                evaluator.use = Use.MASK
                self._in_cases(
                    evaluator,
                    lambda e, a=assertion, c=coordinates: conditions.observe(e, a.condition, c),  # type: ignore[misc]
                    access,
                )
                self._drain(evaluator, access)
                self._trap, self._obliged = None, True
                evaluator.use = Use.ADDRESS
                facts = list(conditions.literals(assertion.condition, coordinates))
                self._kept.append(evaluator)
                kept.extend(self._assumed([fork(evaluator)], facts, access=access))
                self._obliged = False
            evaluators = kept
        return evaluators

    def _mask_literals(self, evaluators: list[Evaluator], access: Access) -> dict[Place, bool]:
        if access.mask is None or not evaluators:
            return {}
        coordinates = evaluators[0].lane_coordinates(access.pointer.shape)
        return {
            (form, part.coordinates): truth
            for part in conditions.literals(access.mask, coordinates)
            for form, truth in conditions_known(part.node, part.truth)
        }

    def _address(self, evaluator: Evaluator, access: Access, coordinates: Coordinates) -> None:
        def visit(context: Evaluator) -> None:
            context.use = Use.ADDRESS
            base, offset, _ = context.pointer(access.pointer, coordinates)
            self._drain(context, access, self._buffer(access, base, offset))
            if access.value is not None and access.kind is not AccessKind.LOAD:
                context.use = Use.VALUE
                self._stored_values(access).collect(context, access.value, coordinates)
                self._drain(context, access)

        self._in_cases(evaluator, visit, access)

    def _stored_values(self, access: Access) -> StoredValues:
        def assumed(evaluator: Evaluator, facts: list[Literal]) -> list[Evaluator]:
            return self._assumed([evaluator], facts)

        return StoredValues(self._nodes, assumed, lambda evaluator: self._drain(evaluator, access), self._kept)

    def _buffer(
        self, access: Access, base: Argument | None, offset: Polynomial
    ) -> tuple[Polynomial, Polynomial] | None:
        if base is None:
            return None
        pointer = access.pointer.type
        if not isinstance(pointer, PointerType) or not isinstance(base.type, PointerType):
            return None
        if pointer.element.item_bytes != base.type.element.item_bytes:
            return None
        return offset, self.model.extents.get(base.name, Polynomial.constant(LARGEST_SIZE))

    # -- loops and branches -----------------------------------------------------------------------------------------

    def _loop(self, loop: Loop) -> None:
        if loop.start is None or loop.end is None or loop.step is None:
            return
        for evaluator in self.base_contexts(loop.guards, loop.loops):
            self._in_cases(evaluator, lambda e: self._loop_bounds(e, loop), None)
            self._drain(evaluator, None)

    def _loop_bounds(self, evaluator: Evaluator, loop: Loop) -> None:
        """The bounds are exact, and so is the counter one step past the last iteration, where the loop ends."""
        assert loop.start is not None and loop.end is not None and loop.step is not None
        evaluator.use = Use.LOOP
        start, end, step = (evaluator.observe(n, (), None) for n in (loop.start, loop.end, loop.step))
        trips = iterations.trip_count(evaluator, loop)
        if loop.runs_from_its_end:
            start, end, step = end, start, -step
        elif not loop.counts_down and evaluator.space.sign_range(step)[0] < 0:  # then it runs on below its start
            kind, forward = loop.counter_type, (0, loop.counter_type.maximum)
            evaluator.obligations.append(Obligation(loop.step, None, step, kind, Use.LOOP, evaluator.space, (), forward))
        last = start + step * trips if trips is not None else end + step
        self._drain(evaluator, None)
        overshoot = Obligation(loop.end, None, last, loop.counter_type, Use.LOOP, evaluator.space, ())
        self.result.requirements.append(Requirement(overshoot, None, loop, None, evaluator))
        evaluator.use = Use.ADDRESS

    def _branch_condition(self, evaluator: Evaluator, condition: Node) -> None:
        evaluator.use = Use.CONDITION
        self._in_cases(evaluator, lambda e: conditions.observe(e, condition, ()), None)
        self._drain(evaluator, None)
        evaluator.use = Use.ADDRESS


__all__ = ["Collected", "Collector", "Requirement", "fork"]
