"""What became of the findings of the first side."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernelscope.audit.results import Finding, KernelResult, Note, UnsafeFinding, Verdict
from kernelscope.diffing.results import Outcome

#: Codes that one cause may have, seen from an address, a mask or a condition.
_INDEX_CODES = frozenset({"KS101", "KS102", "KS103", "KS201", "KS203"})
_CAST = re.compile(r"\.to\(tl\.u?int\d+\)|[\s()]")


def outcomes_of(findings: Sequence[UnsafeFinding], after: KernelResult | None) -> dict[str, Outcome]:
    """By id: settled where the second side is safe or has no finding of the kind, staying where it has the same one."""
    return {finding.id: _outcome(finding, after) for finding in findings}


def _outcome(finding: UnsafeFinding, after: KernelResult | None) -> Outcome:
    if after is None:
        return Outcome.OPEN
    if after.verdict is Verdict.SAFE:
        return Outcome.SETTLED
    alike = [f for f in after.findings if not isinstance(f, Note) and _kind(f) == _kind(finding)]
    if any(_plain(f.expression) == _plain(finding.expression) for f in alike):
        return Outcome.STAYS
    structural = any(f.code.startswith("KS9") or f.code == "KS104" for f in after.findings)
    return Outcome.OPEN if alike or structural else Outcome.SETTLED


def _kind(finding: Finding) -> str:
    if finding.code in _INDEX_CODES:
        return "index"
    return f"{finding.code} {finding.expression}" if finding.code == "KS301" else finding.code


def _plain(expression: str) -> str:
    """An expression without casts, parentheses and blanks, as a patch may change them."""
    return _CAST.sub("", expression)
