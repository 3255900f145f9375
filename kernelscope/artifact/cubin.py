"""Reads from a cubin what its wrapper does not say: the embedded PTX with the step of a reduction's loop."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from kernelscope.artifact.elf_section import ElfError, elf_section
from kernelscope.artifact.loop_bounds import LoopBound, loop_bounds
from kernelscope.artifact.ptx import Argument, Counter, Ptx, loop_counters, parameter_bytes, parse_ptx

_PTX_SECTION = ".nv_debug_ptx_txt"


class CubinError(Exception):
    """A cubin without readable PTX; the text says why."""


def ptx_of(cubin: bytes) -> Ptx:
    """The facts of the PTX inside a cubin; CubinError when there is none."""
    return parse_ptx(ptx_text(cubin))


def ptx_text(cubin: bytes) -> str:
    """The PTX that a cubin was made from, as text with one instruction a line."""
    try:
        data = elf_section(cubin, _PTX_SECTION)
    except ElfError as error:
        raise CubinError(f"damaged: {error}") from None
    if data is None:
        raise CubinError("it holds no PTX")
    return data.replace(b"\0", b"\n").decode("utf-8", "replace")


def recovered_block(cubin: bytes, functions: Iterable[ast.FunctionDef], name: str) -> int | None:
    """The value of the constexpr `name` (R0_BLOCK) that the loops of a kernel step by, None unless it is plain to see.

    The source's functions tell up to which bound those loops run; counters with that bound must all show one power of
    two."""
    bounds = loop_bounds(functions, name)
    if not bounds:
        return None
    try:
        text = ptx_text(cubin)
    except CubinError:
        return None
    parameters = len(parameter_bytes(text))
    steps = {counter.step for counter in loop_counters(text) if _runs_to(counter, bounds, parameters)}
    if len(steps) != 1:
        return None
    (step,) = steps
    return step if step & (step - 1) == 0 else None


def _runs_to(counter: Counter, bounds: frozenset[LoopBound], parameters: int) -> bool:
    """Whether a counter runs up to one of the source's bounds. A rotated loop compares with the bound less one step."""
    match counter.bound:
        case int(literal):
            lengths = [bound.literal for bound in bounds if bound.literal is not None]
            return any(literal in (length, length - counter.step) for length in lengths)
        case Argument(position):
            return any(position == bound.position or not bound.fits(parameters) for bound in bounds if bound.name)
