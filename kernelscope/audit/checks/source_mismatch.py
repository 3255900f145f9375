"""The kernel source in the package and the binary that runs are not the same program.

A package holds a kernel's source as a comment, and a compiled kernel beside it. What is proved about the source says
nothing about another binary: such a kernel is unknown.

Cure: build the package again.
"""

from __future__ import annotations

from kernelscope.audit.checks.example import Example

CODE = "KS901"
TITLE = "source and binary disagree"

UNSAFE: tuple[Example, ...] = ()
SAFE: tuple[Example, ...] = ()
UNKNOWN: tuple[Example, ...] = ()
