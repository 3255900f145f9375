"""Which findings a patch settles, without compiling anything: the rewritten kernel is proved, or it is not."""

from __future__ import annotations

from dataclasses import replace

from kernelscope.artifact import open_artifact
from kernelscope.audit.results import ArtifactResult, AuditResult, UnsafeFinding
from kernelscope.audit.run import DEFAULT_DEVICE_MEMORY, read_model
from kernelscope.patching.candidates import proposals
from kernelscope.patching.targets import GRID_CODES, targets_of
from kernelscope.rewrite.patch_file import Patches, load_patches
from kernelscope.rewrite.rewriting import Strategy


def patchable_findings(result: AuditResult, device_memory: int | None = DEFAULT_DEVICE_MEMORY) -> frozenset[str]:
    """The ids of the unsafe findings whose kernel the shipped patches rewrite to one that is proved safe.

    A grid that CUDA itself cannot launch is none of them. About 0.2 s a kernel, and libcst; neither torch nor triton."""
    patches = load_patches(())
    return frozenset(
        identity
        for artifact in result.artifacts if artifact.error is None
        for identity in _of_artifact(artifact, replace(result, artifacts=(artifact,)), patches, device_memory)
    )  # fmt: skip


def _of_artifact(
    artifact: ArtifactResult, alone: AuditResult, patches: Patches, device_memory: int | None
) -> list[str]:
    opened = open_artifact(artifact.path)
    facts = [read_model(model, None) for model in opened.models]
    found: list[str] = []
    for target in targets_of(opened, facts, alone, frozenset()):
        unsafe = [f for f in target.result.findings if isinstance(f, UnsafeFinding) and f.code not in GRID_CODES]
        if target.kernel is None or not unsafe:
            continue
        subject = target.subject(target.wrapper.symbols, device_memory)
        if proposals(subject, Strategy.MINIMAL, patches).rewritings:
            found += [f.id for f in unsafe]
    return found
