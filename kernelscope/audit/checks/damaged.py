"""A part of the artifact cannot be read: a torn zip member, a truncated source, a function that does not parse.

What it holds is unknown, and so is the model that it belongs to; the parts that can be read are audited all the same.

Cure: copy or build the package again.
"""

from __future__ import annotations

from kernelscope.audit.checks.example import Example

CODE = "KS903"
TITLE = "a part of the artifact is damaged"

UNSAFE: tuple[Example, ...] = ()
SAFE: tuple[Example, ...] = ()
UNKNOWN: tuple[Example, ...] = ()
