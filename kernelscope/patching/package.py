"""`kernelscope.patch`: audit, provenance, rewriting, building, writing, and the audit of what was written."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kernelscope.artifact import open_artifact
from kernelscope.artifact.contents import Artifact, ArtifactKind
from kernelscope.audit.results import AuditResult, UnsafeFinding, Verdict
from kernelscope.audit.run import DEFAULT_DEVICE_MEMORY, ModelFacts, audit, read_model
from kernelscope.build import KernelCompiler
from kernelscope.build.atomic_file import check_target
from kernelscope.build.scratch import Scratch
from kernelscope.errors import KernelscopeError
from kernelscope.patching.embedded import EmbeddedBinaries
from kernelscope.patching.kernels import KernelOutcome, KernelPatcher, Progress
from kernelscope.patching.members import DigestAhead, PackageMembers
from kernelscope.patching.report import (
    KernelPatchResult,
    PatchDeclined,
    Patched,
    PatchFailed,
    PatchReport,
    WrapperChange,
)
from kernelscope.patching.targets import GRID_CODES, targets_of
from kernelscope.patching.writing import Plan, Writing, write_package
from kernelscope.paths import StrPath
from kernelscope.rewrite.patch_file import load_patches
from kernelscope.rewrite.rewriting import Strategy


def patch(
    path: StrPath,
    output: StrPath | None,
    *,
    strategy: Strategy = Strategy.AUTO,
    only: Sequence[str] = (),
    dry_run: bool = False,
    trust_source: bool = False,
    strict: bool = False,
    any_torch: bool = False,
    narrow: bool = False,
    ranges: Mapping[str, tuple[int | None, int | None]] | None = None,
    device_memory: int | None = DEFAULT_DEVICE_MEMORY,
    patch_folders: Sequence[StrPath] = (),
    jobs: int = 0,
    progress: Progress | None = None,
) -> PatchReport:
    """Patch a package: rewrite what is unsafe, recompile it, rebuild what must be rebuilt, write `output`, audit it.

    `only`: names of kernels. `dry_run`: write nothing. `trust_source`: patch kernels whose source does not give their
    binary. `narrow`: rewrite kernels whose indices are wider than they need be, in place of unsafe ones. `ranges`: bounds of
    sizes that the package's user keeps to, in place of the declared ones. `strict`: write nothing when something stays
    unsafe. `any_torch`: rebuild a wrapper of another torch. The input is only read; `output` appears when it is complete.
    KernelscopeError for what can't be read or written."""
    path, output = os.fspath(path), None if output is None else os.fspath(output)
    if output is None and not dry_run:
        raise KernelscopeError("no output", try_this="give -o OUT.pt2, or --dry-run")
    if output is not None and _is_same_file(path, output):
        raise KernelscopeError("is the input, which stays as it is", where=output, try_this="give -o another file")
    if output is not None:
        check_target(output)  # in a dry run, too, which is to tell whether the real one can work
    strategy = Strategy.NARROW if narrow else strategy
    run = _Run(path, None if dry_run else output, strategy, frozenset(only), device_memory, dict(ranges or {}))
    folders = [os.fspath(folder) for folder in patch_folders]
    with run.members:
        return run.run(folders, trust_source, strict, any_torch, jobs, progress or (lambda *_: None))


def _is_same_file(path: str, output: str) -> bool:
    try:
        return Path(path).samefile(output)
    except OSError:
        return False  # one of them does not exist


_WIDENED = "kernels that are not safe patched"


