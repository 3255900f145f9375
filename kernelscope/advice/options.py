"""What can be done about a package that is not safe, each option a value of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from kernelscope.audit.results import AuditResult, UnsafeFinding, Verdict
from kernelscope.build.cost import KernelCost
from kernelscope.cpp_wrapper.producer import Producer
from kernelscope.launches.launch import Symbol


@dataclass(frozen=True, slots=True)
class SizeBound:
    """A size and the inclusive range to declare for it."""

    symbol: Symbol
    minimum: int
    maximum: int

    @property
    def is_input_dimension(self) -> bool:
        return self.symbol.source.startswith("input")


@dataclass(frozen=True, slots=True)
class TradeOffRow:
    """With the other sizes at most `others`, the first one may reach `largest` (None: no limit below 2**40)."""

    others: int
    largest: int | None


@dataclass(frozen=True, slots=True)
class TradeOff:
    first: Symbol
    others: tuple[Symbol, ...]
    rows: tuple[TradeOffRow, ...]


@dataclass(frozen=True, slots=True)
class DeclareRanges:
    """Ranges that make every launch safe. `code` is Python to paste. `verdict`: of this package audited with the ranges;
    `one_more`: with the first maximum raised by one. `generated` and `handwritten`: the unsafe kernels by who wrote them, since
    only those that Inductor generates follow a larger maximum."""

    bounds: tuple[SizeBound, ...]
    code: str
    verdict: Verdict
    one_more: Verdict | None
    trade_off: TradeOff | None
    generated: tuple[str, ...]
    handwritten: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoRange:
    """No range helps: why."""

    reason: str


@dataclass(frozen=True, slots=True)
class PatchCost:
    """A kernel's binary as shipped and as patched (None: not measured), or the `reason` why it would not be patched."""

    kernel: str
    before: KernelCost | None
    after: KernelCost | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class PatchPackage:
    """`command` patches the package; `kernels` are those with unsafe findings. `costs` None: not asked for."""

    command: str
    kernels: tuple[str, ...]
    costs: tuple[PatchCost, ...] | None = None


class Caught(Enum):
    """Whether a run-time check stops every size at which a finding happens."""

    YES = "stopped"
    NO = "not stopped"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class CheckedFinding:
    """Whether the checks that AOTI_RUNTIME_CHECK_INPUTS=1 switches on stop `finding`; `passes`: sizes that they let
    through and at which it happens."""

    kernel: str
    finding: UnsafeFinding
    caught: Caught
    passes: Mapping[str, int] | None


@dataclass(frozen=True, slots=True)
class RuntimeChecks:
    """`limits`: the largest size of each symbol that the checks let pass (None: any)."""

    limits: Mapping[str, int | None]
    findings: tuple[CheckedFinding, ...]


@dataclass(frozen=True, slots=True)
class NarrowIndexTensor:
    """An int64 tensor whose elements index another one: int32 elements are proved to do, and so is 32-bit arithmetic on
    them. `argument` is the kernel's parameter, `tensor` the wrapper's variable."""

    kernel: str
    argument: str
    tensor: str


@dataclass(frozen=True, slots=True)
class KnownDefect:
    """A defect of torch that this package shows, from `defects.toml`."""

    id: str
    title: str
    symptom: str
    affected: str
    fixed: str
    cure: str
    reference: str
    patches: tuple[str, ...]
    kernels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelAdvice:
    """The options for one model, cheapest first; all empty where nothing is unsafe."""

    name: str
    verdict: Verdict
    producer: Producer | None
    ranges: DeclareRanges | NoRange | None
    patch: PatchPackage | None
    checks: RuntimeChecks | None
    index_tensors: tuple[NarrowIndexTensor, ...]
    defects: tuple[KnownDefect, ...]


@dataclass(frozen=True, slots=True)
class Advice:
    path: str
    audit: AuditResult
    models: tuple[ModelAdvice, ...]
