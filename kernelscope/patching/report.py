"""What a patch run did: a result for every kernel, what the wrapper got, and the verdicts before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from kernelscope.audit.results import AuditResult, Verdict
from kernelscope.build.cost import KernelCost
from kernelscope.rewrite.rewriting import Strategy


class ProvenanceState(Enum):
    """How a kernel's source stands to its binary."""

    PROVED = "compiled again it gives the shipped binary"
    OTHER_VERSION = "the binary was made by another version of Triton"
    TRUSTED = "taken on trust"


@dataclass(frozen=True, slots=True)
class ChangedLine:
    """A line of the kernel before and after; `line` counts in the kernel's text from 1."""

    line: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class CandidateCost:
    """One way to patch a kernel, compiled; `cost` None where the tools to measure it are missing."""

    strategy: Strategy
    casts: int
    widened: tuple[str, ...]
    cost: KernelCost | None


@dataclass(frozen=True, slots=True)
class Patched:
    """A kernel whose every launch is proved now. `before`: the cost of the shipped binary."""

    kernel: str
    launcher: str
    strategy: Strategy
    provenance: ProvenanceState
    provenance_detail: str
    changes: tuple[ChangedLine, ...]
    patches: tuple[str, ...]
    widened: tuple[str, ...]
    before: KernelCost | None
    after: KernelCost | None
    candidates: tuple[CandidateCost, ...]


@dataclass(frozen=True, slots=True)
class PatchDeclined:
    """A kernel that is not safe and that no rewrite cures, or was not to be touched: why."""

    kernel: str
    launcher: str
    reason: str
    code: str | None = None  # KS901, KS902


@dataclass(frozen=True, slots=True)
class PatchFailed:
    """A kernel that could not be rebuilt: why."""

    kernel: str
    launcher: str
    error: str


KernelPatchResult = Patched | PatchDeclined | PatchFailed


class WrapperChange(Enum):
    """What became of a model's wrapper and library."""

    NONE = "untouched"
    COMMENT = "only the quoted source changed; the library is the old one"
    REBUILT = "compiled and linked again"
    SOURCE_ONLY = "the source changed; the library has to be built with the torch that made it"


@dataclass(frozen=True, slots=True)
class PatchReport:
    """`verdict_before` and `verdict_after` are those of the whole package; `after` None: nothing was written.

    `summary` is one sentence. `ok`: nothing unsafe is left but what CUDA itself cannot launch (without `after`: would be
    left). `tool_failure`: what kept a library from being built, where that is the machine's fault and not the package's."""

    source: str
    output: str | None
    summary: str
    ok: bool
    kernels: tuple[KernelPatchResult, ...]
    wrappers: Mapping[str, WrapperChange]
    before: AuditResult
    after: AuditResult | None
    triton_version: str
    torch_version: str
    tool_failure: str = ""

    @property
    def verdict_before(self) -> Verdict:
        return self.before.verdict

    @property
    def verdict_after(self) -> Verdict | None:
        return self.after.verdict if self.after is not None else None
