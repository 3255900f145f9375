"""The baseline: accepted findings, each with the reason, in a file that is kept beside the code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelscope.errors import KernelscopeError

SCHEMA = 1
_FIELDS = ("fingerprint", "code", "kernel", "expression", "reason")


@dataclass(frozen=True, slots=True)
class AcceptedFinding:
    """`fingerprint` identifies the finding; the other texts are for people who read the file."""

    fingerprint: str
    code: str
    kernel: str
    expression: str
    reason: str


@dataclass(frozen=True, slots=True)
class Baseline:
    path: str
    accepted: tuple[AcceptedFinding, ...]

    def reason_for(self, fingerprint: str) -> str | None:
        """Why a finding is accepted; None for one that is not."""
        return next((a.reason for a in self.accepted if a.fingerprint == fingerprint), None)


def read_baseline(path: str) -> Baseline:
    """The baseline in `path`; KernelscopeError where it is none, or an entry lacks its reason."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        entries = document["accepted"]
        if document["schema"] != SCHEMA or not isinstance(entries, list):
            raise ValueError
        accepted = tuple(AcceptedFinding(*(_text(entry, field) for field in _FIELDS)) for entry in entries)
    except OSError as error:
        what = (error.strerror or "unreadable").lower()
        raise KernelscopeError(
            what, where=path, try_this="write one with --write-baseline FILE --reason TEXT"
        ) from None
    except (ValueError, LookupError, TypeError, RecursionError):
        raise KernelscopeError(
            f"not a baseline of schema {SCHEMA}",
            where=path,
            try_this="write one with --write-baseline FILE --reason TEXT",
        ) from None
    for entry in accepted:
        if not entry.reason.strip():
            raise KernelscopeError(
                f"{entry.code} of {entry.kernel} is accepted without a reason", where=path, try_this="give its `reason`"
            )
    return Baseline(path, accepted)


def _text(entry: object, field: str) -> str:
    value = entry[field] if isinstance(entry, dict) else None
    if not isinstance(value, str):
        raise TypeError
    return value


def baseline_text(accepted: Sequence[AcceptedFinding]) -> str:
    """The file's text, sorted so that a change of it reads well."""
    entries = sorted(accepted, key=lambda a: (a.kernel, a.code, a.expression, a.fingerprint))
    rows = [{field: getattr(entry, field) for field in _FIELDS} for entry in dict.fromkeys(entries)]
    return json.dumps({"schema": SCHEMA, "accepted": rows}, indent=2) + "\n"
