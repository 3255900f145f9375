"""The results of an audit: findings, verdicts, witnesses, thresholds, and the assumptions they rest on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum

from kernelscope.launches.launch import BoundOrigin, Launch, Symbol
from kernelscope.triton_source.index_program import Span, UnknownReason


class Verdict(IntEnum):
    """Ordered, so that `min` over the parts is the verdict of the whole."""

    UNSAFE = 0
    UNKNOWN = 1
    SAFE = 2

    @property
    def word(self) -> str:
        return self.name.lower()


class Consequence(Enum):
    """What happens at the witness."""

    OUT_OF_BOUNDS = "out-of-bounds access"
    WRONG_RESULT = "silent wrong result"
    FAILED_LAUNCH = "failed launch"
    ENDLESS_LOOP = "endless loop"
    DOES_NOT_COMPILE = "does not compile"


@dataclass(frozen=True, slots=True)
class Witness:
    """One point at which the finding was seen to happen, by evaluating the program exactly and with wrapping.

    symbols: value of each size symbol. program_id: the three ids. lane: coordinates within the block. loop: value of each
    enclosing loop counter (of a `while`, the iteration from 0). loaded: values read from memory that the index depends on,
    by kernel argument."""

    symbols: Mapping[str, int]
    program_id: tuple[int, int, int]
    lane: tuple[int, ...]
    loop: Mapping[str, int]
    loaded: Mapping[str, int]
    exact: int
    wrapped: int


@dataclass(frozen=True, slots=True)
class RangedNode:
    """A node of the faulty expression's tree with the range of its exact value over the sizes considered."""

    text: str
    type: str
    minimum: int | None
    maximum: int | None
    fits: bool
    children: tuple[RangedNode, ...] = ()


@dataclass(frozen=True, slots=True)
class Location:
    """Where in a file: `line` from 1, columns from 0, `end_column` exclusive; `text` is the source line itself."""

    file: str
    line: int
    column: int
    end_column: int
    text: str


@dataclass(frozen=True, slots=True)
class UnsafeFinding:
    """At the witness the hardware computes something else than the exact arithmetic, and it matters.

    condition: the sizes at which the launch is right (`4096*s10 <= 2147483648`). largest_safe: by symbol, the largest
    value up to which every size is proved safe (None: no limit). smallest_trigger_bytes: memory of the launch's tensors
    at the witness."""

    id: str
    code: str
    location: Location
    expression: str
    type: str
    condition: str
    largest_safe: Mapping[str, int | None]
    witness: Witness
    consequence: Consequence
    smallest_trigger_bytes: int | None
    launch_indices: tuple[int, ...]
    tree: RangedNode | None
    explanation: str  # one sentence for a person


@dataclass(frozen=True, slots=True)
class UnknownFinding:
    """Neither proved safe nor seen to fail. `largest_safe` as of an unsafe finding; None: it is proved at no size."""

    id: str
    code: str
    location: Location
    expression: str
    type: str
    reason: UnknownReason
    detail: str
    launch_indices: tuple[int, ...]
    largest_safe: Mapping[str, int | None] | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """Information that changes no verdict: KS4xx, KS5xx, or a finding that `guards` of torch.compile rule out."""

    id: str
    code: str
    location: Location
    expression: str
    detail: str
    launch_indices: tuple[int, ...]
    guards: tuple[str, ...] = ()


Finding = UnsafeFinding | UnknownFinding | Note


@dataclass(frozen=True, slots=True)
class Proof:
    """Why a launch is safe: the largest value that the tightest expression reaches, and the limit it stays within."""

    expression: str
    location: Location
    type: str
    bound: str  # a polynomial in the sizes, e.g. `4096*s10 - 1`
    largest_value: int
    limit: int


@dataclass(frozen=True, slots=True)
class UsedBound:
    """A bound on a symbol that a proof used: which one and where it comes from."""

    symbol: str
    minimum: int | None
    maximum: int | None
    origin: BoundOrigin


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What the verdicts rest on. `rules` names each further assumption in a sentence (the buffer rule, a block size)."""

    device_memory_bytes: int | None
    bounds: tuple[UsedBound, ...]
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KernelSource:
    """The text a kernel's findings point into."""

    name: str
    text: str
    file: str
    first_line: int
    indent: int


@dataclass(frozen=True, slots=True)
class KernelResult:
    """One kernel with all its launches. `index_width` is 32 or 64: the width of its program-id arithmetic (None where it
    has none). `verdict` is the minimum over the launches."""

    name: str
    verdict: Verdict
    index_width: int | None
    launches: tuple[Launch, ...]
    findings: tuple[Finding, ...]
    proofs: tuple[Proof, ...]
    source: KernelSource | None


@dataclass(frozen=True, slots=True)
class ModelResult:
    """One model. `largest_safe`: per symbol, with the others anywhere in their declared ranges where that is finite,
    else at their minimum; None: no limit below 2**40. Empty where some part is proved at no size."""

    name: str
    verdict: Verdict
    device: str | None
    symbols: tuple[Symbol, ...]
    kernels: tuple[KernelResult, ...]
    findings: tuple[Finding, ...]  # of the model itself (damaged parts)
    largest_safe: Mapping[str, int | None]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ArtifactResult:
    """One artifact; `error` is set (and `models` empty) when nothing in it could be read."""

    path: str
    verdict: Verdict
    models: tuple[ModelResult, ...]
    error: str | None = None
    patched: bool = False  # Kernelscope has patched it


@dataclass(frozen=True, slots=True)
class AuditResult:
    """Everything that `audit` returns, in the order of the paths given."""

    artifacts: tuple[ArtifactResult, ...]
    assumptions: Assumptions

    @property
    def verdict(self) -> Verdict:
        return min((artifact.verdict for artifact in self.artifacts), default=Verdict.UNKNOWN)


def reason_of(finding: Finding) -> UnknownReason | None:
    """The reason of an unknown finding, None for others."""
    return finding.reason if isinstance(finding, UnknownFinding) else None


def verdict_of(finding: Finding) -> Verdict:
    """The verdict that a finding stands for."""
    match finding:
        case UnsafeFinding():
            return Verdict.UNSAFE
        case UnknownFinding():
            return Verdict.UNKNOWN
        case Note():
            return Verdict.SAFE


def keep_least(largest: dict[str, int | None], found: Mapping[str, int | None]) -> None:
    """Merge limits by size: the least one counts, None is no limit."""
    for name, value in found.items():
        known = largest.get(name)
        if name not in largest or known is None:
            largest[name] = value
        elif value is not None:
            largest[name] = min(known, value)


@dataclass(frozen=True, slots=True)
class BoundsResult:
    """`kernelscope bounds`: `largest_safe` by free symbol (None: no limit below 2**40, 0 or less than the minimum: no
    size is safe); `unknown` names symbols for which no limit could be proved."""

    fixed: Mapping[str, int]
    largest_safe: Mapping[str, int | None]
    unknown: Mapping[str, str]


__all__ = [
    "ArtifactResult", "Assumptions", "AuditResult", "BoundsResult", "Consequence", "Finding", "KernelResult", "KernelSource",
    "Location", "ModelResult", "Note", "Proof", "RangedNode", "Span", "UnknownFinding", "UnsafeFinding", "UsedBound",
    "Verdict", "Witness", "keep_least", "reason_of", "verdict_of",
]  # fmt: skip
