"""What each stage gave, and the first one that differs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from kernelscope.audit.results import Verdict


class Stage(Enum):
    """One way to run a model, in the order in which each adds something to the one before."""

    EAGER = "eager"
    DYNAMO = "dynamo"
    AOT_EAGER = "aot_eager"
    INDUCTOR = "inductor"
    PACKAGE = "package"
    FRESH_PACKAGE = "fresh_package"

    @property
    def words(self) -> str:
        return _WORDS[self]

    @property
    def backend(self) -> str | None:
        """The backend of `torch.compile`; None for a stage that does not use it."""
        return _BACKENDS.get(self)

    @property
    def adds(self) -> str:
        """What a difference that begins here points at."""
        return _ADDS[self]


_WORDS = {
    Stage.EAGER: "eager",
    Stage.DYNAMO: 'torch.compile(backend="eager")',
    Stage.AOT_EAGER: 'torch.compile(backend="aot_eager")',
    Stage.INDUCTOR: 'torch.compile(backend="inductor")',
    Stage.PACKAGE: "the AOTInductor package",
    Stage.FRESH_PACKAGE: "a package compiled anew",
}
_BACKENDS = {Stage.DYNAMO: "eager", Stage.AOT_EAGER: "aot_eager", Stage.INDUCTOR: "inductor"}
_ADDS = {
    Stage.EAGER: "the model itself",
    Stage.DYNAMO: "how dynamo captures the graph",
    Stage.AOT_EAGER: "functionalization and decompositions in AOTAutograd",
    Stage.INDUCTOR: "the kernels that Inductor generates",
    Stage.PACKAGE: "the ahead-of-time package: its wrapper, index dtypes that nothing guards, or its weights",
    Stage.FRESH_PACKAGE: "ahead-of-time compilation of this very model",
}


class StageState(Enum):
    SAME = "same"
    DIFFERS = "differs"
    RAISED = "raised an error"
    CRASHED = "crashed"
    TIMED_OUT = "did not end in time"
    NOT_RUN = "not run"

    @property
    def is_fault(self) -> bool:
        return self not in (StageState.SAME, StageState.NOT_RUN)


@dataclass(frozen=True, slots=True)
class Difference:
    """How output `index` differs: `kind` is `value`, `nan`, `shape`, `dtype` or `count`; `at` is the worst element."""

    index: int
    kind: str
    dtype: str
    detail: str
    at: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StageResult:
    stage: Stage
    state: StageState
    detail: str = ""
    differences: tuple[Difference, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Operator:
    """The first operator after which the stage differs. `alone`: whether it differs when nothing else is compiled."""

    name: str
    position: int
    of: int
    source: str
    alone: bool


@dataclass(frozen=True, slots=True)
class SuspectKernel:
    """A kernel of the package that is not proved safe at these very sizes."""

    name: str
    verdict: Verdict
    code: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Isolation:
    """`first`: the first stage that differs from eager (None: none does). `reproduction`: a script that shows it."""

    subject: str
    package: str | None
    sizes: Mapping[str, int]
    stages: tuple[StageResult, ...]
    first: StageResult | None
    operator: Operator | None
    kernels: tuple[SuspectKernel, ...]
    conclusion: str
    reproduction: str | None
    torch_version: str
