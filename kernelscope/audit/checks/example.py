"""An example of a check: a kernel with its launch facts, and the verdict that an audit must give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import dedent

from kernelscope.audit.results import Verdict

_IMPORTS = "import triton\nimport triton.language as tl\n\n\n"


@dataclass(frozen=True, slots=True)
class Example:
    """`kernel` is Triton source without its imports, `launch` a launch file. For an unsafe example, `expression` is the
    faulty one and `largest_safe` the largest safe value of each size."""

    about: str
    kernel: str
    launch: str
    verdict: Verdict
    expression: str | None = None
    largest_safe: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", dedent(self.kernel).strip() + "\n")
        object.__setattr__(self, "launch", dedent(self.launch).strip() + "\n")

    @property
    def source(self) -> str:
        """The kernel as a file that can be audited."""
        return _IMPORTS + self.kernel
