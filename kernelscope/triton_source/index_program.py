"""The typed index program: what a kernel computes its addresses, masks, loop bounds and stored values from.

An expression is a directed acyclic graph of nodes compared by identity. Every implicit conversion that Triton makes is
an explicit `Cast` here, so that the operands of a binary node always have the same type. A tensor node has a `shape`; a
scalar has `()`. Operands of different shape are made alike by `ExpandDims` and `Broadcast`. A node of shape
(n0, n1, ...) is a function of lane coordinates (i0, i1, ...): `Arange(start, end)` is `start + i0`;
`ExpandDims(x, axis)` drops coordinate `axis`; `Broadcast` takes coordinate 0 along the axes where its operand has
extent 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from kernelscope.frozen import frozen_dataclass
from kernelscope.triton_source.scalar_types import INT32, ScalarType, ValueType

Shape = tuple[int, ...]


@frozen_dataclass(frozen=True, slots=True)
class Span:
    """A range of the kernel text: lines from 1, columns in characters from 0; `end_column` is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


class BinaryOperator(Enum):
    __hash__ = object.__hash__  # Enum's own is Python code

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    FLOOR_DIVIDE = "//"  # integers: truncates toward zero, as Triton's `//` does
    REMAINDER = "%"  # integers: sign of the dividend, as Triton's `%` does
    TRUE_DIVIDE = "/"
    AND = "&"
    OR = "|"
    XOR = "^"
    SHIFT_LEFT = "<<"
    SHIFT_RIGHT = ">>"  # arithmetic for signed types, logical for unsigned
    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    EQUAL = "=="
    NOT_EQUAL = "!="


COMPARISONS = frozenset(
    {
        BinaryOperator.LESS,
        BinaryOperator.LESS_EQUAL,
        BinaryOperator.GREATER,
        BinaryOperator.GREATER_EQUAL,
        BinaryOperator.EQUAL,
        BinaryOperator.NOT_EQUAL,
    }
)


class UnknownReason(Enum):
    """Why something is not known."""

    MISSING_FACT = "a fact is missing"
    WEAK_PROOF = "the proof is not strong enough"
    NOT_MODELLED = "the construct is not modelled"


@frozen_dataclass(frozen=True, slots=True, eq=False)
class Constant:
    value: int | float | bool
    type: ScalarType
    span: Span
    shape: Shape = ()


@frozen_dataclass(frozen=True, slots=True, eq=False)
class Argument:
    """A kernel parameter as the launch passes it; an integer one may have been narrowed to `type` by the launch."""

    name: str
    type: ValueType
    span: Span
    shape: Shape = ()


@frozen_dataclass(frozen=True, slots=True, eq=False)
class ProgramId:
    axis: int
    span: Span
    type: ScalarType = INT32
    shape: Shape = ()


@frozen_dataclass(frozen=True, slots=True, eq=False)
class NumPrograms:
    axis: int
    span: Span
    type: ScalarType = INT32
    shape: Shape = ()


@frozen_dataclass(frozen=True, slots=True, eq=False)
class Arange:
    """`tl.arange(start, end)`: shape is `(end - start,)`."""

    start: int
    end: int
    span: Span
    shape: Shape
    type: ScalarType = INT32


@frozen_dataclass(frozen=True, slots=True, eq=False)
class Binary:
    """Operands have one type and shape; a comparison's own type is int1. A pointer sum is `PointerAdd`."""

    operator: BinaryOperator
    left: Node
    right: Node
    type: ScalarType
    shape: Shape
    span: Span


@frozen_dataclass(frozen=True, slots=True, eq=False)
class Negate:
    """Arithmetic negation `-x`."""

    operand: Node
    type: ScalarType
    shape: Shape
    span: Span


@frozen_dataclass(frozen=True, slots=True, eq=False)
class Invert:
    """Bitwise `~x`; on int1 the logical not."""

    operand: Node
    type: ScalarType
    shape: Shape
    span: Span


@frozen_dataclass(frozen=True, slots=True, eq=False)
class Absolute:
    operand: Node
    type: ScalarType
    shape: Shape
    span: Span


@frozen_dataclass(frozen=True, slots=True, eq=False)
class Cast:
    """Conversion to `type`; `implicit` where Triton's promotion made it. Signed widens by sign, unsigned by zero
    extension; narrowing keeps the low bits; float to integer truncates toward zero; int to int1 is `!= 0`."""

    operand: Node
    type: ValueType
    shape: Shape
    span: Span
    implicit: bool = False


@frozen_dataclass(frozen=True, slots=True, eq=False)
class Where:
    condition: Node
    if_true: Node
    if_false: Node
    type: ValueType
    shape: Shape
    span: Span


@frozen_dataclass(frozen=True, slots=True, eq=False)
class ExpandDims:
    """A new axis of extent 1 at `axis` of the result."""

    operand: Node
    axis: int
    type: ValueType
    shape: Shape
    span: Span


@frozen_dataclass(frozen=True, slots=True, eq=False)
class Broadcast:
    """Same rank as the operand (or operand scalar); axes of extent 1 are repeated."""

    operand: Node
    type: ValueType
    shape: Shape
    span: Span


@frozen_dataclass(frozen=True, slots=True, eq=False)
class Permute:
    """`shape[i] == operand.shape[order[i]]`."""

    operand: Node
    order: tuple[int, ...]
    type: ValueType
    shape: Shape
    span: Span


RUNNING_SUM = "running sum"


@frozen_dataclass(frozen=True, slots=True, eq=False)
class Reduce:
    """A reduction along `axis` whose result lies within the operand's values (max, min, select_one), or any other
    `function`. A RUNNING_SUM keeps the operand's shape: each lane is the sum of those up to it."""

    function: str
    operand: Node
    axis: int | None
    type: ScalarType
    shape: Shape
    span: Span


