"""Kernels with the same findings, shown once: a deep network repeats its layers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernelscope.audit.results import Consequence, KernelResult, Note, UnknownFinding, UnsafeFinding


@dataclass(frozen=True, slots=True)
class Repeated:
    """A finding, and the other lines of its kernel at which the same expression fails in the same way."""

    finding: UnsafeFinding
    other_lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class UnsafeFold:
    """A kernel with its unsafe findings, and the other kernels that have the same ones."""

    kernel: KernelResult
    findings: tuple[Repeated, ...]
    also: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnknownFold:
    kernel: KernelResult | None  # None: of the model itself
    finding: UnknownFinding
    also: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoteFold:
    note: Note
    kernels: tuple[str, ...]


def unsafe_folds(kernels: Sequence[KernelResult]) -> list[UnsafeFold]:
    """The kernel that the smallest tensors trigger comes first, and so does each kernel's first finding."""
    groups: dict[object, list[tuple[KernelResult, tuple[Repeated, ...]]]] = {}
    for kernel in kernels:
        findings = _repeated([finding for finding in kernel.findings if isinstance(finding, UnsafeFinding)])
        if findings:
            key = tuple(signature(repeated.finding) for repeated in findings)
            groups.setdefault(key, []).append((kernel, findings))
    folds = [
        UnsafeFold(group[0][0], group[0][1], _names(kernel for kernel, _ in group[1:])) for group in groups.values()
    ]
    return sorted(folds, key=_smallest_trigger)


def _repeated(findings: Sequence[UnsafeFinding]) -> tuple[Repeated, ...]:
    groups: dict[object, list[UnsafeFinding]] = {}
    for finding in findings:
        groups.setdefault(signature(finding), []).append(finding)
    by_trigger = sorted(groups.values(), key=lambda group: trigger(group[0]))
    return tuple(
        Repeated(group[0], tuple(sorted({f.location.line for f in group[1:]} - {group[0].location.line})))
        for group in by_trigger
    )


def signature(finding: UnsafeFinding) -> tuple[object, ...]:
    """What two findings that are told once have in common."""
    return finding.code, finding.expression, finding.type, finding.condition, finding.consequence


def _smallest_trigger(fold: UnsafeFold) -> float:
    return min(trigger(repeated.finding) for repeated in fold.findings)


def trigger(finding: UnsafeFinding) -> float:
    """Bytes at the witness; a kernel that fails whatever its tensors comes first."""
    if finding.consequence is Consequence.DOES_NOT_COMPILE:
        return 0
    return float("inf") if finding.smallest_trigger_bytes is None else finding.smallest_trigger_bytes


def unknown_folds(kernels: Sequence[KernelResult], of_model: Sequence[UnknownFinding]) -> list[UnknownFold]:
    """Those of the model itself come first: they may be why a kernel is missing."""
    folds = [UnknownFold(None, finding, ()) for finding in of_model]
    groups: dict[object, list[tuple[KernelResult, UnknownFinding]]] = {}
    for kernel in kernels:
        for finding in kernel.findings:
            if isinstance(finding, UnknownFinding):
                key = (finding.code, finding.expression, finding.reason, finding.detail)
                groups.setdefault(key, []).append((kernel, finding))
    folds += [
        UnknownFold(group[0][0], group[0][1], _names(kernel for kernel, _ in group[1:])) for group in groups.values()
    ]
    return folds


def note_folds(kernels: Sequence[KernelResult]) -> list[NoteFold]:
    groups: dict[object, list[tuple[KernelResult, Note]]] = {}
    for kernel in kernels:
        for finding in kernel.findings:
            if isinstance(finding, Note):
                groups.setdefault((finding.code, finding.detail), []).append((kernel, finding))
    return [NoteFold(group[0][1], _names(kernel for kernel, _ in group)) for group in groups.values()]


def _names(kernels: Iterable[KernelResult]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(kernel.name for kernel in kernels))
