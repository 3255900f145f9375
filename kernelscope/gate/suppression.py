"""Suppressions: `CODE` or `CODE:KERNEL`, where the kernel's name may hold `*` and `?`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from kernelscope.errors import KernelscopeError

_FORM = re.compile(r"(KS\d{3}|KS\dxx)(?::(\S+))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Suppression:
    """`code` is one check's, or `KS3xx` for all of a kind."""

    code: str
    kernel: str

    @property
    def text(self) -> str:
        return self.code if self.kernel == "*" else f"{self.code}:{self.kernel}"

    def covers(self, code: str, kernel: str) -> bool:
        """Whether findings with this code in this kernel are suppressed."""
        same = code == self.code or (self.code.endswith("xx") and code.startswith(self.code[:3]))
        return same and fnmatchcase(kernel, self.kernel)


def read_suppression(text: str) -> Suppression:
    """A suppression as it is written; KernelscopeError for anything else."""
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise KernelscopeError(f"{text!r} is no suppression", try_this="write KS302, KS3xx or KS302:KERNEL_NAME")
    code = found.group(1).upper().replace("XX", "xx")
    return Suppression(code, found.group(2) or "*")
