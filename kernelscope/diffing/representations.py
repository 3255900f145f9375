"""What is compared of a kernel: its sources, or what the compiler made of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from kernelscope.artifact.cubin import CubinError
from kernelscope.diffing.compiled_texts import CompiledTexts
from kernelscope.diffing.machine_code import comparable_ptx, comparable_sass
from kernelscope.diffing.results import Language
from kernelscope.diffing.sides import Side, SideKernel
from kernelscope.errors import KernelscopeError

Pair = tuple[SideKernel | None, SideKernel | None]
#: Told what is being done, how much of it is done and how much there is.
Progress = Callable[[str, int, int], None]


class Representation(Enum):
    """`SOURCE`: Triton and C++. The others are what the compiler makes of the Triton source, in its order."""

    SOURCE = "source"
    TTIR = "ttir"
    PTX = "ptx"
    SASS = "sass"


@dataclass(frozen=True, slots=True)
class ComparedText:
    """One text of a kernel on both sides, empty where the kernel is missing."""

    title: str
    language: Language
    before: str
    after: str


def compared_texts(
    pairs: Sequence[Pair], sides: tuple[Side, Side], representation: Representation, progress: Progress | None = None
) -> list[list[ComparedText]]:
    """For each pair of kernels the texts to compare. A kernel's own name is left out where it was renamed."""
    match representation:
        case Representation.SOURCE:
            return [_sources(*pair) for pair in pairs]
        case Representation.TTIR:
            with CompiledTexts(pairs, sides, "ttir", progress) as compiled:
                return [[_renamed("TTIR", Language.TTIR, pair, compiled.text)] for pair in pairs]
        case Representation.PTX:
            with CompiledTexts(pairs, sides, "ptx", progress, shipped=_shipped_ptx) as compiled:
                return [[_renamed("PTX", Language.PTX, pair, compiled.text)] for pair in pairs]
        case Representation.SASS:
            return [[_renamed("SASS", Language.SASS, pair, _sass)] for pair in pairs]


def _sources(old: SideKernel | None, new: SideKernel | None) -> list[ComparedText]:
    if old is not None and new is not None and (old.source, old.launcher) == (new.source, new.launcher):
        return []
    pair = old, new
    return [
        _renamed("Triton", Language.TRITON, pair, lambda k: k.source),
        _renamed("launcher", Language.CPP, pair, lambda k: k.launcher),
    ]


def _renamed(title: str, language: Language, pair: Pair, text: Callable[[SideKernel], str]) -> ComparedText:
    old, new = pair
    before = text(old) if old is not None else ""
    after = text(new) if new is not None else ""
    if old is not None and new is not None and old.name != new.name:
        before = before.replace(old.name, new.name)
    return ComparedText(title, language, before, after)


def _shipped_ptx(kernel: SideKernel) -> str | None:
    """The PTX inside a kernel's cubin; None where there is no cubin."""
    if kernel.binary is None:
        return None
    try:
        return comparable_ptx(kernel.binary())
    except CubinError as error:
        raise KernelscopeError(f"the binary of {kernel.name} cannot be read: {error}") from None


def _sass(kernel: SideKernel) -> str:
    from kernelscope.build.cost import disassembled

    if kernel.binary is None:
        raise KernelscopeError(
            f"there is no binary of {kernel.name}", try_this="compare packages, or the sources with --ir ttir or --ir ptx"
        )
    return comparable_sass(disassembled(kernel.binary()))
