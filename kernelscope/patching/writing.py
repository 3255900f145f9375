"""The members of a package that a patch replaces, and the package written with them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from kernelscope import __version__
from kernelscope.artifact.contents import Artifact
from kernelscope.audit.results import AuditResult
from kernelscope.build import (
    CannotRebuild,
    Content,
    OtherTorch,
    RebuiltLibrary,
    WrapperSources,
    rebuild_library,
    rewrite_archive,
)
from kernelscope.errors import KernelscopeError
from kernelscope.patching.candidates import Built
from kernelscope.patching.kernels import KernelOutcome, Progress, with_candidate
from kernelscope.patching.members import ModelMembers, PackageMembers, digest, file_digest
from kernelscope.patching.report import Patched, PatchFailed, WrapperChange
from kernelscope.patching.targets import Target
from kernelscope.patching.wrapper_text import LauncherEdits, changes_code, edited_wrapper, launcher_edits
from kernelscope.rewrite.patch_file import Patches
from kernelscope.rewrite.rewriting import Strategy


@dataclass(frozen=True, slots=True)
class Plan:
    """What to write. `tool_failure`: what kept a library from being built that is not the package's doing."""

    outcomes: tuple[KernelOutcome, ...]
    replaced: Mapping[str, Content]
    wrappers: Mapping[str, WrapperChange]
    tool_failure: str


class Writing:
    """Plans the members of each model, rebuilding its library in `folder` where the wrapper's code changes."""

    def __init__(
        self, members: PackageMembers, patches: Patches, any_torch: bool, strategy: Strategy, progress: Progress,
        folder: Path,
    ) -> None:  # fmt: skip
        self._members = members
        self._patches = patches
        self._any_torch = any_torch
        self._strategy = strategy
        self._progress = progress
        self._replaced: dict[str, Content] = {}
        self._folder = folder
        self._tool_failure = ""

    def plan(self, artifact: Artifact, targets: Sequence[Target], outcomes: Sequence[KernelOutcome]) -> Plan:
        """The plan; a kernel whose launcher can't be rebuilt gets a candidate that leaves it alone, or fails."""
        final: list[KernelOutcome] = list(outcomes)
        wrappers: dict[str, WrapperChange] = {}
        for index, model in enumerate(artifact.models):
            own = [n for n, outcome in enumerate(final) if outcome.target.index == index]
            if not any(final[n].candidates or final[n].target.truncates for n in own):
                continue
            part = _ModelPart(self, self._members.of(model), index)
            for number, outcome in zip(own, part.settle([final[n] for n in own]), strict=True):
                final[number] = outcome
            wrappers[model.name] = part.change
        return Plan(tuple(final), dict(self._replaced), wrappers, self._tool_failure)

    # -- used by the parts ------------------------------------------------------------------------------------------

    @property
    def members(self) -> PackageMembers:
        return self._members

    @property
    def patches(self) -> Patches:
        return self._patches

    def replace(self, name: str, content: bytes | Path) -> None:
        self._replaced[name] = Content(content)

    def rebuilt(self, parts: ModelMembers, wrapper: str, index: int, cubins: Mapping[str, bytes]) -> Path | str:
        """The new library with `cubins` in place of those embedded in the old one, or why there is none."""
        if parts.library is None:
            return "the package has no library beside the wrapper"
        old, new = (self._folder / f"{kind}-{index}.so" for kind in ("old", "new"))
        self._members.extract(parts.library, old)
        kernel = self._members.text(parts.kernel_source) if parts.kernel_source is not None else None
        try:
            result = rebuild_library(
                WrapperSources(wrapper, kernel, old, cubins), new, any_torch=self._any_torch,
                step=lambda text: self._progress(text, 0, 1),
            )  # fmt: skip
        except KernelscopeError as error:
            self._tool_failure = self._tool_failure or error.one_line()
            return error.one_line()
        match result:
            case RebuiltLibrary(missing=()):
                return new
            case RebuiltLibrary(missing=missing):
                return f"the rebuilt library lacks {missing[0]}"
            case OtherTorch(installed=installed, reason=reason):
                return f"{reason} (installed is torch {installed}; --any-torch builds it all the same)"
            case CannotRebuild(reason):
                return reason


