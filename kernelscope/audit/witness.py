"""Search for a witness: a program id, lane, iteration and loaded values at given sizes where wrapping shows.

Candidates come from the structure of the faulty expression (last live index, last full period of each divisor); every
one is checked by evaluating the program exactly and with wrapping, so that a witness is never wrong. Where no candidate
fails there is no witness, which proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from kernelscope.audit.candidate_points import CandidatePoints
from kernelscope.audit.claims import RequirementClaims
from kernelscope.audit.evaluation import Evaluator, Use
from kernelscope.audit.fault import faulty_operation, is_live
from kernelscope.audit.host import GRID_LIMITS, LaunchModel
from kernelscope.audit.loop_witness import endless_point
from kernelscope.audit.obligations import Requirement
from kernelscope.audit.point import NotEvaluable, Point, PointEvaluator, Undefined
from kernelscope.audit.reachable import pointers_written
from kernelscope.audit.reached import is_reached
from kernelscope.audit.results import Consequence
from kernelscope.bounds.polynomial import Polynomial
from kernelscope.bounds.space import UNBOUNDED, Space
from kernelscope.launches.launch import ScalarArgument
from kernelscope.triton_source.index_program import COMPARISONS, Access, Binary, IndexProgram, Loop, Node
from kernelscope.triton_source.scalar_types import ScalarType

_MOST_CANDIDATES = 3000


@dataclass(frozen=True, slots=True)
class Failure:
    """A checked point at which the hardware differs from the exact program in a way that matters."""

    program_id: tuple[int, int, int]
    lanes: tuple[int, ...]
    loops: Mapping[str, int]
    loaded: Mapping[str, int]
    exact: int
    wrapped: int
    node: Node
    consequence: Consequence


@dataclass(slots=True)
class _Assignment:
    values: dict[int, int]  # by atom number


class WitnessSearch:
    """Looks for failures of one requirement at one choice of sizes."""

    def __init__(
        self, program: IndexProgram, model: LaunchModel, claims: RequirementClaims, sizes: Mapping[int, int]
    ) -> None:
        self.program = program
        self.model = model
        requirement = claims.requirement
        self.requirement: Requirement = requirement
        self.sizes = sizes
        assert requirement.evaluator is not None
        self.evaluator: Evaluator = requirement.evaluator
        #: Under the buffer rule, the space that knows it.
        self.space: Space = claims.claims[0].space if claims.rule and claims.claims else requirement.obligation.space
        self.space.set_box({n: (v, v) for n, v in sizes.items()})
        model.space.set_box({n: (v, v) for n, v in sizes.items()})
        self.points = CandidatePoints(requirement, self.evaluator, self.space)
        self.grid = tuple(self._number(g) for g in model.grid)
        self.arguments = {name: self._number(p) for name, p in model.arguments.items() if model.is_known(p)}
        self._defaults: dict[int, int] | None = None
        self._written = pointers_written(program)
        self.machine = {name: self._narrowed(name, value) for name, value in self.arguments.items()}

    def _number(self, polynomial: Polynomial) -> int:
        return self.model.space.maximum(polynomial)

    def _narrowed(self, name: str, value: int) -> int:
        for argument in self.model.launch.arguments:
            if isinstance(argument, ScalarArgument) and argument.name == name and argument.c_type is not None:
                bits = argument.c_type.bits
                if bits is not None:
                    value &= (1 << bits) - 1
                    if argument.c_type.signed and value >> (bits - 1):
                        value -= 1 << bits
        type_ = self.program.types.get(name)
        return type_.wrap(value) if isinstance(type_, ScalarType) and type_.is_integer else value

    # -- search -----------------------------------------------------------------------------------------------------

    def find(self) -> Failure | None:
        """The smallest failing point found, None when no candidate fails."""
        if any(not 0 < g <= limit for g, limit in zip(self.grid, GRID_LIMITS, strict=True)):
            return None
        if self.requirement.loop is not None:
            return self._loop_failure()
        for values in islice(self.points.candidates(), _MOST_CANDIDATES):
            for trial in (values, self._clamped(values)):
                if trial is not None and self.failure(trial) is not None:
                    return self.failure(self._smallest(trial))
        return None

    def _clamped(self, values: dict[int, int]) -> dict[int, int] | None:
        """The candidate with its lanes (then iterations) lowered until the exact program's mask holds."""
        access = self.requirement.access
        if access is None or self._is_live(values):
            return None
        for number in [*self.evaluator.lane_atoms.values(), *self.evaluator.loop_atoms.values()]:
            if number not in values:
                continue
            low, high = self.space.range_of_atom(number)[0], values[number]
            if not self._is_live({**values, number: low}):
                continue
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if self._is_live({**values, number: middle}) else (low, middle)
            return {**values, number: low}
        return None

    def _is_live(self, values: Mapping[int, int]) -> bool:
        access = self.requirement.access
        assert access is not None
        try:
            exact = PointEvaluator(self.program, self._point(values), wrapping=False)
            return is_live(exact, access, self._access_lanes(values))
        except (NotEvaluable, RecursionError):
            return False

    def _point(self, values: Mapping[int, int]) -> Point:
        evaluator = self.evaluator
        ids = tuple(values.get(evaluator.program_atoms.get(axis, -1), 0) for axis in range(3))
        iterations = {loop: values.get(n, 0) for loop, n in evaluator.loop_atoms.items()}
        loaded = self._other_loads()
        loaded |= {evaluator.loaded_atoms[n][0]: v for n, v in values.items() if n in evaluator.loaded_atoms}
        return Point(ids, self.grid, self.arguments, self.machine, iterations, loaded)  # type: ignore[arg-type]

    def _other_loads(self) -> dict[int, int]:
        """A value for every integer load that the requirement itself does not depend on: the least declared, else 0."""
        if self._defaults is None:
            followed = {access for access, _ in self.evaluator.loaded_atoms.values()}
            self._defaults = {}
            for index, access in enumerate(self.program.accesses):
                element = getattr(access.pointer.type, "element", None)
                if index in followed or not isinstance(element, ScalarType) or not element.is_integer:
                    continue
                declared = self._declared(index)
                self._defaults[index] = declared[0] if declared is not None else 0
        return dict(self._defaults)

    def _loop_failure(self) -> Failure | None:
        obligation = self.requirement.obligation
        exact = self.space.maximum(obligation.exact) if self.space.is_of_sizes(obligation.exact) else None
        if exact is None:
            bounds = self.space.upper_bounds(obligation.exact)
            exact = min((self.space.maximum(b) for b in bounds), default=None)
        if exact is None or obligation.minimum <= exact <= obligation.maximum:
            return None
        loop = self.requirement.loop
        assert loop is not None
        found = endless_point(self.program, loop, self._point({}))
        if found is None:
            return None
        point, past = found
        wrapped = loop.counter_type.wrap(past)
        return Failure(point.program_id, (), {}, {}, past, wrapped, obligation.node, Consequence.ENDLESS_LOOP)

    def _smallest(self, values: dict[int, int]) -> dict[int, int]:
        """The failing point made smaller one coordinate at a time."""
        best = dict(values)
        for number in [*self.evaluator.program_atoms.values(), *sorted(best)]:
            if number not in best:
                continue
            low, high = self.space.range_of_atom(number)[0], best[number]
            if abs(low) >= UNBOUNDED or low >= high:
                continue
            if self.failure({**best, number: low}) is not None:
                best[number] = low
                continue
            crossing = self._crossing(best, number, low, high)
            for guess in (crossing, crossing - 1) if crossing is not None else ():
                if low < guess < high:
                    low, high = (low, guess) if self.failure({**best, number: guess}) is not None else (guess, high)
            while high - low > 1:
                middle = (low + high) // 2
                if self.failure({**best, number: middle}) is not None:
                    high = middle
                else:
                    low = middle
            best[number] = high
        return best

    def _crossing(self, values: Mapping[int, int], number: int, low: int, high: int) -> int | None:
        """Where the exact value would first leave its type if it changed linearly with one coordinate."""
        obligation = self.requirement.obligation
        try:
            first, last = (self._exact_value({**values, number: end}) for end in (low, high))
        except (NotEvaluable, RecursionError):
            return None
        if first <= obligation.maximum < last:
            return low + (obligation.maximum - first) * (high - low) // (last - first) + 1
        if last < obligation.minimum <= first:
            return low + (first - obligation.minimum) * (high - low) // (first - last) + 1
        return None

    def _exact_value(self, values: Mapping[int, int]) -> int:
        obligation = self.requirement.obligation
        exact = PointEvaluator(self.program, self._point(values), wrapping=False)
        return exact.value(obligation.node, tuple(self._coordinate(c, values) for c in obligation.coordinates))

    # -- checking ---------------------------------------------------------------------------------------------------

    def failure(self, values: Mapping[int, int]) -> Failure | None:
        """What goes wrong at one point, None when nothing does or it cannot be evaluated."""
        try:
            return self._failure(values)
        except (NotEvaluable, RecursionError):
            return None

    def _failure(self, values: Mapping[int, int]) -> Failure | None:
        program, point = self.program, self._point(values)
        exact = PointEvaluator(program, point, wrapping=False)
        machine = PointEvaluator(program, point, wrapping=True)
        obligation = self.requirement.obligation
        lanes = tuple(self._coordinate(c, values) for c in obligation.coordinates)
        right, wrong = exact.value(obligation.node, lanes), machine.value(obligation.node, lanes)
        if right == wrong or (obligation.limits is None and obligation.minimum <= right <= obligation.maximum):
            return None
        if not self._runs(exact, point.iterations, values):
            return None
        consequence = self._first_effect(exact, machine, values, lanes)
        if consequence is None:
            return None
        node, shown, shown_wrong = faulty_operation(exact, machine, obligation.node, lanes)
        return Failure(
            point.program_id,
            self._access_lanes(values) if self.requirement.access is not None else lanes,
            {program.loops[i].name: _counter(exact, program.loops[i], k) for i, k in point.iterations.items()},
            self._loaded_names(point.loaded),
            shown,
            shown_wrong,
            node,
            consequence,
        )

    def _coordinate(self, coordinate: Polynomial, values: Mapping[int, int]) -> int:
        return int(coordinate.evaluate({n: values.get(n, 0) for n in coordinate.atoms()}))

    def _access_lanes(self, values: Mapping[int, int]) -> tuple[int, ...]:
        access = self.requirement.access
        assert access is not None
        return tuple(
            values.get(self.evaluator.lane_atoms.get((axis, extent), -1), 0)
            for axis, extent in enumerate(access.pointer.shape)
        )

    def _loaded_names(self, loaded: Mapping[int, int]) -> dict[str, int]:
        return {self.evaluator.base_of(access) or f"load {access}": value for access, value in loaded.items()}

    def _runs(self, exact: PointEvaluator, iterations: Mapping[int, int], values: Mapping[int, int]) -> bool:
        """Does the exact program reach this point: iterations within their loops, assertions and declared values kept?"""
        access = self.requirement.access
        for index in sorted({*iterations, *access.loops}) if access is not None else ():
            loop = self.program.loops[index]
            if loop.start is None or loop.end is None or loop.step is None:
                return False
            start, end, step = (exact.value(n, ()) for n in (loop.start, loop.end, loop.step))
            if step == 0:
                return False
            reached = start + step * iterations.get(index, 0)
            if not (reached > end if loop.counts_down else reached < end):
                return False
        for number, (index, _) in self.evaluator.loaded_atoms.items():
            if self.evaluator.base_of(index) in self.model.changed:
                return False
            low, high = self.space.range_of_atom(number)
            if number in values and not (low <= values[number] <= high and self._is_declared(index, values[number])):
                return False
            if number in values and number in self.evaluator.unfollowed and not self._inside_buffer(exact, values, index):
                return False
        if not self._loads_agree(exact, values):
            return False
        return access is None or self._assertions_hold(exact, access, self._access_lanes(values))

    def _loads_agree(self, exact: PointEvaluator, values: Mapping[int, int]) -> bool:
        """Do loads of one element give one value? What the kernel has stored there in between does not count."""
        found: dict[tuple[str, int], int] = {}
        for number, (load, coordinates) in self.evaluator.loaded_atoms.items():
            base = self.evaluator.base_of(load)
            if number not in values or base is None or base in self._written:
                continue
            lanes = tuple(self._coordinate(c, values) for c in coordinates)
            try:
                place = base, exact.offset(self.program.accesses[load].pointer, lanes)
            except NotEvaluable:
                continue
            if found.setdefault(place, values[number]) != values[number]:
                return False
        return True

    def _is_declared(self, load: int, value: int) -> bool:
        """A witness never rests on a value that memory cannot hold, not even on a lane that is masked off."""
        declared = self._declared(load)
        return declared is None or declared[0] <= value <= declared[1]

    def _declared(self, load: int) -> tuple[int, int] | None:
        """What the values of a load's buffer lie between at these sizes, where that is declared."""
        ends = self.model.values.get(self.evaluator.base_of(load) or "")
        if ends is None or not all(self.model.is_known(end) for end in ends):
            return None
        return self._number(ends[0]), self._number(ends[1])

    def _assertions_hold(self, exact: PointEvaluator, access: Access, lanes: tuple[int, ...]) -> bool:
        index = next(i for i, a in enumerate(self.program.accesses) if a is access)
        for assertion in self.program.assertions:
            shape = assertion.condition.shape
            if assertion.before_access > index or shape not in ((), access.pointer.shape):
                continue
            try:
                if not exact.value(assertion.condition, lanes if shape else ()):
                    return False
            except NotEvaluable:
                continue
        return True

    def _inside_buffer(self, exact: PointEvaluator, values: Mapping[int, int], load: int) -> bool:
        """A loaded value of unknown range counts only where eager mode would accept it: where an assertion bounds it, or
        the exact offset made from it lies in a buffer of known extent."""
        access = self.requirement.access
        type_ = self.program.accesses[load].pointer.type.element  # type: ignore[union-attr]
        number = next(n for n, (i, _) in self.evaluator.loaded_atoms.items() if i == load)
        plain = self.requirement.obligation.space.range_of_atom(number)
        if plain[0] > type_.minimum and plain[1] < type_.maximum:
            return True
        if access is None:
            return False
        index = next(i for i, a in enumerate(self.program.accesses) if a is access)
        base = self.evaluator.base_of(index)
        extent = self.model.extents.get(base) if base is not None else None
        if extent is None:
            return False
        return 0 <= exact.offset(access.pointer, self._access_lanes(values)) < self._number(extent)

    def _first_effect(
        self, exact: PointEvaluator, machine: PointEvaluator, values: Mapping[int, int], lanes: tuple[int, ...]
    ) -> Consequence | None:
        """What goes wrong at the access that the requirement belongs to, or at another one of the same lanes."""
        own = self.requirement.access
        if own is None:
            return self._control_effect(exact, machine)
        others = [
            a for a in self.program.accesses
            if a is not own and a.pointer.shape == own.pointer.shape and a.loops == own.loops
            and len(a.guards) == len(own.guards)
        ]  # fmt: skip
        for access in (own, *others):
            try:
                consequence = self._effect(exact, machine, values, access)
            except Undefined:
                raise
            except NotEvaluable:
                continue
            if consequence is not None:
                return consequence
        return None

    def _effect(
        self, exact: PointEvaluator, machine: PointEvaluator, values: Mapping[int, int], access: Access
    ) -> Consequence | None:
        use = self.requirement.obligation.use
        here = self._access_lanes(values)
        live, machine_live = is_live(exact, access, here), is_live(machine, access, here)
        if not live and not machine_live:
            return None
        if use is Use.VALUE:
            self._must_be_defined(exact, access, here)
            return Consequence.WRONG_RESULT if live and self._stores_otherwise(exact, machine, access, here) else None
        if live != machine_live and not machine_live:
            return Consequence.WRONG_RESULT
        right, wrong = exact.offset(access.pointer, here), machine.offset(access.pointer, here)
        if live == machine_live and right == wrong:
            return None
        return Consequence.OUT_OF_BOUNDS if self._outside(access, wrong) else Consequence.WRONG_RESULT

    def _must_be_defined(self, exact: PointEvaluator, access: Access, here: tuple[int, ...]) -> None:
        """Raises Undefined where the exact program has no address."""
        try:
            exact.offset(access.pointer, here)
        except Undefined:
            raise
        except NotEvaluable:
            return

    def _stores_otherwise(
        self, exact: PointEvaluator, machine: PointEvaluator, access: Access, here: tuple[int, ...]
    ) -> bool:
        """Is another value stored? Where the value goes on as a float, what reads the faulty integer decides."""
        if access.value is not None:
            try:
                right, type_ = exact.value(access.value, here), access.value.type
                stored = type_.wrap(right) if isinstance(type_, ScalarType) else right
                return stored != machine.value(access.value, here)
            except Undefined:
                raise
            except NotEvaluable:
                pass
        observer = self.requirement.obligation.observer
        if isinstance(observer, Binary) and observer.operator in COMPARISONS and observer.shape == access.pointer.shape:
            return exact.value(observer, here) != machine.value(observer, here)
        return True

    def _outside(self, access: Access, offset: int) -> bool:
        index = next(i for i, a in enumerate(self.program.accesses) if a is access)
        base = self.evaluator.base_of(index)
        extent = self.model.extents.get(base) if base is not None else None
        return offset < 0 or (extent is not None and offset >= self._number(extent))

    def _control_effect(self, exact: PointEvaluator, machine: PointEvaluator) -> Consequence | None:
        """A branch taken otherwise, or a loop with other bounds, where the exact program comes to it."""
        places = [(o.condition, o.guards, o.loops) for o in self.program.observations]
        for loop in self.program.loops:
            places += [(n, loop.guards, loop.loops) for n in (loop.start, loop.end, loop.step) if n is not None]
        for node, guards, loops in places:
            try:
                differs = exact.value(node, ()) != machine.value(node, ())
            except NotEvaluable:
                continue
            if differs and is_reached(exact, guards, loops):
                return Consequence.WRONG_RESULT
        return None


def _counter(exact: PointEvaluator, loop: Loop, iteration: int) -> int:
    """The counter in an iteration (from 0); of a `while`, which has none, the iteration itself."""
    if loop.start is None or loop.step is None:
        return iteration
    return exact.value(loop.start, ()) + exact.value(loop.step, ()) * iteration
