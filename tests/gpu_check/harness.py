"""Steps in a process of their own: what each came to, even if the process dies in one of them."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FAULTS = ("illegal memory access", "illegal instruction", "misaligned address", "launch failure", "an invalid argument")


@dataclass(frozen=True, slots=True)
class Checked:
    """The result was compared: `differing` elements (0: right), the first in row `first_row`."""

    differing: int
    first_row: int | None

    def __str__(self) -> str:
        return "right" if not self.differing else f"wrong: {self.differing} elements, the first in row {self.first_row}"


@dataclass(frozen=True, slots=True)
class Timed:
    milliseconds: float

    def __str__(self) -> str:
        return f"{self.milliseconds:.3f} ms"


@dataclass(frozen=True, slots=True)
class Failed:
    """The process ended in this step."""

    reason: str

    @property
    def is_device_fault(self) -> bool:
        """Whether the device refused what a kernel did, and not the program, the memory or the time."""
        return any(text in self.reason for text in _FAULTS)

    def __str__(self) -> str:
        return f"failed: {self.reason}"


@dataclass(frozen=True, slots=True)
class NotRun:
    """The process had ended before this step."""

    reason: str

    def __str__(self) -> str:
        return f"not run: {self.reason}"


Outcome = Checked | Timed | Failed | NotRun


def outcomes(command: Sequence[str], steps: int, seconds: float, folder: Path) -> list[Outcome]:
    """The command prints a line of JSON a step; an outcome for each of `steps`."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds, cwd=folder)
        output, errors, reason = done.stdout, done.stderr, _ending(done.returncode)
    except subprocess.TimeoutExpired as expired:
        output, errors, reason = _text(expired.stdout), "", f"not done within {seconds:.0f} s"
    found: list[Outcome] = [_read(line) for line in output.splitlines() if line.startswith("{")][:steps]
    if len(found) < steps:
        last = [line.strip() for line in errors.splitlines() if "rror" in line]
        found.append(Failed(f"{reason}: {last[-1][:160]}" if last else reason))
    return found + [NotRun("the step before it failed")] * (steps - len(found))


def _read(line: str) -> Outcome:
    answer: Mapping[str, Any] = json.loads(line)
    if "milliseconds" in answer:
        return Timed(answer["milliseconds"])
    return Checked(answer["differing"], answer["first_row"])


def _ending(code: int) -> str:
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"


def _text(output: bytes | str | None) -> str:
    return output.decode() if isinstance(output, bytes) else output or ""
