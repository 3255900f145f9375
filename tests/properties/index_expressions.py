"""Random index expressions over the indices of a block, sizes and constants."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from kernelscope.triton_source import index_program as ip
from kernelscope.triton_source.index_program import BinaryOperator, Node
from kernelscope.triton_source.scalar_types import UINT8, ScalarType
from tests.properties import construction as c

_DIVISORS = (2, 3, 4, 5, 8, 16)
_STRIDES = (1, 2, 3, 4, 7, 8, 16, 20, 40)
_COMPARISONS = (BinaryOperator.LESS, BinaryOperator.GREATER_EQUAL, BinaryOperator.GREATER, BinaryOperator.EQUAL)


@dataclass(slots=True)
class Expressions:
    """Draws expressions: `leaves` are tensors or scalars of one rank, `scalars` kernel arguments."""

    random: Random
    leaves: list[Node]
    scalars: list[Node]

    def index(self, depth: int) -> Node:
        """An integer expression."""
        if depth <= 0 or self.random.random() < 0.1:
            return self._leaf()
        match self.random.randrange(14):
            case 0 | 1 | 2:
                return self._affine(depth)
            case 3 | 4:
                return c.add(self.index(depth - 1), self.index(depth - 1))
            case 5:
                return c.binary(BinaryOperator.SUBTRACT, self.index(depth - 1), self._small())
            case 6 | 7:
                operator = self.random.choice((BinaryOperator.FLOOR_DIVIDE, BinaryOperator.REMAINDER))
                return c.binary(operator, self.index(depth - 1), self._divisor())
            case 8:
                return c.where(self.condition(), self.index(depth - 1), self.index(depth - 1))
            case 9 | 10:
                return self._converted(self.index(depth - 1))
            case 11:
                operator = self.random.choice((BinaryOperator.MINIMUM, BinaryOperator.MAXIMUM))
                return c.binary(operator, self.index(depth - 1), self._small())
            case 12:
                return self._bits(self.index(depth - 1))
            case _:
                return self._decomposed()

    def _leaf(self) -> Node:
        if self.scalars and self.random.random() < 0.2:
            return self.random.choice(self.scalars)
        if self.random.random() < 0.1:
            return c.constant(self.random.choice(_STRIDES))
        return self.random.choice(self.leaves)

    def _small(self) -> Node:
        return c.constant(self.random.randint(0, 20)) if self.random.random() < 0.7 else self._leaf()

    def _divisor(self) -> Node:
        if self.scalars and self.random.random() < 0.35:
            return self.random.choice(self.scalars)
        return c.constant(self.random.choice(_DIVISORS))

    def _affine(self, depth: int) -> Node:
        factor = self._divisor() if self.random.random() < 0.3 else c.constant(self.random.choice(_STRIDES))
        product = c.multiply(self.index(depth - 1), factor)
        return c.add(product, self.random.choice(self.leaves)) if self.random.random() < 0.5 else product

    def _decomposed(self) -> Node:
        """`x % k + s * (x // k)`, as views make."""
        x, divisor = self.random.choice(self.leaves), self._divisor()
        inner = c.binary(BinaryOperator.REMAINDER, x, divisor)
        outer = c.binary(BinaryOperator.FLOOR_DIVIDE, x, divisor)
        stride = divisor if self.random.random() < 0.5 else c.constant(self.random.choice(_STRIDES))
        return c.add(inner, c.multiply(outer, stride))

    def _converted(self, node: Node) -> Node:
        types: tuple[ScalarType, ...] = (c.WIDE, c.WIDE, c.WIDE, UINT8, c.NARROW)
        return c.cast(node, self.random.choice(types))

    def _bits(self, node: Node) -> Node:
        assert isinstance(node.type, ScalarType)
        match self.random.randrange(6):
            case 0:
                return c.binary(BinaryOperator.AND, node, c.constant(self.random.choice((1, 3, 6, 7, 15))))
            case 1:
                operator = self.random.choice((BinaryOperator.OR, BinaryOperator.XOR))
                return c.binary(operator, node, c.constant(self.random.choice((1, 5, 12))))
            case 2:
                operator = self.random.choice((BinaryOperator.SHIFT_LEFT, BinaryOperator.SHIFT_RIGHT))
                return c.binary(operator, node, c.constant(self.random.randint(0, 5)))
            case 3:
                return ip.Negate(node, node.type, node.shape, c.SPAN)
            case 4:
                return ip.Absolute(node, node.type, node.shape, c.SPAN)
            case _:
                return c.invert(node)

    def condition(self) -> Node:
        """A comparison of index expressions."""
        left = self.index(self.random.randint(0, 1))
        comparison = c.binary(self.random.choice(_COMPARISONS), left, self._small())
        return c.invert(comparison) if self.random.random() < 0.2 else comparison

    def stored(self) -> Node:
        """A stored value made of indices, widened on the way."""
        wide = c.cast(self.index(self.random.randint(0, 2)), c.WIDE)
        if self.random.random() < 0.3:
            wide = c.where(self.condition(), wide, c.constant(self.random.randint(-5, 5), c.WIDE))
        return wide
