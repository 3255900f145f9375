"""Reads from a cubin what its wrapper does not say: the embedded PTX with the step of a reduction's loop.

pyelftools is imported on the first call only: most audits need no cubin."""

from __future__ import annotations

import io

from kernelscope.artifact.loop_bounds import LoopBound, loop_bounds
from kernelscope.artifact.ptx import Argument, Counter, Ptx, parse_ptx

_PTX_SECTION = ".nv_debug_ptx_txt"


class CubinError(Exception):
    """A cubin without readable PTX; the text says why."""


def ptx_of(cubin: bytes) -> Ptx:
    """The facts of the PTX inside a cubin; CubinError when there is none."""
    return parse_ptx(ptx_text(cubin))


def ptx_text(cubin: bytes) -> str:
    """The PTX that a cubin was made from, as text with one instruction a line."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        section = ELFFile(io.BytesIO(cubin)).get_section_by_name(_PTX_SECTION)
        if section is None or section["sh_offset"] + section["sh_size"] > len(cubin):
            raise CubinError("it holds no PTX")
        data: bytes = section.data()
    except CubinError:
        raise
    except ELFError as error:
        raise CubinError(f"not a readable ELF file: {error}") from None
    except Exception as error:  # noqa: BLE001  pyelftools trusts offsets: damaged files raise whatever they hit
        raise CubinError(f"damaged: {type(error).__name__}") from None
    return data.replace(b"\0", b"\n").decode("utf-8", "replace")


def recovered_block(cubin: bytes, source: str, name: str) -> int | None:
    """The value of the constexpr `name` (R0_BLOCK) that the loops of a kernel step by, None unless it is plain to see.

    The source tells up to which bound those loops run; counters with that bound must all show one power of two."""
    bounds = loop_bounds(source, name)
    if not bounds:
        return None
    try:
        ptx = ptx_of(cubin)
    except CubinError:
        return None
    steps = {counter.step for counter in ptx.counters if _runs_to(counter, bounds, len(ptx.parameter_bytes))}
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
