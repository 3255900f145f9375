"""Source text of expressions."""

from __future__ import annotations

from kernelscope.triton_source.index_program import Span


def expression_text(text: str, span: Span) -> str:
    """The text of a span, its lines joined by single spaces."""
    rows = text.splitlines()[span.line - 1 : span.end_line]
    if not rows:
        return ""
    if len(rows) == 1:
        return rows[0][span.column : span.end_column]
    middle = [row.strip() for row in rows[1:-1]]
    return " ".join([rows[0][span.column :].strip(), *middle, rows[-1][: span.end_column].strip()])