class _Run:
    def __init__(
        self, path: str, output: str | None, strategy: Strategy, only: frozenset[str], device_memory: int | None,
        ranges: Mapping[str, tuple[int | None, int | None]],
    ) -> None:  # fmt: skip
        self.path = path
        self.output = output
        self.strategy = strategy
        self.only = only
        self.device_memory = device_memory
        self.ranges = ranges
        self.artifact: Artifact = open_artifact(path)
        if self.artifact.kind is not ArtifactKind.PACKAGE or not Path(path).is_file():
            raise KernelscopeError(
                f"{self.artifact.kind.value}s can't be patched", where=path,
                try_this="give the .pt2 package; `kernelscope audit` reads the rest",
            )  # fmt: skip
        self.members = PackageMembers(path)

    def run(
        self, folders: Sequence[str], trust_source: bool, strict: bool, any_torch: bool, jobs: int, progress: Progress
    ) -> PatchReport:
        progress("auditing", 0, 1)
        before = self._audited(self.path)
        facts = [read_model(model, None) for model in self.artifact.models]
        self._refuse_unknown_names(facts)
        self._refuse_unknown_sizes(before)
        targets = targets_of(self.artifact, facts, before, self.only, overwide=self.strategy is Strategy.NARROW)
        if not targets:
            return self._report((), {}, before, None, self._nothing(before, facts), None)
        digest = DigestAhead(self.members.file)
        patches = load_patches(folders)
        with KernelCompiler(jobs) as compiler, Scratch() as folder:
            embedded = EmbeddedBinaries(self.members)
            patcher = KernelPatcher(
                compiler, patches, self.strategy, self.device_memory, trust_source, progress, embedded
            )
            outcomes = patcher.run(targets)
            writing = Writing(self.members, patches, any_torch, self.strategy, progress, folder)
            plan = writing.plan(self.artifact, targets, outcomes)
            versions = (compiler.triton_version, compiler.torch_version)
            compiler.close()
            left = [o for o in plan.outcomes if not isinstance(o.result, Patched) and not _is_about_grids(o.result)]
            after: AuditResult | None = None
            written: str | None = None
            if plan.replaced and self.output is not None and not (strict and left):
                after = self._written(plan, before, versions, strict, digest.result(), progress)
                written = None if strict and _unsafe(after) else self.output
        return self._report(
            [o.result for o in plan.outcomes], plan.wrappers, before, after,
            _summary(plan.outcomes, written, self._aim), written, versions, plan.tool_failure,
        )  # fmt: skip

    def _written(
        self, plan: Plan, before: AuditResult, versions: tuple[str, str], strict: bool, digest: str, progress: Progress
    ) -> AuditResult:
        """The audit of what was written, made before it appears: with `strict` it does not when something is unsafe."""
        output = self.output
        assert output is not None
        audits: list[AuditResult] = []

        def wanted(path: str) -> bool:
            self.members.check_unchanged()
            progress("auditing the result", 0, 1)
            found = self._audited(path)
            audits.append(replace(found, artifacts=tuple(replace(a, path=output) for a in found.artifacts)))
            return not (strict and _unsafe(found))

        progress("writing", 0, 1)
        write_package(self.members, output, plan, before, versions, self.strategy, self.ranges, digest, wanted)
        return audits[0]

    def _audited(self, path: str) -> AuditResult:
        return audit([path], device_memory=self.device_memory, ranges=self.ranges)

    def _refuse_unknown_names(self, facts: Sequence[ModelFacts]) -> None:
        launches = [launch for f in facts for w in f.wrappers for launch in w.launches]
        known = {launch.kernel for launch in launches} | {launch.launcher_name for launch in launches}
        for name in sorted(self.only - known):
            there = ", ".join(sorted(known)) or "none"
            raise KernelscopeError(f"no kernel is called {name}", where=self.path, try_this=f"there are {there}")

    def _refuse_unknown_sizes(self, before: AuditResult) -> None:
        symbols = [symbol for artifact in before.artifacts for model in artifact.models for symbol in model.symbols]
        known = {symbol.name for symbol in symbols} | {symbol.source for symbol in symbols}
        for name in sorted(self.ranges.keys() - known):
            there = ", ".join(sorted({f"{symbol.name} ({symbol.source})" for symbol in symbols})) or "none"
            raise KernelscopeError(f"no size is called {name}", where=self.path, try_this=f"the sizes are {there}")

    @property
    def _aim(self) -> str:
        if self.strategy is Strategy.NARROW:
            return "kernels with wider indices than they need narrowed"
        return f"named {_WIDENED}" if self.only else _WIDENED

    def _nothing(self, before: AuditResult, facts: Sequence[ModelFacts]) -> str:
        if self.strategy is Strategy.NARROW:
            return "no kernel that is safe has wider indices than it needs"
        if self.only and before.verdict is not Verdict.SAFE:
            return "nothing to patch: the named kernels are safe, and what is not safe is something else"
        kernels = sum(len(m.kernels) for a in before.artifacts for m in a.models)
        if before.verdict is not Verdict.SAFE:
            return "nothing to patch: what is not safe is not a kernel's"
        if not kernels:
            devices = {m.device for a in before.artifacts for m in a.models}
            kind = "a CPU package: it" if devices == {"cpu"} else "the package"
            return f"{kind} has no Triton kernels, so there is nothing to patch"
        if self.members.is_patched:
            return "already patched, and proved safe: there is nothing to do"
        return "already safe: there is nothing to patch"

    def _report(
        self, kernels: Sequence[KernelPatchResult], wrappers: Mapping[str, WrapperChange], before: AuditResult,
        after: AuditResult | None, summary: str, output: str | None, versions: tuple[str, str] = ("", ""),
        tool_failure: str = "",
    ) -> PatchReport:  # fmt: skip
        ok = not _unsafe(after) if after is not None else not _left_unsafe(before, kernels)
        return PatchReport(
            self.path, output, summary, ok, tuple(kernels), dict(wrappers), before, after, *versions, tool_failure
        )


def _is_about_grids(kernel: KernelPatchResult) -> bool:
    return isinstance(kernel, PatchDeclined) and kernel.code in GRID_CODES


def _unsafe(result: AuditResult) -> list[UnsafeFinding]:
    """What is unsafe and not a grid that CUDA itself can't launch."""
    kernels = [k for a in result.artifacts for m in a.models for k in m.kernels]
    return [f for k in kernels for f in k.findings if isinstance(f, UnsafeFinding) and f.code not in GRID_CODES]


def _left_unsafe(before: AuditResult, kernels: Sequence[KernelPatchResult]) -> bool:
    """Whether something unsafe is left that is not patched, `--only` or not."""
    patched = Counter(kernel.kernel for kernel in kernels if isinstance(kernel, Patched))
    unsafe = Counter(
        kernel.name
        for artifact in before.artifacts for model in artifact.models for kernel in model.kernels
        if any(isinstance(f, UnsafeFinding) and f.code not in GRID_CODES for f in kernel.findings)
    )  # fmt: skip
    return bool(unsafe - patched)


def _summary(outcomes: Sequence[KernelOutcome], written: str | None, aim: str) -> str:
    counts = {kind: sum(isinstance(o.result, kind) for o in outcomes) for kind in (Patched, PatchDeclined, PatchFailed)}
    parts = [f"{counts[Patched]} of {len(outcomes)} {aim}"]
    if counts[PatchDeclined]:
        parts.append(f"{counts[PatchDeclined]} left as they are")
    if counts[PatchFailed]:
        parts.append(f"{counts[PatchFailed]} failed")
    parts.append(f"written to {written}" if written else "nothing written")
    return "; ".join(parts)
