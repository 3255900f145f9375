"""Exact values of index-program nodes as polynomials, with the obligations under which the hardware computes the same.

Additions, subtractions and multiplications are exact modulo 2**bits, so an intermediate wrap that cancels is harmless:
only where a value is *observed* (widened, compared, divided, added to a pointer) must its exact value fit its type.
Each observation becomes an `Obligation`; nothing is assumed about it here.
"""

from __future__ import annotations

from kernelscope.audit import iterations
from kernelscope.audit.coordinates import Coordinates, fitting, operand_coordinates
from kernelscope.audit.float_facts import FloatPlace
from kernelscope.audit.host import GRID_LIMITS, LaunchModel
from kernelscope.audit.inside_values import below, observe_inside
from kernelscope.audit.node_values import HANDLERS, RING
from kernelscope.audit.obligation import NeedsCase, NotFollowed, Obligation, Use
from kernelscope.bounds.polynomial import ONE, ZERO, Polynomial
from kernelscope.bounds.space import UNBOUNDED, Space
from kernelscope.triton_source.index_program import (
    Absolute,
    Argument,
    Binary,
    BinaryOperator,
    Broadcast,
    Carried,
    Cast,
    Constant,
    ExpandDims,
    IndexProgram,
    LoopUpdate,
    Node,
    Opaque,
    Permute,
    PointerAdd,
    UnknownReason,
    Where,
)
from kernelscope.triton_source.scalar_types import INT1, PointerType, ScalarType

