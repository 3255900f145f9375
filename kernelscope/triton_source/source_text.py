"""Index-program nodes as text: the kernel's own where a span says so, a Triton-like rendering otherwise."""

from __future__ import annotations

from kernelscope.triton_source.index_program import (
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
    Invert,
    Loaded,
    LoopCounter,
    Negate,
    Node,
    NumPrograms,
    Opaque,
    Permute,
    PointerAdd,
    ProgramId,
    Reduce,
    Span,
    Where,
)

_DEEPEST = 40
_CALLED = frozenset({BinaryOperator.MINIMUM, BinaryOperator.MAXIMUM})


def expression_text(text: str, span: Span) -> str:
    """The kernel text of a span, on one line."""
    rows = text.split("\n")[span.line - 1 : span.end_line]
    if not rows:
        return ""
    if len(rows) == 1:
        return rows[0][span.column : span.end_column]
    inner = [row.strip() for row in rows[1:-1]]
    return " ".join([rows[0][span.column :].strip(), *inner, rows[-1][: span.end_column].strip()])


def render(node: Node) -> str:
    """A short Triton-like text for a node, without its conversions and shapes."""
    return _render(node, _DEEPEST)


def _render(node: Node, depth: int) -> str:
    if depth == 0:
        return "…"
    match node:
        case Constant(value):
            return str(value)
        case Argument(name) | Carried(_, name):
            return name
        case ProgramId(axis):
            return f"tl.program_id({axis})"
        case NumPrograms(axis):
            return f"tl.num_programs({axis})"
        case Arange(start, end):
            return f"tl.arange({start}, {end})"
        case LoopCounter(loop):
            return f"counter of loop {loop}"
        case Loaded(access):
            return f"value of load {access}"
        case Opaque(_, detail):
            return f"<{detail}>"
        case Binary(operator, left, right):
            return _operation(operator, left, right, depth)
        case PointerAdd(pointer, offset):
            return f"{_operand(pointer, depth)} + {_operand(offset, depth)}"
        case Where(condition, if_true, if_false):
            return f"tl.where({', '.join(_render(part, depth - 1) for part in (condition, if_true, if_false))})"
        case Cast() if not node.implicit:
            return f"{_operand(node.operand, depth)}.to({node.type.name})"
        case Negate(operand):
            return f"-{_operand(operand, depth)}"
        case Invert(operand):
            return f"~{_operand(operand, depth)}"
        case Absolute(operand):
            return f"tl.abs({_render(operand, depth - 1)})"
        case Reduce(function, operand):
            return f"{function}({_render(operand, depth - 1)})"
        case Cast() | Broadcast() | ExpandDims() | Permute():
            return _render(node.operand, depth)


def _operation(operator: BinaryOperator, left: Node, right: Node, depth: int) -> str:
    if operator in _CALLED:
        return f"tl.{operator.value}({_render(left, depth - 1)}, {_render(right, depth - 1)})"
    return f"{_operand(left, depth)} {operator.value} {_operand(right, depth)}"


def _operand(node: Node, depth: int) -> str:
    text = _render(node, depth - 1)
    while isinstance(node, (Broadcast, ExpandDims, Permute)) or isinstance(node, Cast) and node.implicit:
        node = node.operand
    composed = isinstance(node, PointerAdd) or isinstance(node, Binary) and node.operator not in _CALLED
    return f"({text})" if composed else text
