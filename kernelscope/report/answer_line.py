"""The shortest answer about a model as one line: its verdict in colour, what it is about, the sentence."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from kernelscope.audit.results import AuditResult
from kernelscope.report.answer import Answer, answers_of

_STYLES = {"UNSAFE": "unsafe", "UNKNOWN": "unknown", "SAFE": "safe", "UNREADABLE": "unsafe"}


def answer_line(answer: Answer) -> Text:
    """`UNSAFE  package.pt2: safe up to …`."""
    verdict = (answer.verdict, _STYLES[answer.verdict])
    return Text.assemble(verdict, f"  {answer.subject}: {answer.sentence}", overflow="fold")


def answer_lines(result: AuditResult) -> Iterator[Text]:
    """One line for each model of an audit."""
    for artifact in result.artifacts:
        yield from map(answer_line, answers_of(artifact))
