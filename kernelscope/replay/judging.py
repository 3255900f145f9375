"""What the interpreter's two sides say about a finding: whether the lane, or the loop, goes wrong on the hardware's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelscope.audit.results import Consequence, UnsafeFinding
from kernelscope.replay.results import ReplayedAccess


@dataclass(frozen=True, slots=True)
class Judged:
    """`wrong` None: the interpreter cannot run it, and `detail` says why."""

    wrong: bool | None
    detail: str
    accesses: tuple[ReplayedAccess, ...] = ()


def judged(answer: Mapping[str, Any], finding: UnsafeFinding, line: int, elements: Mapping[str, int]) -> Judged:
    """The judgement on an answer; `line`: of the finding, in the kernel's text. `elements`: what each buffer spans."""
    if "failure" in answer:
        return Judged(None, f"the interpreter cannot run it: {answer['failure']}")
    failure = answer["hardware"]["failure"] or answer["exact"]["failure"]
    sides = [answer[side]["accesses"] for side in ("hardware", "exact")]
    if failure is not None:
        sides = [side[: min(map(len, sides))] for side in sides]
    accesses = _paired(sides[0], sides[1], elements)
    if finding.consequence is Consequence.ENDLESS_LOOP:
        return _judged_loop(answer["hardware"]["loops"], line, accesses)
    wrong = any(not access.agrees for access in accesses)
    if failure is not None and not wrong:
        return Judged(None, f"the interpreter cannot run it: {failure}")
    detail = "" if wrong else "the lane does the same on both sides"
    return Judged(wrong, f"the run ended early: {failure}" if failure is not None else detail, accesses)


def _judged_loop(
    loops: Sequence[Mapping[str, int]], line: int, accesses: tuple[ReplayedAccess, ...]
) -> Judged:
    """A `for` of the hardware adds its step once more after the last iteration, in the counter's own width, and compares."""
    ran = [loop for loop in loops if loop["line"] == line]
    if not ran:
        return Judged(None, "the loop does not run at the witness", accesses)
    for loop in ran:
        start, end, step, bits = loop["start"], loop["end"], loop["step"], loop["bits"]
        if step <= 0 or start >= end:
            continue
        last = start + (end - 1 - start) // step * step
        following = (last + step + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
        if following < end:
            detail = f"after the last iteration, {last}, the counter becomes {following}, which is below {end}: it never ends"
            return Judged(True, detail, accesses)
    return Judged(False, "the loop's counter passes its end", accesses)


def _paired(
    hardware: Sequence[Mapping[str, Any]], exact: Sequence[Mapping[str, Any]], elements: Mapping[str, int]
) -> tuple[ReplayedAccess, ...]:
    """Accesses of both sides in order; where one side has more (a loop that only it enters), the other has none."""
    result = []
    for number in range(max(len(hardware), len(exact))):
        left = hardware[number] if number < len(hardware) else None
        right = exact[number] if number < len(exact) else None
        one = left or right
        assert one is not None
        buffer = one["buffer"] or "?"
        result.append(
            ReplayedAccess(
                one["line"],
                one["kind"],
                buffer,
                right["offset"] if right else None,
                left["offset"] if left else None,
                elements.get(buffer),
                (right["value"] if right else None, left["value"] if left else None),
            )
        )
    return tuple(result)
