"""The audit of artifacts: sources in, verdicts out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from kernelscope.artifact import open_artifact
from kernelscope.audit.artifact_audit import (
    ArtifactAuditor,
    ArtifactVerdict,
    AuditSettings,
    ModelFacts,
    Progress,
    UserRange,
    read_model,
)
from kernelscope.audit.processes import KernelProcesses, Processes
from kernelscope.audit.results import ArtifactResult, Assumptions, AuditResult, Verdict
from kernelscope.collection import rare_collection
from kernelscope.errors import KernelscopeError
from kernelscope.launches.launch import BoundOrigin
from kernelscope.paths import StrPath

#: The largest GPU sold: 288 GiB (NVIDIA B300, AMD MI355X).
DEFAULT_DEVICE_MEMORY = 288 << 30
#: Fewer paths are audited one after another, the kernels of each in several processes.
_MANY_PATHS = 16


def audit(
    paths: Sequence[StrPath] | StrPath,
    *,
    ranges: Mapping[str, UserRange] | None = None,
    device_memory: int | None = DEFAULT_DEVICE_MEMORY,
    launch_file: StrPath | None = None,
    range_origin: BoundOrigin = BoundOrigin.COMMAND_LINE,
    only: frozenset[str] | None = None,
    guards: Sequence[str] = (),
    jobs: int = 1,
    progress: Progress | None = None,
) -> AuditResult:
    """Audit artifacts, or one. `ranges`: bounds by symbol or input dimension (`input0[0]`) that replace the declared ones;
    `range_origin` is who gave them, as reports tell. `only`: launchers (a kernel's name where they are called alike) to
    audit; None: all of them. `guards`: conditions on sizes (`4096*s10 <= 2147483647`) outside of which nothing is
    launched, as of `torch.compile`; what is unsafe only there becomes a note that carries them.
    `device_memory`: bytes that the tensors of one launch fit into (None: no assumption). `jobs`: processes, for several
    paths or for an artifact of many kernels (0: as many as there are processors, where there is enough to do); they are
    started anew, so that a script needs `if __name__ == "__main__":` around the call. Never raises for a damaged artifact:
    it becomes a result with `error`."""
    names = [os.fspath(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    launches = None if launch_file is None else os.fspath(launch_file)
    settings = AuditSettings(dict(ranges or {}), device_memory, launches, range_origin, only, tuple(guards))
    with Processes(jobs) as processes:
        results = list(_verdicts(names, settings, jobs, processes, progress))
    bounds = {b for _, used, _ in results for b in used}
    rules = {r for _, _, given in results for r in given}
    ordered = tuple(sorted(bounds, key=lambda b: (b.symbol, b.origin.name, b.minimum or 0)))
    assumptions = Assumptions(device_memory, ordered, tuple(sorted(rules)))
    return AuditResult(tuple(result for result, _, _ in results), assumptions)


def _verdicts(
    paths: Sequence[str], settings: AuditSettings, jobs: int, processes: Processes, progress: Progress | None
) -> Iterator[ArtifactVerdict]:
    if len(paths) >= (_MANY_PATHS if jobs == 0 else 2) and processes.count > 1:
        for number, result in enumerate(processes.map(_audit_path, [(path, settings) for path in paths])):
            yield result
            if progress is not None:
                progress(number + 1, len(paths), paths[number])
        return
    for number, path in enumerate(paths):
        if progress is not None:
            progress(number, len(paths), path)
        yield _audit_path(path, settings, progress if len(paths) == 1 else None, processes)


def _audit_path(
    path: str, settings: AuditSettings, progress: Progress | None = None, processes: Processes | None = None
) -> ArtifactVerdict:
    with rare_collection():
        try:
            artifact = open_artifact(path)
            facts = [read_model(model, settings.launch_file, settings.only) for model in artifact.models]
        except KernelscopeError as error:
            return ArtifactResult(path, Verdict.UNKNOWN, (), error.one_line()), (), ()
        several = processes is not None and processes.count > 1
        elsewhere = KernelProcesses(path, settings, processes).verdicts if several and processes is not None else None
        return ArtifactAuditor(artifact, settings, progress, elsewhere).run(facts)


__all__ = ["DEFAULT_DEVICE_MEMORY", "ModelFacts", "UserRange", "audit", "read_model"]
