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
        self.known: dict[int, Span] = {}

    def of(self, node: ast.expr | ast.stmt | ast.arg) -> Span:
        """The span of a syntax node."""
        span = self.known.get(id(node))
        if span is not None:
            return span
        line, start, end_line, end = node.lineno, node.col_offset, node.end_lineno, node.end_col_offset
        end_line = line if end_line is None else end_line
        end = start if end is None else end
        if self._lines is not None:
            start, end = self._characters(line, start), self._characters(end_line, end)
        self.known[id(node)] = span = Span(line, start + self._indent, end_line, end + self._indent)
        return span

    def _characters(self, line: int, column: int) -> int:
        assert self._lines is not None
        text = self._lines[line - 1] if line <= len(self._lines) else b""
        return len(text[:column].decode(errors="replace"))
