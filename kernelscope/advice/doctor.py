"""`kernelscope doctor`: is it this bug, which known defects apply, and can this machine patch the package."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from kernelscope.advice.defects import defects_of_version, evidence_of, known_defects
from kernelscope.advice.environment import Environment, this_environment
from kernelscope.advice.options import KnownDefect
from kernelscope.artifact import open_artifact
from kernelscope.artifact.contents import Artifact, ArtifactKind, Model, SourceRole
from kernelscope.artifact.cubin import CubinError, ptx_of
from kernelscope.audit.results import AuditResult, Consequence, ModelResult, UnsafeFinding, Verdict
from kernelscope.audit.run import DEFAULT_DEVICE_MEMORY, audit
from kernelscope.build.cubin_sections import ToolVersions, tool_versions
from kernelscope.cpp_wrapper.producer import Producer, producer_of
from kernelscope.errors import KernelscopeError
from kernelscope.launches.launch import TensorArgument

_LARGE = 2**31 - 1
_AHEAD_OF_TIME = (ArtifactKind.PACKAGE, ArtifactKind.CPP_WRAPPER)


class Answer(Enum):
    YES = "yes"
    NO = "no"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Question:
    """One of the questions that tell this kind of defect from others, answered from evidence."""

    text: str
    answer: Answer
    evidence: str


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A model: who wrote it, for which GPU, and what stands in the way of patching it here (empty: nothing)."""

    name: str
    device: str | None
    kernels: int
    producer: Producer | None
    capability: str | None  # `sm_90a`, from its binaries or metadata
    tools: ToolVersions | None
    obstacles: tuple[str, ...]
    defects: tuple[KnownDefect, ...]


