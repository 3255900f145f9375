"""Reads what the PTX of a kernel shows of its loops: the step of each counter that runs up to a bound."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_INSTRUCTION = re.compile(r"^(?:@(?P<predicate>!?%\w+)\s+)?(?P<opcode>[a-z][\w.:]*)\s+(?P<operands>[^;]*);")
_LABEL = re.compile(r"^\$\w+:\s*")
_LITERAL = re.compile(r"^-?(?:0[xX][0-9a-fA-F]+|\d+)$")
_PARAMETER = re.compile(r"^\.param\s+(?:\.align\s+\d+\s+)?\.[a-z](\d+)[^\[,]*?(?:\[(\d+)\])?,?$")


@dataclass(frozen=True, slots=True)
class Argument:
    """A kernel argument, by its position among the parameters of the PTX entry."""

    position: int


@dataclass(frozen=True, slots=True)
class Counter:
    """A register that grows by `step` in a loop and is compared with `bound`: a literal or an argument."""

    step: int
    bound: int | Argument
    bits: int


@dataclass(frozen=True, slots=True)
class Ptx:
    """One kernel's PTX: its target, the width of each parameter in bytes, threads a block, and loop counters."""

    target: str | None
    parameter_bytes: tuple[int, ...]
    threads: int | None
    counters: tuple[Counter, ...]

    @property
    def num_warps(self) -> int | None:
        return None if self.threads is None else self.threads // 32


@dataclass(frozen=True, slots=True)
class _Instruction:
    predicate: str | None
    opcode: str
    operands: tuple[str, ...]

    @property
    def target(self) -> str:
        return self.operands[0] if self.operands else ""


def parse_ptx(text: str) -> Ptx:
    """The facts of the first entry in a PTX text; whatever is not recognised is left out."""
    lines = [line.split("//")[0].strip() for line in text.splitlines()]
    return Ptx(
        target=_directive(lines, r"^\.target\s+([\w.]+)"),
        parameter_bytes=_parameter_bytes(lines),
        threads=_threads(lines),
        counters=tuple(_counters(_Registers(_instructions(lines)))),
    )


def _directive(lines: list[str], pattern: str) -> str | None:
    return next((found.group(1) for line in lines if (found := re.match(pattern, line))), None)


def _threads(lines: list[str]) -> int | None:
    digits = _directive(lines, r"^\.reqntid\s+(\d{1,9})") or _directive(lines, r"^\.maxntid\s+(\d{1,9})")
    return None if digits is None else int(digits)


def _parameter_bytes(lines: list[str]) -> tuple[int, ...]:
    widths: list[int] = []
    inside = False
    for line in lines:
        if ".entry" in line:
            if widths or inside:
                break
            inside = True
        elif inside and (found := _PARAMETER.match(line)):
            widths.append(int(found.group(1)) // 8 * int(found.group(2) or 1))
        elif inside and line.startswith(")"):
            break
    return tuple(widths)


def _instructions(lines: list[str]) -> Iterator[_Instruction]:
    for line in lines:
        if found := _INSTRUCTION.match(_LABEL.sub("", line)):
            operands = tuple(part.strip() for part in found.group("operands").split(","))
            yield _Instruction(found.group("predicate"), found.group("opcode"), operands)


class _Registers:
    """Every instruction, and those that write each register."""

    def __init__(self, instructions: Iterable[_Instruction]) -> None:
        self.instructions = tuple(instructions)
        self._writers: dict[str, list[_Instruction]] = {}
        for instruction in self.instructions:
            self._writers.setdefault(instruction.target, []).append(instruction)

    def writers(self, register: str) -> list[_Instruction]:
        return self._writers.get(register, [])


def _counters(registers: _Registers) -> Iterator[Counter]:
    """A register is written twice only when a loop carries it: once before the loop, once by its step."""
    for test in registers.instructions:
        if not re.match(r"setp\.lt\.[su](32|64)$", test.opcode) or len(test.operands) != 3:
            continue
        step = _step(registers, test.operands[1])
        bound = _bound(registers, test.operands[2])
        if step is not None and bound is not None:
            yield Counter(step, bound, int(test.opcode[-2:]))


def _step(registers: _Registers, register: str) -> int | None:
    """By how much a loop makes the register grow in one round."""
    writers = registers.writers(register)
    if len(writers) == 1:  # its value after the step has a register of its own, moved back at the end of the round
        base = writers[0].operands[1] if len(writers[0].operands) == 3 else ""
        moved_back = any(_is_move(writer, register) for writer in registers.writers(base))
        return _addition(writers[0], base) if moved_back else None
    steps = [step for writer in writers if (step := _addition(writer, register))]
    return steps[0] if len(writers) == 2 and len(steps) == 1 else None


def _is_move(instruction: _Instruction, source: str) -> bool:
    return instruction.opcode.startswith("mov.") and instruction.operands[1:] == (source,)


def _addition(instruction: _Instruction, base: str) -> int | None:
    """The positive literal that an `add` adds to `base`."""
    operands = instruction.operands
    if not re.match(r"add\.[su](32|64)$", instruction.opcode) or len(operands) != 3 or operands[1] != base:
        return None
    value = int(operands[2], 0) if _LITERAL.match(operands[2]) else 0
    return value if value > 0 else None


def _bound(registers: _Registers, operand: str) -> int | Argument | None:
    """A literal, or a kernel argument that was at most widened: its unit is then the counter's."""
    if _LITERAL.match(operand):
        return int(operand, 0)
    for _ in range(4):
        writers = registers.writers(operand)
        if len(writers) != 1 or writers[0].predicate or len(writers[0].operands) != 2:
            return None
        (writer,) = writers
        if writer.opcode.startswith("ld.param."):
            found = re.match(r"\[\w+_param_(\d+)\]$", writer.operands[1])
            return Argument(int(found.group(1))) if found else None
        if not writer.opcode.startswith(("mov.", "cvt.s64.s32", "cvt.u64.u32", "cvt.u32.u64")):
            return None
        operand = writer.operands[1]
    return None
