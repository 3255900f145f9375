"""Exact values of index-program nodes as polynomials, with the obligations under which the hardware computes the same.

Additions, subtractions and multiplications are exact modulo 2**bits, so an intermediate wrap that cancels is harmless:
only where a value is *observed* (widened, compared, divided, added to a pointer) must its exact value fit its type.
Each observation becomes an `Obligation`; nothing is assumed about it here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from kernelscope.audit.host import GRID_LIMITS, LaunchModel, extreme_atom
from kernelscope.bounds.polynomial import ONE, ZERO, Polynomial
from kernelscope.bounds.space import UNBOUNDED, Space
from kernelscope.triton_source.index_program import (
    COMPARISONS,
    Absolute,
    Arange,
    Argument,
    Binary,
    BinaryOperator,
    Broadcast,
    Carried,
    Cast,
    Constant,
    ExpandDims,
    IndexProgram,
    Invert,
    Loaded,
    Loop,
    LoopCounter,
    Negate,
    Node,
    NumPrograms,
    Opaque,
    Permute,
    PointerAdd,
    ProgramId,
    Reduce,
    UnknownReason,
    Where,
)
from kernelscope.triton_source.scalar_types import PointerType, ScalarType

Coordinates = tuple[Polynomial, ...]
RING = frozenset({BinaryOperator.ADD, BinaryOperator.SUBTRACT, BinaryOperator.MULTIPLY})


class Use(Enum):
    """What an observed value is for; the first that applies names the finding."""

    ADDRESS = "address"
    VALUE = "stored value"
    LOOP = "loop bound"
    CONDITION = "branch condition"
    MASK = "mask"


@dataclass(frozen=True, slots=True, eq=False)
class Obligation:
    """`node`'s exact value, `exact`, must lie in the range of its type where `observer` reads it. `lanes` are the
    coordinates at which it is read."""

    node: Node
    observer: Node | None
    exact: Polynomial
    type: ScalarType
    use: Use
    space: Space
    coordinates: Coordinates
    limits: tuple[int, int] | None = None

    @property
    def minimum(self) -> int:
        """Least exact value that is read as it is."""
        return self.type.minimum if self.limits is None else self.limits[0]

    @property
    def maximum(self) -> int:
        """Largest exact value that is read as it is."""
        return self.type.maximum if self.limits is None else self.limits[1]


class NeedsCase(Exception):
    """The value depends on a condition that is not decided in this context: split on it."""

    def __init__(self, condition: Node, coordinates: Coordinates) -> None:
        super().__init__("undecided condition")
        self.condition = condition
        self.coordinates = coordinates


class Evaluator:
    """Values of nodes in one context: `model`'s sizes, plus the facts added to `space`."""

    def __init__(self, program: IndexProgram, model: LaunchModel, space: Space) -> None:
        self.program = program
        self.model = model
        self.space = space
        self.obligations: list[Obligation] = []
        self.use = Use.ADDRESS
        #: Atoms whose value is not known, with the reason, for the explanation of an unknown.
        self.unfollowed: dict[int, tuple[UnknownReason, str]] = {}
        #: Integers made from floats, for KS4xx: the float conversion nodes met on the way.
        self.float_conversions: list[Cast] = []
        #: Values that are not followed and that an address, mask, bound or condition depends on.
        self.opaque_nodes: list[Opaque] = []
        self.loaded_atoms: dict[int, tuple[int, Coordinates]] = {}
        self.loop_atoms: dict[int, int] = {}
        self.program_atoms: dict[int, int] = {}
        self.lane_atoms: dict[tuple[int, int], int] = {}
        self._values: dict[tuple[int, Coordinates], Polynomial] = {}
        self._seen: set[tuple[int, Coordinates, int]] = set()
        self._truths: dict[tuple[int, Coordinates], bool] = {}

    # -- context ----------------------------------------------------------------------------------------------------

    def lane_coordinates(self, shape: tuple[int, ...]) -> Coordinates:
        """Coordinates of one lane of a block of this shape."""
        return tuple(self._lane(axis, extent) for axis, extent in enumerate(shape))

    def _lane(self, axis: int, extent: int) -> Polynomial:
        if extent == 1:
            return ZERO
        key = (axis, extent)
        if key not in self.lane_atoms:
            self.lane_atoms[key] = self.space.new_atom(f"lane{axis}", 0, extent - 1).number
        return Polynomial.atom(self.lane_atoms[key])

    def decide(self, condition: Node, coordinates: Coordinates, truth: bool) -> None:
        """Record that a condition is true (or false) in this context."""
        self._truths[id(condition), coordinates] = truth

    def truth(self, condition: Node, coordinates: Coordinates) -> bool | None:
        return self._truths.get((id(condition), coordinates))

    # -- values -----------------------------------------------------------------------------------------------------

    def value(self, node: Node, coordinates: Coordinates) -> Polynomial:
        """The exact integer value of a node at lane coordinates."""
        key = (id(node), coordinates)
        known = self._values.get(key)
        if known is None:
            known = _HANDLERS[type(node)](self, node, coordinates)
            self._values[key] = known
        return known

    def observe(self, node: Node, coordinates: Coordinates, observer: Node | None) -> Polynomial:
        """The exact value of a node that something reads in full: it must fit the node's type."""
        exact = self.value(node, coordinates)
        if isinstance(node.type, ScalarType) and node.type.is_integer:
            key = (id(node), coordinates, id(observer) if isinstance(node, Argument) else 0)
            if key not in self._seen:
                self._seen.add(key)
                if not isinstance(exact.constant_value, int) or not _fits(exact.constant_value, node.type):
                    self.obligations.append(
                        Obligation(node, observer, exact, node.type, self.use, self.space, coordinates)
                    )
        return exact

    def observe_equality(self, node: Binary, coordinates: Coordinates) -> None:
        """`a == b` on wrapped values is right unless a - b is a non-zero multiple of 2**bits."""
        key = (id(node), coordinates, 0)
        if key in self._seen:
            return
        self._seen.add(key)
        difference = self.value(node.left, coordinates) - self.value(node.right, coordinates)
        assert isinstance(node.left.type, ScalarType)
        reach = (1 << node.left.type.bits) - 1
        low, high = self.space.range_of(difference)
        if low < -reach or high > reach:
            self.obligations.append(
                Obligation(node, None, difference, node.left.type, self.use, self.space, coordinates, (-reach, reach))
            )

    def pointer(self, node: Node, coordinates: Coordinates) -> tuple[Argument | None, Polynomial, tuple[Node, ...]]:
        """Base argument (None: not known) and exact offset in elements of a pointer, with the offset nodes added."""
        match node:
            case PointerAdd(pointer, offset):
                base, total, parts = self.pointer(pointer, coordinates)
                return base, total + self.observe(offset, coordinates, node), (*parts, offset)
            case Argument():
                return node, ZERO, ()
            case ExpandDims() | Broadcast() | Permute():
                return self.pointer(node.operand, _operand_coordinates(node, coordinates))
            case Cast():
                return self._cast_pointer(node, coordinates)
            case Where(condition, if_true, if_false):
                truth = self.choose(condition, coordinates)
                return self.pointer(if_true if truth else if_false, coordinates)
            case Carried():
                base, total, parts = self.pointer(node.initial, coordinates)
                step = self.observe(node.step, _fitting(node.step, coordinates), node)
                return base, total + step * self._carried_count(node), (*parts, node.step)
            case _:
                return None, self._unknown_atom(node, -UNBOUNDED, UNBOUNDED), ()

    def _cast_pointer(
        self, node: Cast, coordinates: Coordinates
    ) -> tuple[Argument | None, Polynomial, tuple[Node, ...]]:
        operand = node.operand
        if not isinstance(operand.type, PointerType) or not isinstance(node.type, PointerType):
            return None, self._unknown_atom(node, -UNBOUNDED, UNBOUNDED), ()
        base, total, parts = self.pointer(operand, coordinates)
        before, after = operand.type.element.item_bytes, node.type.element.item_bytes
        if total == ZERO or before == after:
            return base, total, parts
        scaled = self.space.divide(total.scaled(before), Polynomial.constant(after))
        return base, scaled if scaled is not None else self._unknown_atom(node, -UNBOUNDED, UNBOUNDED), parts

    def choose(self, condition: Node, coordinates: Coordinates) -> bool:
        """The truth of a condition in this context; raises NeedsCase when it is not decided."""
        truth = self.truth(condition, coordinates)
        if truth is None:
            from kernelscope.audit.conditions import decided_truth

            truth = decided_truth(self, condition, coordinates)
            if truth is None:
                raise NeedsCase(condition, coordinates)
            self.decide(condition, coordinates, truth)
        return truth

    def _unknown_atom(self, node: Node, low: int, high: int) -> Polynomial:
        atom = self.space.new_atom("value", low, high)
        reason, detail = UnknownReason.NOT_MODELLED, "a value that is not followed"
        if isinstance(node, Opaque):
            reason, detail = node.reason, node.detail
        self.unfollowed[atom.number] = (reason, detail)
        return Polynomial.atom(atom.number)

    def _typed_atom(self, node: Node) -> Polynomial:
        if isinstance(node.type, ScalarType) and node.type.is_integer:
            return self._unknown_atom(node, node.type.minimum, node.type.maximum)
        return self._unknown_atom(node, -UNBOUNDED, UNBOUNDED)

    # -- leaves -----------------------------------------------------------------------------------------------------

    def _constant(self, node: Constant, coordinates: Coordinates) -> Polynomial:
        return Polynomial.constant(int(node.value)) if isinstance(node.value, int) else self._typed_atom(node)

    def _argument(self, node: Argument, coordinates: Coordinates) -> Polynomial:
        value = self.model.arguments.get(node.name)
        if value is not None:
            return value
        atom = self._typed_atom(node)
        number = next(iter(atom.atoms()))
        self.space.atoms[number].name = node.name
        self.unfollowed[number] = (UnknownReason.MISSING_FACT, f"the value of argument {node.name} is not known")
        return atom

    def _program_id(self, node: ProgramId, coordinates: Coordinates) -> Polynomial:
        return self.program_id(node.axis)

    def program_id(self, axis: int) -> Polynomial:
        if axis not in self.program_atoms:
            # a grid beyond CUDA's limit is never launched: that is a finding of its own
            atom = self.space.new_atom(f"program_id({axis})", 0, GRID_LIMITS[axis] - 1)
            atom.uppers.append(self.model.grid[axis] - ONE)
            atom.lowers.append(ZERO)
            self.program_atoms[axis] = atom.number
        return Polynomial.atom(self.program_atoms[axis])

    def _num_programs(self, node: NumPrograms, coordinates: Coordinates) -> Polynomial:
        return self.model.grid[node.axis]

    def _arange(self, node: Arange, coordinates: Coordinates) -> Polynomial:
        return coordinates[0].plus(node.start)

    def _loaded(self, node: Loaded, coordinates: Coordinates) -> Polynomial:
        if not isinstance(node.type, ScalarType) or not node.type.is_integer:
            return self._typed_atom(node)
        low, high = node.type.minimum, node.type.maximum
        atom = self.space.new_atom("loaded value", low, high)
        self.loaded_atoms[atom.number] = (node.access, coordinates)
        base = self._base_of(node.access)
        values = self.model.values.get(base) if base is not None else None
        if values is not None:
            atom.lowers.append(values[0])
            atom.uppers.append(values[1])
        else:
            detail = f"values of {base}" if base else "a loaded value"
            self.unfollowed[atom.number] = (UnknownReason.MISSING_FACT, f"the range of {detail} is not known")
        return Polynomial.atom(atom.number)

    def _base_of(self, access: int) -> str | None:
        node: Node = self.program.accesses[access].pointer
        while True:
            match node:
                case Argument(name):
                    return name
                case PointerAdd():
                    node = node.pointer
                case ExpandDims() | Broadcast() | Permute() | Cast():
                    node = node.operand
                case Carried():
                    node = node.initial
                case _:
                    return None

    # -- loops ------------------------------------------------------------------------------------------------------

    def iteration(self, index: int) -> Polynomial:
        """The iteration number, from 0, of a loop whose body is executing."""
        if index not in self.loop_atoms:
            loop = self.program.loops[index]
            bounds: list[Polynomial] = []
            if loop.start is not None and loop.end is not None and loop.step is not None:
                bounds = [self._bound(loop, n) for n in (loop.start, loop.end, loop.step)]
            atom = self.space.new_atom(f"iteration of {loop.name}", 0)
            atom.lowers.append(ZERO)
            self.loop_atoms[index] = atom.number
            if bounds:
                self._bound_iteration(atom.number, *bounds)
            elif loop.condition is not None:
                self._bound_while(atom.number, loop.condition)
            self.space.forget()
        return Polynomial.atom(self.loop_atoms[index])

    def _bound(self, loop: Loop, node: Node) -> Polynomial:
        previous, self.use = self.use, Use.LOOP
        try:
            return self.observe(node, (), None)
        finally:
            self.use = previous

    def _bound_iteration(self, number: int, start: Polynomial, end: Polynomial, step: Polynomial) -> None:
        atom = self.space.atoms[number]
        last = end - start - ONE
        low, high = self.space.sign_range(step)
        if high <= -1:
            last, step = start - end - ONE, -step
        elif low < 1:
            return
        atom.scaled_uppers.append((step, last))
        if self.space.is_of_sizes(step):
            for bound in self.space.upper_bounds(last)[:3]:
                if all(isinstance(c, int) for c in bound.terms.values()):
                    quotient = self.space.divide(bound, step)
                    if quotient is not None:
                        atom.uppers.append(quotient)

    def _bound_while(self, number: int, condition: Node) -> None:
        """Iteration k of a while loop begins only if the condition held at k - 1: where it says c*k <= r, c*k <= r + c."""
        from kernelscope.audit.conditions import literals, margins

        for literal in literals(condition, ()):
            for margin in margins(self, literal) or ():
                parts = margin.coefficients_of(number)
                factor = parts[1].constant_value if len(parts) == 2 else None
                if isinstance(factor, int) and factor < 0:
                    limit = parts[0].plus(-factor)
                    if self.lower_bound(limit) >= 0:
                        self.space.atoms[number].scaled_uppers.append((Polynomial.constant(-factor), limit))

    def _loop_counter(self, node: LoopCounter, coordinates: Coordinates) -> Polynomial:
        loop = self.program.loops[node.loop]
        if loop.start is None or loop.step is None:
            return self._typed_atom(node)
        return self._bound(loop, loop.start) + self._bound(loop, loop.step) * self.iteration(node.loop)

    def trip_count(self, loop: Loop) -> Polynomial | None:
        """Number of iterations, at least where the loop runs at all; None when the bounds are not known."""
        if loop.start is None or loop.end is None or loop.step is None:
            return None
        start, end, step = (self._bound(loop, n) for n in (loop.start, loop.end, loop.step))
        low, high = self.space.sign_range(step)
        if high <= -1:
            start, end, step = end, start, -step
        elif low < 1:
            return None
        return self.space.divide(end - start + step - ONE, step)

    def _carried(self, node: Carried, coordinates: Coordinates) -> Polynomial:
        step = self.value(node.step, _fitting(node.step, coordinates))
        return self.value(node.initial, _fitting(node.initial, coordinates)) + step * self._carried_count(node)

    def _carried_count(self, node: Carried) -> Polynomial:
        if not node.after:
            return self.iteration(node.loop)
        count = self.trip_count(self.program.loops[node.loop])
        if count is None:
            return self._unknown_atom(node, 0, UNBOUNDED)
        return extreme_atom(self.space, count, ZERO, least=False) if self.space.sign_range(count)[0] < 0 else count

    # -- operations -------------------------------------------------------------------------------------------------

    def _binary(self, node: Binary, coordinates: Coordinates) -> Polynomial:
        operator = node.operator
        if not node.type.is_integer or not isinstance(node.left.type, ScalarType) or not node.left.type.is_integer:
            return self._typed_atom(node)
        if operator in RING:
            left, right = self.value(node.left, coordinates), self.value(node.right, coordinates)
            if operator is BinaryOperator.ADD:
                return left + right
            return left - right if operator is BinaryOperator.SUBTRACT else left * right
        if operator in COMPARISONS or node.type.bits == 1:
            return self._boolean(node, coordinates)
        if operator is BinaryOperator.SHIFT_LEFT:
            amount = self.observe(node.right, coordinates, node).constant_value
            if isinstance(amount, int) and 0 <= amount < 64:
                return self.value(node.left, coordinates).scaled(1 << amount)
            return self._typed_atom(node)
        left, right = self.observe(node.left, coordinates, node), self.observe(node.right, coordinates, node)
        match operator:
            case BinaryOperator.FLOOR_DIVIDE:
                return self._truncating(node, left, right, quotient=True)
            case BinaryOperator.REMAINDER:
                return self._truncating(node, left, right, quotient=False)
            case BinaryOperator.SHIFT_RIGHT:
                return self._shift_right(node, left, right)
            case BinaryOperator.MINIMUM | BinaryOperator.MAXIMUM:
                return self._extreme(left, right, operator is BinaryOperator.MINIMUM)
            case BinaryOperator.AND:
                return self._bitwise_and(node, left, right)
            case _:
                return self._bitwise_or(node, left, right)

    def _boolean(self, node: Node, coordinates: Coordinates) -> Polynomial:
        truth = self.truth(node, coordinates)
        if truth is not None:
            return Polynomial.constant(int(truth))
        return Polynomial.atom(self.space.new_atom("condition", 0, 1).number)

    def _truncating(self, node: Binary, left: Polynomial, right: Polynomial, *, quotient: bool) -> Polynomial:
        """Division toward zero: the floor where both operands are known not to be negative."""
        if self.lower_bound(left) >= 0:
            divisor = self._positive(right)
            result = self.space.divide(left, divisor) if quotient else self.space.remainder(left, divisor)
            if result is not None:
                return result
        low, high = self.space.range_of(left)
        reach = max(abs(low), abs(high))
        if not quotient:
            least, most = self.space.range_of(right)
            reach = min(reach, max(abs(least), abs(most)) - 1)
        lower = 0 if self.lower_bound(left) >= 0 and self.space.range_of(right)[0] >= 0 else -reach
        atom = self.space.new_atom("quotient" if quotient else "remainder", lower, reach)
        self.unfollowed[atom.number] = (UnknownReason.WEAK_PROOF, "a division whose operands may be negative or zero")
        return Polynomial.atom(atom.number)

    def _positive(self, divisor: Polynomial) -> Polynomial:
        """The divisor, with a lower bound of 1 recorded where it can be proved and is not obvious."""
        if self.space.range_of(divisor)[0] >= 1 or self.lower_bound(divisor) < 1:
            return divisor
        numbers = divisor.atoms()
        if divisor.terms == {tuple(numbers): 1}:
            atom = self.space.atoms[next(iter(numbers))]
            atom.low = max(atom.low, 1)
            self.space.forget()
            return divisor
        atom = self.space.new_atom("divisor", 1)
        atom.of_sizes = self.space.is_of_sizes(divisor)
        atom.uppers.append(divisor)
        atom.lowers.append(divisor)
        return Polynomial.atom(atom.number)

    def lower_bound(self, polynomial: Polynomial) -> int:
        """A proved lower bound of a value in this context."""
        low = self.space.range_of(polynomial)[0]
        if low >= 0 or not polynomial.terms:
            return int(low)
        bounds = self.space.upper_bounds(-polynomial)
        least = min((self.space.maximum(b) for b in bounds), default=UNBOUNDED)
        return max(int(low), -least)

    def _shift_right(self, node: Binary, left: Polynomial, right: Polynomial) -> Polynomial:
        amount = right.constant_value
        if isinstance(amount, int) and 0 <= amount < 64:
            result = self.space.divide(left, Polynomial.constant(1 << amount))
            if result is not None:
                return result
        return self._typed_atom(node)

    def _extreme(self, left: Polynomial, right: Polynomial, least: bool) -> Polynomial:
        low, high = self.space.range_of(left - right)
        if low >= 0 or high <= 0:
            return (right if low >= 0 else left) if least else (left if low >= 0 else right)
        result = extreme_atom(self.space, left, right, least)
        bounds = self.lower_bound(left), self.lower_bound(right)
        atom = self.space.atoms[next(iter(result.atoms()))]
        atom.low = max(atom.low, min(bounds) if least else max(bounds))
        return result

    def _bitwise_and(self, node: Binary, left: Polynomial, right: Polynomial) -> Polynomial:
        for value, other in ((right.constant_value, left), (left.constant_value, right)):
            if isinstance(value, int) and value >= 0 and (value & (value + 1)) == 0:
                result = self.space.remainder(other, Polynomial.constant(value + 1))
                if result is not None:
                    return result
        a, b = self.lower_bound(left), self.lower_bound(right)
        if a < 0 and b < 0:
            return self._typed_atom(node)
        atom = self.space.new_atom("bits", 0)
        atom.uppers.extend(p for p, low in ((left, a), (right, b)) if low >= 0)
        return Polynomial.atom(atom.number)

    def _bitwise_or(self, node: Binary, left: Polynomial, right: Polynomial) -> Polynomial:
        """| and ^ of non-negative values: at most their sum."""
        if self.lower_bound(left) < 0 or self.lower_bound(right) < 0:
            return self._typed_atom(node)
        atom = self.space.new_atom("bits", 0)
        atom.uppers.append(left + right)
        return Polynomial.atom(atom.number)

    def _negate(self, node: Negate, coordinates: Coordinates) -> Polynomial:
        return -self.value(node.operand, coordinates) if node.type.is_integer else self._typed_atom(node)

    def _invert(self, node: Invert, coordinates: Coordinates) -> Polynomial:
        if node.type.bits == 1:
            return self._boolean(node, coordinates)
        if not node.type.is_integer:
            return self._typed_atom(node)
        return (-self.value(node.operand, coordinates)).plus(-1)

    def _absolute(self, node: Absolute, coordinates: Coordinates) -> Polynomial:
        if not node.type.is_integer:
            return self._typed_atom(node)
        operand = self.observe(node.operand, coordinates, node)
        return self._extreme(operand, -operand, least=False)

    def _cast(self, node: Cast, coordinates: Coordinates) -> Polynomial:
        operand, target = node.operand, node.type
        if not isinstance(operand.type, ScalarType) or not isinstance(target, ScalarType) or not target.is_integer:
            return self._typed_atom(node)
        if not operand.type.is_integer:
            return self._from_float(node, coordinates)
        if target.bits == 1 and operand.type.bits > 1:
            self.observe(operand, coordinates, node)
            return self._boolean(node, coordinates)
        if target.bits > operand.type.bits:
            return self.observe(operand, coordinates, node)
        return self.value(operand, coordinates)

    def _from_float(self, node: Cast, coordinates: Coordinates) -> Polynomial:
        """An integer made from a float: non-negative where the float is; otherwise any value."""
        assert isinstance(node.type, ScalarType)
        self.float_conversions.append(node)
        low = 0 if self._float_is_non_negative(node.operand, coordinates, 0) else node.type.minimum
        atom = self.space.new_atom("index from a float", low, node.type.maximum)
        self.unfollowed[atom.number] = (UnknownReason.WEAK_PROOF, "an index computed in floating point")
        return Polynomial.atom(atom.number)

    def _float_is_non_negative(self, node: Node, coordinates: Coordinates, depth: int) -> bool:
        if depth > 40:
            return False
        match node:
            case Constant(value):
                return value >= 0
            case Cast(operand):
                if isinstance(operand.type, ScalarType) and operand.type.is_integer:
                    return self.lower_bound(self.observe(operand, coordinates, node)) >= 0
                return self._float_is_non_negative(operand, coordinates, depth + 1)
            case ExpandDims() | Broadcast() | Permute():
                return self._float_is_non_negative(node.operand, _operand_coordinates(node, coordinates), depth + 1)
            case Binary(operator, left, right) if operator in (
                BinaryOperator.ADD, BinaryOperator.MULTIPLY, BinaryOperator.TRUE_DIVIDE, BinaryOperator.MINIMUM,
            ):  # fmt: skip
                return all(self._float_is_non_negative(n, coordinates, depth + 1) for n in (left, right))
            case Binary(BinaryOperator.MAXIMUM, left, right):
                return any(self._float_is_non_negative(n, coordinates, depth + 1) for n in (left, right))
            case _:
                return False

    def _where(self, node: Where, coordinates: Coordinates) -> Polynomial:
        if not isinstance(node.type, ScalarType) or not node.type.is_integer:
            return self._typed_atom(node)
        return self.value(node.if_true if self.choose(node.condition, coordinates) else node.if_false, coordinates)

    def _shaped(self, node: ExpandDims | Broadcast | Permute, coordinates: Coordinates) -> Polynomial:
        return self.value(node.operand, _operand_coordinates(node, coordinates))

    def _reduce(self, node: Reduce, coordinates: Coordinates) -> Polynomial:
        if node.function not in ("max", "min") or not node.type.is_integer or node.axis is None:
            return self._typed_atom(node)
        inner = list(coordinates)
        lane = self.space.new_atom("reduced lane", 0, max(0, node.operand.shape[node.axis] - 1))
        inner.insert(node.axis, Polynomial.atom(lane.number))
        operand = self.observe(node.operand, tuple(inner), node)
        low, high = self.space.range_of(operand)
        atom = self.space.new_atom(f"{node.function} over the block", int(low), int(high))
        bounds = self.space.upper_bounds(operand)
        atom.uppers.extend(bounds[:3])
        return Polynomial.atom(atom.number)

    def _opaque(self, node: Opaque, coordinates: Coordinates) -> Polynomial:
        """Any value of the type. What it was computed from may wrap unseen, so that reading it leaves an unknown."""
        if isinstance(node.type, ScalarType) and node.type.is_integer and node.type.bits > 1:
            self.opaque_nodes.append(node)
        return self._typed_atom(node)


