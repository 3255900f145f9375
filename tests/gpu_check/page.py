"""docs/gpu-results.md: what a GPU did, written by the run itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.gpu_check.harness import Checked, Failed, Outcome

CHECKS = ("original, largest safe", "original, one more", "patched, largest safe", "patched, one more")
TIMES = ("original", "minimal", "inductor-style", "blanket")


@dataclass(frozen=True, slots=True)
class Row:
    """A case: outcomes by the names of CHECKS and TIMES; `note` says what was left out."""

    case: str
    largest_safe: int
    timed: int
    checks: Mapping[str, Outcome]
    times: Mapping[str, Outcome]
    note: str


def is_as_told(row: Row) -> bool:
    """Whether the GPU did what the audit says: the original wrong or failing only beyond its limit, the patched right."""
    if not row.checks:
        return True
    original, beyond, *patched = (row.checks.get(name) for name in CHECKS)
    right = all(isinstance(one, Checked) and not one.differing for one in (original, *patched))
    faulted = isinstance(beyond, Failed) and beyond.is_device_fault
    return right and (faulted or (isinstance(beyond, Checked) and beyond.differing > 0))


def page(rows: Sequence[Row], machine: Mapping[str, str]) -> str:
    """The page; `machine` has device, driver and versions."""
    facts = "; ".join(f"{name} {value}" for name, value in machine.items())
    lines = ["# On a real GPU", "", "Made by `make gpu-check`, in every number.", "", facts + ".", ""]
    lines += ["Results against eager, in chunks, each package in a process of its own.", ""]
    lines += [f"| model | largest safe | {' | '.join(CHECKS)} | as told |", "|---|---|" + "---|" * (len(CHECKS) + 1)]
    for row in rows:
        cells = [str(row.checks[name]) if name in row.checks else "-" for name in CHECKS]
        told = ("yes" if is_as_told(row) else "NO") if row.checks else row.note
        lines.append(f"| {row.case} | {row.largest_safe} | {' | '.join(map(_cell, cells))} | {told} |")
    lines += ["", "Time of a call, median of 30 by CUDA events.", ""]
    lines += [f"| model | size | {' | '.join(TIMES)} |", "|---|---|" + "---|" * len(TIMES)]
    for row in rows:
        cells = [str(row.times[name]) if name in row.times else "-" for name in TIMES]
        lines.append(f"| {row.case} | {row.timed} | {' | '.join(map(_cell, cells))} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