class _ModelPart:
    """One model: its wrapper's text, its binaries, its library."""

    def __init__(self, writing: Writing, parts: ModelMembers, index: int) -> None:
        self._writing = writing
        self._parts = parts
        self._index = index
        self._text = writing.members.text(parts.wrapper)
        self.change = WrapperChange.NONE

    def settle(self, outcomes: Sequence[KernelOutcome]) -> list[KernelOutcome]:
        """Outcomes that can be written, with the members that they replace handed over."""
        settled = [self._located(outcome) for outcome in outcomes]
        edits = self._edits(settled)
        library: Path | None = None
        embedded = {
            o.shipped.name: o.shipped.packed(o.candidates[0].compiled)
            for o in settled if o.candidates and o.shipped is not None and o.shipped.member is None
        }  # fmt: skip
        if embedded or changes_code(edits):
            settled = [_with_grid_tests(outcome) for outcome in settled]
            edits = self._edits(settled)
            text = edited_wrapper(self._text, list(edits.values()))
            built = self._writing.rebuilt(self._parts, text, self._index, embedded)
            if isinstance(built, Path):
                library = built
            else:
                settled = [self._without_code(outcome, built) for outcome in settled]
                edits = self._edits(settled, with_grids=False)
        self._hand_over(settled, edits, library)
        return settled

    def _located(self, outcome: KernelOutcome) -> KernelOutcome:
        """The first candidate whose edits find their place in the wrapper."""
        reason = ""
        for candidate in outcome.candidates:
            try:
                launcher_edits(self._text, outcome.target, candidate, self._writing.patches)
            except KernelscopeError as error:
                reason = reason or error.one_line()
                continue
            rest = tuple(c for c in outcome.candidates if c is not candidate)
            return outcome if candidate is outcome.candidates[0] else with_candidate(outcome, (candidate, *rest))
        return _failed(outcome, reason) if outcome.candidates else outcome

    def _without_code(self, outcome: KernelOutcome, reason: str) -> KernelOutcome:
        """A candidate that needs no new library."""
        if outcome.shipped is not None and outcome.shipped.member is None:
            return _failed(outcome, f"its binary is embedded in the library, and {reason}")
        for candidate in outcome.candidates:
            target = replace(outcome.target, truncates=False)
            found = launcher_edits(self._text, target, candidate, self._writing.patches)
            if not found.code:
                rest = tuple(c for c in outcome.candidates if c is not candidate)
                return with_candidate(outcome, (candidate, *rest))
        return _failed(outcome, f"its launcher has to change, and {reason}") if outcome.candidates else outcome

    def _edits(self, outcomes: Sequence[KernelOutcome], with_grids: bool = True) -> dict[str, LauncherEdits]:
        found: dict[str, LauncherEdits] = {}
        for outcome in outcomes:
            target = outcome.target if with_grids else replace(outcome.target, truncates=False)
            best = outcome.candidates[0] if outcome.candidates else None
            if best is not None or target.truncates:
                found[target.launcher] = launcher_edits(self._text, target, best, self._writing.patches)
        return found

    def _hand_over(
        self, outcomes: Sequence[KernelOutcome], edits: Mapping[str, LauncherEdits], library: Path | None
    ) -> None:
        for outcome in outcomes:
            if outcome.candidates and outcome.shipped is not None and outcome.shipped.member is not None:
                name = f"{self._parts.folder}/{outcome.shipped.member}"
                self._writing.replace(name, outcome.shipped.packed(outcome.candidates[0].compiled))
        if edits:
            text = edited_wrapper(self._text, list(edits.values()))
            self._writing.replace(self._parts.wrapper, text.encode("utf-8"))
            self.change = WrapperChange.COMMENT
        if library is not None and self._parts.library is not None:
            self._writing.replace(self._parts.library, library)
            self.change = WrapperChange.REBUILT


def _with_grid_tests(outcome: KernelOutcome) -> KernelOutcome:
    """Tests of a grid that fails loudly at first and silently from 2**32 on: no reason to build a library, but welcome in one
    that is built anyway."""
    return replace(outcome, target=replace(outcome.target, truncates=outcome.target.limited))


def _failed(outcome: KernelOutcome, reason: str) -> KernelOutcome:
    target = outcome.target
    return KernelOutcome(target, PatchFailed(target.result.name, target.launcher, reason), (), outcome.shipped)


# -- the package ------------------------------------------------------------------------------------------------------


def write_package(
    members: PackageMembers, output: str, plan: Plan, before: AuditResult, versions: tuple[str, str], strategy: Strategy,
    ranges: Mapping[str, tuple[int | None, int | None]], input_digest: str, wanted: Callable[[str], bool],
) -> None:  # fmt: skip
    """Writes the patched package with its record; the file appears only when it is complete and `wanted`, which is told
    where it can be read until then."""
    record = json.dumps(_record(plan, before, versions, strategy, ranges, input_digest), indent=1).encode() + b"\n"
    replaced = dict(plan.replaced)
    added: dict[str, Content] = {}
    (replaced if members.is_patched else added)[members.record] = Content(record)
    rewrite_archive(members.path, output, replaced, added, opened=members.file, wanted=wanted)


def _record(
    plan: Plan, before: AuditResult, versions: tuple[str, str], strategy: Strategy,
    ranges: Mapping[str, tuple[int | None, int | None]], input_digest: str,
) -> dict[str, object]:  # fmt: skip
    verdicts = {k.name: k.verdict.word for a in before.artifacts for m in a.models for k in m.kernels}
    return {
        "schema": 1,
        "tool": {"name": "kernelscope", "version": __version__},
        "written": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "versions": {"triton": versions[0], "torch": versions[1]},
        "options": {"strategy": strategy.value, "ranges": {name: list(ends) for name, ends in ranges.items()}},
        "input_sha256": input_digest,
        "members": {
            name: {"after_sha256": digest(c.data) if isinstance(c.data, bytes) else file_digest(c.data)}
            for name, c in plan.replaced.items()
        },
        "wrappers": {name: change.value for name, change in plan.wrappers.items()},
        "verdicts_before": verdicts,
        "kernels": [_kernel_record(outcome) for outcome in plan.outcomes],
    }


def _kernel_record(outcome: KernelOutcome) -> dict[str, object]:
    result = outcome.result
    if not isinstance(result, Patched):
        reason = result.error if isinstance(result, PatchFailed) else result.reason
        return {"name": result.kernel, "patched": False, "reason": reason}
    best: Built = outcome.candidates[0]
    old = outcome.shipped.kernel.cubin if outcome.shipped is not None else b""
    return {
        "name": result.kernel, "patched": True, "strategy": result.strategy.value, "patches": list(result.patches),
        "widened": list(result.widened), "provenance": result.provenance.value,
        "cubin_sha256": {"before": digest(old), "after": digest(best.compiled.cubin)},
        "lines": [{"line": c.line, "before": c.before, "after": c.after} for c in result.changes],
    }  # fmt: skip
