"""`kernelscope.diff`: two artifacts, or a package and its own patch."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path

from kernelscope.artifact.cubin import CubinError
from kernelscope.audit.results import KernelResult, UnsafeFinding
from kernelscope.audit.run import DEFAULT_DEVICE_MEMORY, audit
from kernelscope.diffing.hunks import CONTEXT, hunks_of
from kernelscope.diffing.machine_code import comparable_ptx, comparable_sass
from kernelscope.diffing.matching import matched
from kernelscope.diffing.results import (
    ArtifactDiff,
    CostChange,
    Hunk,
    KernelDiff,
    Language,
    PairKind,
    TextDiff,
)
from kernelscope.diffing.sides import Side, SideKernel, read_side
from kernelscope.errors import KernelscopeError
from kernelscope.paths import StrPath

Progress = Callable[[str, int, int], None]


class Representation(Enum):
    """What is compared of a kernel: its sources, or what the compiler made of it."""

    SOURCE = "source"
    PTX = "ptx"
    SASS = "sass"


def diff(
    before: StrPath,
    after: StrPath,
    *,
    representation: Representation = Representation.SOURCE,
    context: int = CONTEXT,
    device_memory: int | None = DEFAULT_DEVICE_MEMORY,
) -> ArtifactDiff:
    """Compare any two artifacts that an audit opens, kernel by kernel.

    Kernels are matched by name and content. Findings of `before` are told at the hunks that hold their lines. `context`:
    unchanged lines around a change. KernelscopeError for what cannot be read, or for machine code that is not there."""
    return _compared(read_side(os.fspath(before)), read_side(os.fspath(after)), representation, context, device_memory, {})


def diff_patched(
    path: StrPath,
    *,
    representation: Representation = Representation.SOURCE,
    context: int = CONTEXT,
    device_memory: int | None = DEFAULT_DEVICE_MEMORY,
    progress: Progress | None = None,
) -> ArtifactDiff:
    """Compare a package with what `kernelscope patch` makes of it, with the cost of each kernel. Needs torch and triton."""
    from kernelscope.patching import patch
    from kernelscope.patching.report import Patched

    path = os.fspath(path)
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / Path(path).name
        report = patch(path, str(output), device_memory=device_memory, progress=progress)
        costs = {k.launcher: CostChange(k.before, k.after) for k in report.kernels if isinstance(k, Patched)}
        before = read_side(path)
        after = read_side(str(output)) if output.exists() else before
        result = _compared(before, after, representation, context, device_memory, costs)
    return replace(result, after=f"{path} patched", notes=() if costs else (report.summary,))


def _compared(
    before: Side, after: Side, representation: Representation, context: int, device_memory: int | None,
    costs: Mapping[str, CostChange],
) -> ArtifactDiff:  # fmt: skip
    left, right = [k.compared for k in before.kernels], [k.compared for k in after.kernels]
    places = {id(k): side for side, k in zip((*before.kernels, *after.kernels), (*left, *right), strict=True)}
    kernels: list[KernelDiff] = []
    for old, new, similarity in matched(left, right):
        first = places[id(old)] if old is not None else None
        second = places[id(new)] if new is not None else None
        kernels.append(_pair(first, second, similarity, representation, context, costs))
    if representation is Representation.SOURCE:
        kernels = _with_findings(kernels, before, after, device_memory)
    return ArtifactDiff(before.path, after.path, tuple(kernels), _files(before, after))


def _pair(
    old: SideKernel | None, new: SideKernel | None, similarity: float, representation: Representation, context: int,
    costs: Mapping[str, CostChange],
) -> KernelDiff:  # fmt: skip
    texts = tuple(_texts(old, new, representation, context))
    name = old.name if old is not None else None
    kind = _kind(old, new, bool(texts))
    return KernelDiff(kind, name, new.name if new is not None else None, similarity, texts, costs.get(name or ""))


def _kind(old: SideKernel | None, new: SideKernel | None, differs: bool) -> PairKind:
    if old is None:
        return PairKind.ADDED
    if new is None:
        return PairKind.REMOVED
    if old.name != new.name:
        return PairKind.MOVED if differs else PairKind.RENAMED
    return PairKind.CHANGED if differs else PairKind.SAME


def _texts(
    old: SideKernel | None, new: SideKernel | None, representation: Representation, context: int
) -> list[TextDiff]:
    """The texts of a kernel that differ. Its own name is left out of the comparison of a renamed one."""
    compared: list[tuple[str, Language, str, str]] = []
    match representation:
        case Representation.SOURCE:
            compared.append(("Triton", Language.TRITON, *_renamed(old, new, lambda k: k.source)))
            compared.append(("launcher", Language.CPP, *_renamed(old, new, lambda k: k.launcher)))
        case Representation.PTX:
            compared.append(("PTX", Language.PTX, _ptx(old), _ptx(new)))
        case Representation.SASS:
            compared.append(("SASS", Language.SASS, _sass(old), _sass(new)))
    found = [(t, lang, hunks_of(a, b, context)) for t, lang, a, b in compared if a != b]
    return [TextDiff(title, language, hunks) for title, language, hunks in found if hunks]


def _renamed(old: SideKernel | None, new: SideKernel | None, text: Callable[[SideKernel], str]) -> tuple[str, str]:
    before = text(old) if old is not None else ""
    after = text(new) if new is not None else ""
    if old is not None and new is not None and old.name != new.name:
        before = before.replace(old.name, new.name)
    return before, after


def _ptx(kernel: SideKernel | None) -> str:
    try:
        return comparable_ptx(_binary(kernel)) if kernel is not None else ""
    except CubinError as error:
        assert kernel is not None
        raise KernelscopeError(f"the binary of {kernel.name} cannot be read: {error}") from None


def _sass(kernel: SideKernel | None) -> str:
    from kernelscope.build.cost import disassembled

    return comparable_sass(disassembled(_binary(kernel))) if kernel is not None else ""


def _binary(kernel: SideKernel) -> bytes:
    if kernel.binary is None:
        raise KernelscopeError(f"there is no binary of {kernel.name}", try_this="compare packages, or leave out --ir")
    return kernel.binary()


def _with_findings(
    kernels: Sequence[KernelDiff], before: Side, after: Side, device_memory: int | None
) -> list[KernelDiff]:
    """Changed kernels with the first side's findings, at the hunks that hold their lines, and the second side's verdict."""
    changed = [k for k in kernels if k.texts]
    found = _audited(before, {k.before for k in changed if k.before is not None}, device_memory)
    result = _audited(after, {k.after for k in changed if k.after is not None}, device_memory)
    return [_told(k, found.get(k.before or ""), result.get(k.after or ""), before) if k.texts else k for k in kernels]


def _audited(side: Side, names: set[str], device_memory: int | None) -> dict[str, KernelResult]:
    """The audits of some kernels, by the names of their launchers."""
    if not names:
        return {}
    result = audit([side.path], device_memory=device_memory, only=frozenset(names))
    places = {(k.file, k.first_line): k.name for k in side.kernels}
    kernels = [k for a in result.artifacts for m in a.models for k in m.kernels if k.source is not None]
    return {
        places[k.source.file, k.source.first_line]: k
        for k in kernels
        if k.source is not None and (k.source.file, k.source.first_line) in places
    }


def _told(kernel: KernelDiff, before: KernelResult | None, after: KernelResult | None, side: Side) -> KernelDiff:
    findings = [f for f in before.findings if isinstance(f, UnsafeFinding)] if before is not None else []
    first = next((k.first_line for k in side.kernels if k.name == kernel.before), 1)
    texts = tuple(
        replace(text, hunks=tuple(_hunk(hunk, findings, first) for hunk in text.hunks))
        if text.language is Language.TRITON else text
        for text in kernel.texts
    )  # fmt: skip
    placed = {f.id for text in texts for hunk in text.hunks for f in hunk.findings}
    rest = tuple(f for f in findings if f.id not in placed)
    return replace(kernel, texts=texts, findings=rest, verdict_after=after.verdict if after is not None else None)


def _hunk(hunk: Hunk, findings: Sequence[UnsafeFinding], first_line: int) -> Hunk:
    lines = [line.before for line in hunk.lines if line.before is not None]
    if not lines:
        return hunk
    inside = (f for f in findings if lines[0] <= f.location.line - first_line + 1 <= lines[-1])
    return replace(hunk, findings=tuple(inside))


def _files(before: Side, after: Side) -> dict[str, tuple[str | None, str | None]]:
    names = dict.fromkeys((*before.files, *after.files))
    return {name: (before.files.get(name), after.files.get(name)) for name in names}
