"""Reads what the PTX of a kernel shows of its loops: the step of each counter that runs up to a bound."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_INSTRUCTION = re.compile(r"^(?:@(?P<predicate>!?%\w+)\s+)?(?P<opcode>[a-z][\w.:]*)\s+(?P<operands>[^;]*);")
_COMPARISON = re.compile(r"\bsetp\.lt\.[su](?:32|64)\s")
_ENTRY = re.compile(r"^[^/\n]*\.entry[^\n]*$", re.MULTILINE)
_LONGEST_ENTRY = 1 << 20  # characters of an entry's parameter list
_SEARCHES = 64
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
    threads = _directive(text, r"reqntid\s+(\d{1,9})") or _directive(text, r"maxntid\s+(\d{1,9})")
    return Ptx(
        target=_directive(text, r"target\s+([\w.]+)"),
        parameter_bytes=parameter_bytes(text),
        threads=None if threads is None else int(threads),
        counters=loop_counters(text),
    )


def _directive(text: str, pattern: str) -> str | None:
    found = re.search(r"^[ \t]*\." + pattern, text, re.MULTILINE)
    return found.group(1) if found else None


def parameter_bytes(text: str) -> tuple[int, ...]:
    """The widths of the parameters of the first entry, in bytes."""
    entry = _ENTRY.search(text)
    widths: list[int] = []
    for line in text[entry.end() : entry.end() + _LONGEST_ENTRY].splitlines() if entry else ():
        line = line.partition("//")[0].strip()
        if line.startswith(")") or ".entry" in line:
            break
        if found := _PARAMETER.match(line):
            widths.append(int(found.group(1)) // 8 * int(found.group(2) or 1))
    return tuple(widths)


class _Registers:
    """The instructions of a text by the register that they write: the first few are searched for, since few are asked
    about; from then on all are listed, so that the time stays in proportion to the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._known: dict[str, list[_Instruction]] = {}
        self._searches = 0

    def writers(self, register: str) -> list[_Instruction]:
        """The instructions whose first operand is the register."""
        if register not in self._known and self._searches < _SEARCHES and register.startswith("%"):
            self._searches += 1
            self._known[register] = list(self._search(register))
            if self._searches == _SEARCHES:
                self._known = self._all()
        return self._known.get(register, [])

    def _search(self, register: str) -> Iterator[_Instruction]:
        """Only the lines that name the register are looked at."""
        text, after = self._text, 0
        for place in re.finditer(re.escape(register) + r"[ \t]*[,;]", text):
            if place.start() < after:
                continue
            instruction = _instruction(text, text.rfind("\n", 0, place.start()) + 1)
            after = text.find("\n", place.end())
            if instruction is not None and instruction.target == register:
                yield instruction
            if after < 0:
                return

    def _all(self) -> dict[str, list[_Instruction]]:
        known: dict[str, list[_Instruction]] = {}
        start = 0
        while start >= 0:
            instruction = _instruction(self._text, start)
            if instruction is not None:
                known.setdefault(instruction.target, []).append(instruction)
            start = self._text.find("\n", start) + 1 or -1
        return known


def _instruction(text: str, start: int) -> _Instruction | None:
    """The instruction on the line that starts there."""
    end = text.find("\n", start)
    line = text[start : end if end >= 0 else None].partition("//")[0].strip()
    found = _INSTRUCTION.match(_LABEL.sub("", line))
    if found is None:
        return None
    operands = tuple(part.strip() for part in found.group("operands").split(","))
    return _Instruction(found.group("predicate"), found.group("opcode"), operands)


def loop_counters(text: str) -> tuple[Counter, ...]:
    """The counters of a PTX text. A register is written twice only when a loop carries it: once before the loop, once by
    its step."""
    registers = _Registers(text)
    found: list[Counter] = []
    for comparison in _COMPARISON.finditer(text):
        test = _instruction(text, text.rfind("\n", 0, comparison.start()) + 1)
        if test is None or not re.match(r"setp\.lt\.[su](32|64)$", test.opcode) or len(test.operands) != 3:
            continue
        step = _step(registers, test.operands[1])
        bound = _bound(registers, test.operands[2])
        if step is not None and bound is not None:
            found.append(Counter(step, bound, int(test.opcode[-2:])))
    return tuple(found)


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