#: Operations whose result lies among values of the operands' type whenever the operands do (a quotient by -1 aside).
_WITHIN_OPERANDS = frozenset({
    BinaryOperator.FLOOR_DIVIDE, BinaryOperator.REMAINDER, BinaryOperator.SHIFT_RIGHT, BinaryOperator.MINIMUM,
    BinaryOperator.MAXIMUM, BinaryOperator.AND, BinaryOperator.OR, BinaryOperator.XOR,
})  # fmt: skip


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
        self.not_followed: list[NotFollowed] = []
        self.float_atoms: set[int] = set()
        #: By float: bounds of the integers made from it (and whether they are upper ones), and those integers.
        self.float_facts: dict[FloatPlace, tuple[tuple[Polynomial, bool], ...]] = {}
        self.integers_of_floats: dict[FloatPlace, tuple[int, ...]] = {}
        self.loaded_atoms: dict[int, tuple[int, Coordinates]] = {}
        self.loop_atoms: dict[int, int] = {}
        self.program_atoms: dict[int, int] = {}
        self.lane_atoms: dict[tuple[int, int], int] = {}
        self.signs: dict[int, Node] = {}
        #: Variables that loops set, by their value at the start of an iteration; those whose sum is being bounded.
        self.updates: dict[int, LoopUpdate] = {id(update.start): update for update in program.updates}
        self.accumulating: frozenset[int] = frozenset()
        self._values: dict[tuple[int, Coordinates], Polynomial] = {}
        self._seen: set[tuple[int, Coordinates, int]] = set()
        self._truths: dict[tuple[int, Coordinates], bool] = {}


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

    def not_negative(self, node: Absolute) -> Node:
        """The condition on which an absolute value is its operand, the same node each time."""
        if id(node) not in self.signs:
            zero = Constant(0, node.type, node.span, node.shape)
            self.signs[id(node)] = Binary(BinaryOperator.GREATER_EQUAL, node.operand, zero, INT1, node.shape, node.span)
        return self.signs[id(node)]

    def decide(self, condition: Node, coordinates: Coordinates, truth: bool) -> None:
        """Record that a condition is true (or false) in this context."""
        self._truths[id(condition), coordinates] = truth

    def truth(self, condition: Node, coordinates: Coordinates) -> bool | None:
        return self._truths.get((id(condition), coordinates))


    def value(self, node: Node, coordinates: Coordinates) -> Polynomial:
        """The exact integer value of a node at lane coordinates."""
        key = (id(node), coordinates)
        known = self._values.get(key)
        if known is None:
            known = HANDLERS[type(node)](self, node, coordinates)
            self._values[key] = known
        return known

    def first_inside(self, node: Node, coordinates: Coordinates) -> bool:
        """Is this the first look inside a value that is not followed?"""
        key = (id(node), coordinates, -1)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    def observe(self, node: Node, coordinates: Coordinates, observer: Node | None) -> Polynomial:
        """The exact value of a node that something reads in full: it must fit the node's type."""
        exact = self.value(node, coordinates)
        if isinstance(node.type, ScalarType) and node.type.is_integer:
            key = (id(node), coordinates, id(observer) if isinstance(node, Argument) else 0)
            if key not in self._seen:
                self._seen.add(key)
                constant = exact.constant_value
                fits = _fits(constant, node.type) if isinstance(constant, int) else self._within_operands(node, coordinates)
                if not fits:
                    self.obligations.append(
                        Obligation(node, observer, exact, node.type, self.use, self.space, coordinates)
                    )
        return exact

    def _within_operands(self, node: Node, coordinates: Coordinates) -> bool:
        """Does the value fit because the operands do, which its operation reads in full?"""
        if not isinstance(node, Binary) or node.operator not in _WITHIN_OPERANDS:
            return False
        if node.operator is not BinaryOperator.FLOOR_DIVIDE:
            return True
        return any(self.lower_bound(self.value(n, coordinates)) >= 0 for n in (node.right, node.left))

    def observe_equality(self, node: Binary, coordinates: Coordinates) -> None:
        """`a == b` on wrapped values is right unless a - b is a non-zero multiple of 2**bits."""
        difference = self.value(node.left, coordinates) - self.value(node.right, coordinates)
        assert isinstance(node.left.type, ScalarType)
        self._observe_modulo(node, difference, node.left.type, coordinates)

    def observe_truth(self, node: Cast, coordinates: Coordinates) -> None:
        """A number as a condition is `x != 0`: right unless x is a non-zero multiple of 2**bits."""
        assert isinstance(node.operand.type, ScalarType)
        self._observe_modulo(node, self.value(node.operand, coordinates), node.operand.type, coordinates)

    def _observe_modulo(self, node: Node, difference: Polynomial, type_: ScalarType, coordinates: Coordinates) -> None:
        key = (id(node), coordinates, 0)
        if key in self._seen:
            return
        self._seen.add(key)
        reach = (1 << type_.bits) - 1
        low, high = self.space.range_of(difference)
        if low < -reach or high > reach:
            self.obligations.append(
                Obligation(node, None, difference, type_, self.use, self.space, coordinates, (-reach, reach))
            )

    def leave(self, node: Opaque) -> None:
        """Note that a condition is read that is not followed."""
        self.not_followed.append(NotFollowed(node, node.reason, node.detail))

    def pointer(self, node: Node, coordinates: Coordinates) -> tuple[Argument | None, Polynomial, tuple[Node, ...]]:
        """Base argument (None: not known) and exact offset in elements of a pointer, with the offset nodes added."""
        match node:
            case PointerAdd(pointer, offset):
                base, total, parts = self.pointer(pointer, coordinates)
                return base, total + self.observe(offset, coordinates, node), (*parts, offset)
            case Argument():
                return node, ZERO, ()
            case ExpandDims() | Broadcast() | Permute():
                return self.pointer(node.operand, operand_coordinates(node, coordinates))
            case Cast():
                return self._cast_pointer(node, coordinates)
            case Where(condition, if_true, if_false):
                truth = self.choose(condition, coordinates)
                return self.pointer(if_true if truth else if_false, coordinates)
            case Carried():
                base, total, parts = self.pointer(node.initial, coordinates)
                step = self.observe(node.step, fitting(node.step, coordinates), node)
                return base, total + step * iterations.carried_count(self, node), (*parts, node.step)
            case _:
                below(self, node, coordinates)
                return None, self.unknown_atom(node, -UNBOUNDED, UNBOUNDED), ()

    def _cast_pointer(
        self, node: Cast, coordinates: Coordinates
    ) -> tuple[Argument | None, Polynomial, tuple[Node, ...]]:
        operand = node.operand
        if not isinstance(operand.type, PointerType) or not isinstance(node.type, PointerType):
            observe_inside(self, operand, coordinates)
            return None, self.unknown_atom(node, -UNBOUNDED, UNBOUNDED), ()
        base, total, parts = self.pointer(operand, coordinates)
        before, after = operand.type.element.item_bytes, node.type.element.item_bytes
        if total == ZERO or before == after:
            return base, total, parts
        scaled = self.space.divide(total.scaled(before), Polynomial.constant(after))
        return base, scaled if scaled is not None else self.unknown_atom(node, -UNBOUNDED, UNBOUNDED), parts

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

    def unknown_atom(self, node: Node, low: int, high: int) -> Polynomial:
        atom = self.space.new_atom("value", low, high)
        reason, detail = UnknownReason.NOT_MODELLED, "a value that is not followed"
        if isinstance(node, Opaque):
            reason, detail = node.reason, node.detail
        self.unfollowed[atom.number] = (reason, detail)
        return Polynomial.atom(atom.number)

    def any_value(self, node: Node, reason: UnknownReason, detail: str) -> Polynomial:
        """Any value of the node's type. What it is computed from may wrap unseen, so that reading it leaves an unknown."""
        self.not_followed.append(NotFollowed(node, reason, detail))
        return self.typed_atom(node)

    def typed_atom(self, node: Node) -> Polynomial:
        if isinstance(node.type, ScalarType) and node.type.is_integer:
            return self.unknown_atom(node, node.type.minimum, node.type.maximum)
        return self.unknown_atom(node, -UNBOUNDED, UNBOUNDED)

    def lower_bound(self, polynomial: Polynomial) -> int:
        """A proved lower bound of a value in this context."""
        low = self.space.range_of(polynomial)[0]
        if low >= 0 or not polynomial.terms:
            return int(low)
        bounds = self.space.upper_bounds(-polynomial)
        least = min((self.space.maximum(b) for b in bounds), default=UNBOUNDED)
        return max(int(low), -least)

    def program_id(self, axis: int) -> Polynomial:
        if axis not in self.program_atoms:
            # a grid beyond CUDA's limit is never launched: that is a finding of its own
            atom = self.space.new_atom(f"program_id({axis})", 0, GRID_LIMITS[axis] - 1)
            atom.uppers.append(self.model.grid[axis] - ONE)
            atom.lowers.append(ZERO)
            self.program_atoms[axis] = atom.number
        return Polynomial.atom(self.program_atoms[axis])

    def base_of(self, access: int) -> str | None:
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


def _fits(value: int, type_: ScalarType) -> bool:
    return type_.minimum <= value <= type_.maximum


def fork(evaluator: Evaluator) -> Evaluator:
    """An independent context that starts with everything known in this one."""
    copy = Evaluator(evaluator.program, evaluator.model, evaluator.space.fork())
    copy.use = evaluator.use
    copy.unfollowed = dict(evaluator.unfollowed)
    copy.float_atoms = set(evaluator.float_atoms)
    copy.float_facts = dict(evaluator.float_facts)
    copy.integers_of_floats = dict(evaluator.integers_of_floats)
    copy.loaded_atoms = dict(evaluator.loaded_atoms)
    copy.loop_atoms = dict(evaluator.loop_atoms)
    copy.program_atoms = dict(evaluator.program_atoms)
    copy.signs = evaluator.signs
    copy.accumulating = evaluator.accumulating
    copy.lane_atoms = dict(evaluator.lane_atoms)
    copy._values = dict(evaluator._values)
    copy._seen = set(evaluator._seen)
    copy._truths = dict(evaluator._truths)
    return copy


__all__ = ["RING", "Coordinates", "Evaluator", "NeedsCase", "NotFollowed", "Obligation", "Use", "fork", "operand_coordinates"]
