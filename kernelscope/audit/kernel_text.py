"""A kernel's source text and where it lies."""

from __future__ import annotations

from dataclasses import dataclass

from kernelscope.audit.results import KernelSource, Location
from kernelscope.triton_source.index_program import Broadcast, ExpandDims, Node, Permute, Span


@dataclass(frozen=True, slots=True)
class KernelText:
    """A kernel's source and where it lies, for locations."""

    source: KernelSource
    lines: tuple[str, ...]

    @staticmethod
    def of(source: KernelSource) -> KernelText:
        return KernelText(source, tuple(source.text.splitlines()))

    def location(self, span: Span) -> Location:
        line = self.lines[span.line - 1] if 0 < span.line <= len(self.lines) else ""
        end = span.end_column if span.end_line == span.line else len(line)
        indent = self.source.indent
        return Location(
            self.source.file, self.source.first_line + span.line - 1, indent + span.column, indent + end,
            " " * indent + line,
        )  # fmt: skip

    def slice(self, span: Span) -> str:
        """The source text of a span on one line."""
        rows = self.lines[span.line - 1 : span.end_line]
        if not rows:
            return ""
        if len(rows) == 1:
            return rows[0][span.column : span.end_column]
        middle = [row.strip() for row in rows[1:-1]]
        return " ".join([rows[0][span.column :].strip(), *middle, rows[-1][: span.end_column].strip()])


def through_shapes(node: Node) -> Node:
    """The node below changes of shape."""
    while isinstance(node, ExpandDims | Broadcast | Permute):
        node = node.operand
    return node