def _fits(value: int, type_: ScalarType) -> bool:
    return type_.minimum <= value <= type_.maximum


def _fitting(node: Node, coordinates: Coordinates) -> Coordinates:
    return coordinates[: len(node.shape)] if len(node.shape) != len(coordinates) else coordinates


def _operand_coordinates(node: ExpandDims | Broadcast | Permute, coordinates: Coordinates) -> Coordinates:
    operand = node.operand
    match node:
        case ExpandDims(_, axis):
            return coordinates[:axis] + coordinates[axis + 1 :]
        case Permute(_, order):
            inner = [ZERO] * len(order)
            for position, axis in enumerate(order):
                inner[axis] = coordinates[position]
            return tuple(inner)
        case Broadcast():
            if not operand.shape:
                return ()
            return tuple(
                ZERO if extent == 1 else coordinate
                for extent, coordinate in zip(operand.shape, coordinates, strict=True)
            )


def operand_coordinates(node: ExpandDims | Broadcast | Permute, coordinates: Coordinates) -> Coordinates:
    """Coordinates at which the operand of a shape operation is read."""
    return _operand_coordinates(node, coordinates)


_HANDLERS: dict[type, Callable[[Evaluator, object, Coordinates], Polynomial]] = {
    Constant: Evaluator._constant, Argument: Evaluator._argument, ProgramId: Evaluator._program_id,
    NumPrograms: Evaluator._num_programs, Arange: Evaluator._arange, Binary: Evaluator._binary,
    Negate: Evaluator._negate, Invert: Evaluator._invert, Absolute: Evaluator._absolute, Cast: Evaluator._cast,
    Where: Evaluator._where, ExpandDims: Evaluator._shaped, Broadcast: Evaluator._shaped, Permute: Evaluator._shaped,
    Reduce: Evaluator._reduce, Loaded: Evaluator._loaded, LoopCounter: Evaluator._loop_counter,
    Carried: Evaluator._carried, Opaque: Evaluator._opaque,
}  # type: ignore[dict-item]  # fmt: skip
