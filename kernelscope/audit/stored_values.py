"""What of a stored value must be exact: the integers made from indices, where an operation reads them in full."""

from __future__ import annotations

from collections.abc import Callable

from kernelscope.audit import conditions
from kernelscope.audit.coordinates import Coordinates, fitting, operand_coordinates
from kernelscope.audit.evaluation import Evaluator, Use, fork
from kernelscope.audit.index_nodes import IndexNodes, observes
from kernelscope.triton_source.index_program import (
    COMPARISONS,
    RUNNING_SUM,
    Absolute,
    Binary,
    BinaryOperator,
    Broadcast,
    Carried,
    Cast,
    ExpandDims,
    Invert,
    Loaded,
    Negate,
    Node,
    Opaque,
    Permute,
    Reduce,
    Where,
)
from kernelscope.triton_source.scalar_types import ScalarType

#: Operations whose low bits depend on the low bits of their operands alone.
_MODULAR = frozenset({
    BinaryOperator.ADD, BinaryOperator.SUBTRACT, BinaryOperator.MULTIPLY, BinaryOperator.AND, BinaryOperator.OR,
    BinaryOperator.XOR, BinaryOperator.SHIFT_LEFT,
})  # fmt: skip
_MODULAR_REDUCTIONS = frozenset({"sum", "xor_sum", RUNNING_SUM})

Assume = Callable[[Evaluator, list[conditions.Literal]], list[Evaluator]]


class StoredValues:
    """Obliges index-derived integers inside stored values to be exact where they are widened, compared, divided or made
    float. Arithmetic on loaded data follows its own dtype, as in eager mode, and is not judged.

    nodes: which nodes are made of indices; assume: contexts with facts added; drain: takes the obligations out of a context."""

    def __init__(
        self, nodes: IndexNodes, assume: Assume, drain: Callable[[Evaluator], None], kept: list[Evaluator]
    ) -> None:
        self._assume = assume
        self._drain = drain
        self._kept = kept
        self._nodes = nodes
        self._earlier: list[Node] = []
        self._remembered: set[int] = set()
        self._valued: set[tuple[int, Coordinates, int]] = set()

    def collect(self, evaluator: Evaluator, node: Node, coordinates: Coordinates) -> None:
        """Add the obligations of a stored value to the evaluator, those of earlier iterations included."""
        self.visit(evaluator, node, coordinates)
        while self._earlier:
            update = self._earlier.pop()
            self.visit(evaluator, update, evaluator.lane_coordinates(update.shape))

    def visit(self, evaluator: Evaluator, node: Node, coordinates: Coordinates) -> None:
        """Add the obligations of a stored value in this iteration."""
        key = (id(node), coordinates, id(evaluator))
        if key in self._valued or not self._nodes.holds_index(node):
            return
        self._valued.add(key)
        match node:
            case Cast(operand):
                if observes(node):
                    self._read(evaluator, operand, coordinates, node)
                else:
                    self.visit(evaluator, operand, coordinates)
            case Binary():
                self._binary(evaluator, node, coordinates)
            case Where():
                self._where(evaluator, node, coordinates)
            case ExpandDims() | Broadcast() | Permute():
                self.visit(evaluator, node.operand, operand_coordinates(node, coordinates))
            case Negate(operand) | Invert(operand):
                self.visit(evaluator, operand, coordinates)
            case Absolute(operand):
                self._read(evaluator, operand, coordinates, node)
            case Carried(_, _, initial, step):
                for part in (initial, step):
                    self.visit(evaluator, part, fitting(part, coordinates))
            case Reduce(function, operand, axis):
                inner = _reduced(evaluator, operand, axis, coordinates)
                visit = self.visit if function in _MODULAR_REDUCTIONS else self._read
                visit(evaluator, operand, inner)
            case Opaque():
                self._remember(node)
                for operand in node.operands:
                    same = operand.shape == node.shape
                    self.visit(evaluator, operand, coordinates if same else evaluator.lane_coordinates(operand.shape))
            case _:
                pass

    def _remember(self, node: Opaque) -> None:
        """What earlier iterations made of a variable is looked at once, under no condition of this iteration."""
        update = self._nodes.updates.get(id(node))
        if update is not None and id(node) not in self._remembered:
            self._remembered.add(id(node))
            self._earlier.append(update)

    def _read(self, evaluator: Evaluator, node: Node, coordinates: Coordinates, observer: Node | None = None) -> None:
        """An operation reads the whole of an integer, not its low bits."""
        if self._nodes.is_index(node):
            evaluator.observe(node, coordinates, observer)
        else:
            self.visit(evaluator, node, coordinates)

    def _binary(self, evaluator: Evaluator, node: Binary, coordinates: Coordinates) -> None:
        left, right = node.left, node.right
        if node.operator in COMPARISONS and (self._is_plain(left) and self._is_plain(right)):
            conditions.observe(evaluator, node, coordinates)
            return
        modular = node.operator in _MODULAR or not isinstance(left.type, ScalarType) or not left.type.is_integer
        for operand in (left, right):
            if modular:
                self.visit(evaluator, operand, coordinates)
            else:
                self._read(evaluator, operand, coordinates, node)

    def _is_plain(self, node: Node) -> bool:
        """An index, or data as it was loaded."""
        if self._nodes.is_index(node):
            return True
        while isinstance(node, Cast | ExpandDims | Broadcast | Permute):
            node = node.operand
        return isinstance(node, Loaded) and isinstance(node.type, ScalarType) and node.type.is_integer

    def _where(self, evaluator: Evaluator, node: Where, coordinates: Coordinates) -> None:
        self.visit(evaluator, node.condition, coordinates)
        for branch, truth in ((node.if_true, True), (node.if_false, False)):
            if self._nodes.holds_index(branch):
                self._visit_under(evaluator, node.condition, truth, branch, coordinates)

    def _visit_under(
        self, evaluator: Evaluator, condition: Node, truth: bool, branch: Node, coordinates: Coordinates
    ) -> None:
        context = fork(evaluator)
        self._kept.append(context)  # contexts are told apart by id
        for live in self._assume(context, list(conditions.literals(condition, coordinates, truth))):
            self._kept.append(live)
            live.decide(condition, coordinates, truth)
            live.obligations.clear()  # the condition was visited before, and data in it is any value
            live.not_followed.clear()
            live.use = Use.VALUE
            self.visit(live, branch, coordinates)
            self._drain(live)


def _reduced(evaluator: Evaluator, operand: Node, axis: int | None, coordinates: Coordinates) -> Coordinates:
    lanes = evaluator.lane_coordinates(operand.shape)
    if axis is None or len(coordinates) != len(operand.shape) - 1:
        return lanes
    return (*coordinates[:axis], lanes[axis], *coordinates[axis:])


__all__ = ["StoredValues"]
