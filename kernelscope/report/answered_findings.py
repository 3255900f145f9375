"""The findings that a change answers, a sentence each; those that differ in their limit only are told once."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernelscope.audit.results import UnsafeFinding
from kernelscope.diffing.results import KernelDiff, Outcome
from kernelscope.report.quantities import counted

_LIMIT = re.compile(r"(?P<value>.*) <= (?P<limit>-?\d+)", re.DOTALL)


def answered_sentences(findings: Sequence[UnsafeFinding], kernel: KernelDiff) -> list[str]:
    """`settled: KS101 4096*x0 could reach 38654697472; safe only when 4096*s10 <= 2147483648`; of findings about one value
    the one with the least limit."""
    groups: dict[object, list[UnsafeFinding]] = {}
    for finding in findings:
        groups.setdefault(_kind(finding, kernel), []).append(finding)
    return [_sentence(min(group, key=_limit), len(group) - 1, kernel) for group in groups.values()]


def _kind(finding: UnsafeFinding, kernel: KernelDiff) -> object:
    parts = _LIMIT.fullmatch(finding.condition)
    outcome = kernel.outcomes.get(finding.id, Outcome.OPEN)
    return outcome, finding.code, parts["value"] if parts is not None else (finding.condition, finding.expression)


def _limit(finding: UnsafeFinding) -> int:
    parts = _LIMIT.fullmatch(finding.condition)
    return int(parts["limit"]) if parts is not None else 0


def _sentence(finding: UnsafeFinding, others: int, kernel: KernelDiff) -> str:
    reach = finding.tree.maximum if finding.tree is not None and finding.tree.maximum is not None else None
    what = f"{finding.code} {finding.expression}" + (f" could reach {reach}" if reach else "")
    safe = f"; safe only when {finding.condition}" if finding.condition else ""
    outcome = kernel.outcomes.get(finding.id, Outcome.OPEN)
    more = f" (and {counted(others, 'place')} more)" if others else ""
    return f"{outcome.value}{': ' if outcome.value else ''}{what}{safe}{more}"
