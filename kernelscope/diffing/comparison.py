"""`kernelscope.diff`: two artifacts, or a package and its own patch."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernelscope.audit.results import KernelResult, UnsafeFinding
from kernelscope.audit.run import DEFAULT_DEVICE_MEMORY, audit
from kernelscope.collection import rare_collection
from kernelscope.diffing.hunks import CONTEXT, hunks_of
from kernelscope.diffing.matching import matched
from kernelscope.diffing.outcomes import outcomes_of
from kernelscope.diffing.representations import ComparedText, Progress, Representation, compared_texts
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
from kernelscope.diffing.size_changes import size_changes
from kernelscope.paths import StrPath

#: More kernels than this that differ are not audited unless it is asked for: it takes some ten milliseconds for each.
MOST_AUDITED = 50


def diff(
    before: StrPath,
    after: StrPath,
    *,
    representation: Representation = Representation.SOURCE,
    context: int = CONTEXT,
    device_memory: int | None = DEFAULT_DEVICE_MEMORY,
    findings: bool | None = None,
    progress: Progress | None = None,
) -> ArtifactDiff:
    """Compare any two artifacts that an audit opens, kernel by kernel.

    Kernels are matched by name and content. Findings of `before` are told at the hunks that hold their lines (`findings`;
    None: unless more than 50 kernels differ). `context`: unchanged lines around a change. KernelscopeError for what cannot
    be read, for machine code that is not there, or where Triton is needed and missing (TTIR; PTX without binaries)."""
    settings = _Settings(representation, context, device_memory, findings, progress)
    with rare_collection():
        return _compared(read_side(os.fspath(before)), read_side(os.fspath(after)), settings, {})


def diff_patched(
    path: StrPath,
    *,
    representation: Representation = Representation.SOURCE,
    context: int = CONTEXT,
    device_memory: int | None = DEFAULT_DEVICE_MEMORY,
    findings: bool | None = None,
    progress: Progress | None = None,
) -> ArtifactDiff:
    """Compare a package with what `kernelscope patch` makes of it, with the cost of each kernel. Needs torch and triton."""
    from kernelscope.patching import patch
    from kernelscope.patching.report import Patched

    path = os.fspath(path)
    settings = _Settings(representation, context, device_memory, findings, progress)
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / Path(path).name
        report = patch(path, str(output), device_memory=device_memory, progress=progress)
        costs = {k.launcher: CostChange(k.before, k.after) for k in report.kernels if isinstance(k, Patched)}
        before = read_side(path)
        after = read_side(str(output)) if output.exists() else before
        result = _compared(before, after, settings, costs)
    notes = result.notes if costs else (report.summary, *result.notes)
    return replace(result, after=f"{path} patched", notes=notes)


@dataclass(frozen=True, slots=True)
class _Settings:
    representation: Representation
    context: int
    device_memory: int | None
    findings: bool | None
    progress: Progress | None


def _compared(before: Side, after: Side, settings: _Settings, costs: Mapping[str, CostChange]) -> ArtifactDiff:
    left, right = [k.compared for k in before.kernels], [k.compared for k in after.kernels]
    places = {id(k): side for side, k in zip((*before.kernels, *after.kernels), (*left, *right), strict=True)}
    found = matched(left, right)
    pairs = [
        (places[id(old)] if old is not None else None, places[id(new)] if new is not None else None)
        for old, new, _ in found
    ]
    texts = compared_texts(pairs, (before, after), settings.representation, settings.progress)
    kernels = [
        _pair(*pair, similarity, _changed(compared, settings.context), costs)
        for pair, (_, _, similarity), compared in zip(pairs, found, texts, strict=True)
    ]
    notes: tuple[str, ...] = ()
    if settings.representation is Representation.SOURCE and settings.findings is not False:
        differing = sum(bool(kernel.texts) for kernel in kernels)
        if settings.findings is None and differing > MOST_AUDITED:
            notes = (f"{differing} kernels differ: what is unsafe in them was not looked for (--findings does)",)
        else:
            kernels = _with_findings(kernels, before, after, settings.device_memory)
    return ArtifactDiff(
        before.path, after.path, tuple(kernels), _files(before, after), notes, size_changes(before, after)
    )


def _changed(compared: Sequence[ComparedText], context: int) -> tuple[TextDiff, ...]:
    differing = ((text, hunks_of(text.before, text.after, context)) for text in compared if text.before != text.after)
    return tuple(TextDiff(text.title, text.language, hunks) for text, hunks in differing if hunks)


def _pair(
    old: SideKernel | None, new: SideKernel | None, similarity: float, texts: tuple[TextDiff, ...],
    costs: Mapping[str, CostChange],
) -> KernelDiff:  # fmt: skip
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
    return replace(
        kernel, texts=texts, findings=rest, verdict_after=after.verdict if after is not None else None,
        outcomes=outcomes_of(findings, after),
    )  # fmt: skip


def _hunk(hunk: Hunk, findings: Sequence[UnsafeFinding], first_line: int) -> Hunk:
    lines = [line.before for line in hunk.lines if line.before is not None]
    if not lines:
        return hunk
    inside = (f for f in findings if lines[0] <= f.location.line - first_line + 1 <= lines[-1])
    return replace(hunk, findings=tuple(inside))


def _files(before: Side, after: Side) -> dict[str, tuple[str | None, str | None]]:
    names = dict.fromkeys((*before.files, *after.files))
    return {name: (before.files.get(name), after.files.get(name)) for name in names}


__all__ = ["MOST_AUDITED", "Representation", "diff", "diff_patched"]