@frozen_dataclass(frozen=True, slots=True, eq=False)
class PointerAdd:
    """Pointer plus integer offset in elements, which is sign-extended (unsigned: zero-extended) to 64 bits first."""

    pointer: Node
    offset: Node
    type: ValueType
    shape: Shape
    span: Span


@frozen_dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """The value that a load (or atomic) returns; `access` is its index in `IndexProgram.accesses`."""

    access: int
    type: ValueType
    shape: Shape
    span: Span


@frozen_dataclass(frozen=True, slots=True, eq=False)
class LoopCounter:
    """The counter of a `for` loop inside its body; `loop` is its index in `IndexProgram.loops`."""

    loop: int
    type: ScalarType
    span: Span
    shape: Shape = ()


@frozen_dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """A variable that a loop changes by a constant amount per iteration: `initial + k * step` at the start of
    iteration k (from 0). `after` is True for its value once the loop has ended (k = trip count). For a pointer the
    step is an offset in elements, added in 64 bits."""

    loop: int
    name: str
    initial: Node
    step: Node
    type: ValueType
    shape: Shape
    span: Span
    after: bool = False


@frozen_dataclass(frozen=True, slots=True, eq=False)
class Opaque:
    """A value that is not followed: `reason` and `detail` say why. Any value of its type is possible. Float arithmetic
    that no index depends on is opaque with NOT_MODELLED too and harms nothing, since only what reaches an address,
    a mask, a loop bound or an integer store is asked about. `operands` is what it was computed from."""

    reason: UnknownReason
    detail: str
    type: ValueType
    shape: Shape
    span: Span
    operands: tuple[Node, ...] = ()


Node = (
    Constant | Argument | ProgramId | NumPrograms | Arange | Binary | Negate | Invert | Absolute | Cast | Where
    | ExpandDims | Broadcast | Permute | Reduce | PointerAdd | Loaded | LoopCounter | Carried | Opaque
)  # fmt: skip


@frozen_dataclass(frozen=True, slots=True, eq=False)
class LoopUpdate:
    """A variable that a loop sets and that is not followed: `start` of an iteration (its operand is the value before the
    loop), and what the body makes of it."""

    loop: int
    start: Opaque
    end: Node


class AccessKind(Enum):
    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """One load, store or atomic. A lane is live when `mask` (None: always) and all `guards` are true.

    pointer: Node of PointerType; pointer, mask, value and other have one shape. Block-pointer and descriptor accesses
    are lowered to this form: their offsets are int64 sums of `int64(offset + lane) * stride`, the boundary checks are
    part of `mask`. `guards` are scalar int1 conditions of the enclosing `if`s and earlier returns, outermost first.
    `loops`: indices of the enclosing loops, outermost first."""

    kind: AccessKind
    pointer: Node
    mask: Node | None
    value: Node | None
    other: Node | None
    guards: tuple[Node, ...]
    loops: tuple[int, ...]
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """`for counter in range(start, end, step)`, or a `while` whose `counter` is None and whose bounds are not known.

    start, end and step have the type `counter_type`: the promotion of the bounds, signed, since Triton compares the
    counter with the end as signed numbers whatever their types. `guards` and `loops` are those around the statement."""

    name: str
    start: Node | None
    end: Node | None
    step: Node | None
    counter_type: ScalarType
    condition: Node | None
    guards: tuple[Node, ...]
    loops: tuple[int, ...]
    span: Span

    @property
    def is_while(self) -> bool:
        return self.start is None

    @property
    def counts_down(self) -> bool:
        """A step that is only known to be negative when the kernel runs makes no loop count down: Triton's runs while the
        counter is below the end, whatever the step."""
        return isinstance(self.step, Constant) and self.step.value < 0

    @property
    def runs_from_its_end(self) -> bool:
        """A `for` that counts down: Triton runs it upwards and takes the counter from the end."""
        return self.counts_down and self.condition is None


@dataclass(frozen=True, slots=True, eq=False)
class Assertion:
    """`tl.device_assert(condition, …)`: holds for every lane after it."""

    condition: Node
    guards: tuple[Node, ...]
    loops: tuple[int, ...]
    before_access: int  # number of accesses that come before it in program order
    span: Span


@dataclass(frozen=True, slots=True)
class Unmodelled:
    """A construct that could read or write memory, or change control flow, and that is not modelled."""

    detail: str
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """A scalar integer expression that must be exact for control flow: an `if` or `while` condition."""

    condition: Node
    guards: tuple[Node, ...]
    loops: tuple[int, ...]
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class CompileError:
    """The kernel cannot compile under these types, at any size (a literal that does not fit its type)."""

    detail: str
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class IndexProgram:
    """One kernel under one set of argument types and constexpr values. Everything is in program order."""

    name: str
    parameters: tuple[str, ...]
    types: Mapping[str, ValueType]
    constexprs: Mapping[str, object]
    accesses: tuple[Access, ...]
    loops: tuple[Loop, ...]
    assertions: tuple[Assertion, ...]
    observations: tuple[Observation, ...]
    unmodelled: tuple[Unmodelled, ...]
    compile_errors: tuple[CompileError, ...]
    #: Where each axis's program id is read, for findings about the grid.
    program_id_spans: Mapping[int, Span]
    #: Every integer operation in program order, for the comparison with Triton's IR: Binary, Cast, Negate, Invert, and
    #: PointerAdd where Triton zero-extends the offset.
    operations: tuple[Node, ...] = ()
    updates: tuple[LoopUpdate, ...] = ()
