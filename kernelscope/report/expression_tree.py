"""The tree of a faulty expression: the type and exact range of each node, and which do not fit."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from kernelscope.audit.results import RangedNode
from kernelscope.report.console import TextStyle
from kernelscope.report.quantities import range_text

_MAX_NODES = 16
#: Branch, last branch, line and blank of a tree, in ASCII and not.
GUIDES = {True: ("|- ", "`- ", "|  ", "   "), False: ("├─ ", "└─ ", "│  ", "   ")}


def expression_tree(root: RangedNode, style: TextStyle) -> Table:
    """A table with a row a node, children indented below their parent."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(no_wrap=True, overflow="ellipsis", max_width=max(16, style.width - 2 - 48))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    rows = list(_rows(root, "", "", GUIDES[style.ascii_only]))
    for text, node in rows[:_MAX_NODES]:
        verdict = Text("") if node.fits else Text("does not fit", "fault")
        values = Text(range_text(node.minimum, node.maximum), "" if node.fits else "fault")
        table.add_row(Text(_shortened(text, style)), Text(node.type, "quiet"), values, verdict)
    if len(rows) > _MAX_NODES:
        table.add_row(Text(f"... {len(rows) - _MAX_NODES} more", "quiet"), "", "", "")
    return table


def _rows(
    node: RangedNode, first: str, below: str, guides: tuple[str, str, str, str]
) -> Iterator[tuple[str, RangedNode]]:
    branch, last_branch, line, blank = guides
    yield f"{first}{' '.join(node.text.split())}", node
    for child in node.children:
        last = child is node.children[-1]
        yield from _rows(child, below + (last_branch if last else branch), below + (blank if last else line), guides)


def _shortened(text: str, style: TextStyle) -> str:
    room = max(16, style.width - 2 - 48)
    return text if len(text) <= room else f"{text[: room - 3]}..."
