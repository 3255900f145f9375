"""Positions of syntax nodes in the kernel text."""

from __future__ import annotations

import ast

from kernelscope.triton_source.index_program import Span

NOWHERE = Span(1, 0, 1, 0)


class SpanMap:
    """Spans of syntax nodes, in characters, shifted right by the indentation that was taken off for parsing."""

    def __init__(self, parsed_text: str, indent: int = 0) -> None:
        self._indent = indent
        self.has_named_expressions = ":=" in parsed_text
        self._lines = None if parsed_text.isascii() else [line.encode() for line in parsed_text.split("\n")]
        self._known: dict[int, Span] = {}

    def of(self, node: ast.expr | ast.stmt | ast.arg) -> Span:
        """The span of a syntax node."""
        span = self._known.get(id(node))
        if span is None:
            span = self._known[id(node)] = self._make(node)
        return span

    def _make(self, node: ast.expr | ast.stmt | ast.arg) -> Span:
        end_line = node.end_lineno or node.lineno
        end = node.end_col_offset if node.end_col_offset is not None else node.col_offset
        start = node.col_offset
        if self._lines is not None:
            start, end = self._characters(node.lineno, start), self._characters(end_line, end)
        return Span(node.lineno, start + self._indent, end_line, end + self._indent)

    def _characters(self, line: int, column: int) -> int:
        assert self._lines is not None
        text = self._lines[line - 1] if line <= len(self._lines) else b""
        return len(text[:column].decode(errors="replace"))