@dataclass(frozen=True, slots=True)
class PackageFacts:
    path: str
    kind: ArtifactKind
    patched: bool
    audit: AuditResult
    models: tuple[ModelFacts, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Examination:
    """`defects` without a package: those of the torch installed here."""

    environment: Environment
    package: PackageFacts | None
    defects: tuple[KnownDefect, ...]


def examine(path: str | None = None, *, device_memory: int | None = DEFAULT_DEVICE_MEMORY) -> Examination:
    """The facts about this machine and, with `path`, about a package. KernelscopeError for one that cannot be read."""
    environment = this_environment()
    if path is None:
        return Examination(environment, None, defects_of_version(environment.torch))
    artifact = open_artifact(path)
    result = audit([path], device_memory=device_memory)
    audited = {m.name: m for m in result.artifacts[0].models}
    models = tuple(
        _model(model, audited[model.name], artifact, environment) for model in artifact.models if model.name in audited
    )
    facts = PackageFacts(path, artifact.kind, artifact.patched, result, models, _questions(artifact, audited.values()))
    return Examination(environment, facts, ())


def _model(model: Model, audited: ModelResult, artifact: Artifact, environment: Environment) -> ModelFacts:
    wrapper = next((s for s in model.sources if s.role is SourceRole.CPP_WRAPPER), None)
    producer = producer_of(wrapper.text) if wrapper is not None else None
    cubin = _first_binary(model)
    return ModelFacts(
        model.name, audited.device or model.device, len(audited.kernels), producer, _capability(model, cubin),
        tool_versions(cubin) if cubin is not None else None, tuple(_obstacles(audited, artifact, producer, environment)),
        known_defects(evidence_of(audited, producer)) if artifact.kind in _AHEAD_OF_TIME else (),
    )  # fmt: skip


def _first_binary(model: Model) -> bytes | None:
    for read in model.binaries.values():
        try:
            return read()
        except KernelscopeError:
            continue
    return None


def _capability(model: Model, cubin: bytes | None) -> str | None:
    """From the PTX in a binary, which every version writes; else from the metadata (torch 2.11 and newer)."""
    if cubin is not None:
        try:
            return ptx_of(cubin).target or None
        except CubinError:
            pass
    recorded = model.metadata.get("AOTI_COMPUTE_CAPABILITY")
    return f"sm_{recorded}" if recorded else None


def _obstacles(
    audited: ModelResult, artifact: Artifact, producer: Producer | None, environment: Environment
) -> Iterable[str]:
    if artifact.kind is not ArtifactKind.PACKAGE:
        yield f"a {artifact.kind.value} is not a package: only a .pt2 can be patched"
    if not audited.kernels:
        yield "it has no Triton kernels"
        return
    missing = [k.name for k in audited.kernels if k.source is None]
    if missing:
        yield f"it holds no source for {', '.join(missing[:4])}"
    if environment.triton is None or environment.torch is None:
        yield "kernels are compiled by triton with torch's helpers: pip install 'kernelscope[build]'"
    elif producer is not None and not _same_family(producer, environment.torch):
        yield (
            f"it was written by {producer.words}, and torch {environment.torch} is installed: kernels can be rebuilt, "
            "a wrapper only with the torch that wrote it"
        )
    if environment.toolchain_problem is not None and environment.torch is not None:
        yield f"a wrapper cannot be rebuilt: {environment.toolchain_problem}"
    elif environment.torch is not None and environment.cuda_headers is None:
        yield "a wrapper cannot be rebuilt without the CUDA headers: pip install nvidia-cuda-runtime"


def _same_family(producer: Producer, torch: str) -> bool:
    return producer is family_of(torch)


def family_of(torch: str) -> Producer:
    """The family of wrappers that a version of torch writes (2.8, 2.11 and 2.14 were compared)."""
    parts = torch.partition("+")[0].split(".")
    minor = (int(parts[0]), int(parts[1])) if len(parts) > 1 and parts[0].isdigit() and parts[1].isdigit() else (2, 14)
    if minor >= (2, 14):
        return Producer.FROM_2_14
    return Producer.FROM_2_11 if minor >= (2, 11) else Producer.TO_2_10


# -- the questions ----------------------------------------------------------------------------------------------------


def _questions(artifact: Artifact, models: Iterable[ModelResult]) -> tuple[Question, ...]:
    models = list(models)
    return (_compiled_ahead(artifact), _large_or_int64(models), _breaks(models), _guarded(artifact, models))


def _compiled_ahead(artifact: Artifact) -> Question:
    text = "Was it exported and compiled ahead of time?"
    if artifact.kind in _AHEAD_OF_TIME:
        return Question(text, Answer.YES, f"this is an {artifact.kind.value}: no guard checks sizes when it runs")
    if artifact.kind is ArtifactKind.PYTHON_WRAPPER:
        return Question(text, Answer.NO, "this is what torch.compile runs, and torch.compile guards its sizes")
    return Question(text, Answer.UNKNOWN, f"a {artifact.kind.value} does not tell")


def _large_or_int64(models: Sequence[ModelResult]) -> Question:
    text = "Does it have int64 indices, or large dynamic dimensions?"
    open_ended = [s.name for m in models for s in m.symbols if s.maximum is None or s.maximum > _LARGE]
    wide = {
        a.tensor.name
        for m in models for k in m.kernels for launch in k.launches for a in launch.arguments
        if isinstance(a, TensorArgument) and a.tensor.dtype == "i64"
    }  # fmt: skip
    evidence = []
    if open_ended:
        evidence.append(f"{', '.join(dict.fromkeys(open_ended))}: no maximum within 32 bits is declared")
    if wide:
        evidence.append(f"int64 tensors: {', '.join(sorted(wide)[:4])}")
    if evidence:
        return Question(text, Answer.YES, "; ".join(evidence))
    return Question(text, Answer.NO, "every size has a maximum within 32 bits, and no kernel takes an int64 tensor")


def _breaks(models: Sequence[ModelResult]) -> Question:
    text = "Are results wrong, out of bounds, or does it crash only in the package?"
    found = [f for m in models for k in m.kernels for f in k.findings if isinstance(f, UnsafeFinding)]
    if found:
        kinds = list(
            dict.fromkeys(f.consequence.value for f in found if f.consequence is not Consequence.DOES_NOT_COMPILE)
        )
        sizes = ", ".join(f"{name} = {value}" for name, value in found[0].witness.symbols.items())
        return Question(text, Answer.YES, f"the audit predicts {', '.join(kinds)}, as at {sizes or 'any size'}")
    if not any(m.kernels for m in models):
        return Question(text, Answer.UNKNOWN, "it has no Triton kernels; `kernelscope isolate` compares it with eager")
    if all(m.verdict is Verdict.SAFE for m in models):
        return Question(text, Answer.NO, "index arithmetic is proved right at every declared size: look elsewhere")
    return Question(
        text, Answer.UNKNOWN, "not everything is proved; `kernelscope isolate` compares the package with eager"
    )


def _guarded(artifact: Artifact, models: Sequence[ModelResult]) -> Question:
    text = "Is it right under torch.compile?"
    if artifact.kind is ArtifactKind.PYTHON_WRAPPER:
        return Question(text, Answer.UNKNOWN, "run it: `kernelscope isolate`")
    if any(m.verdict is Verdict.UNSAFE for m in models):
        why = "torch.compile guards the choice of 32-bit indices and compiles again at larger sizes"
        return Question(text, Answer.YES, f"{why}; `kernelscope isolate` runs both")
    return Question(text, Answer.UNKNOWN, "`kernelscope isolate` runs both")
