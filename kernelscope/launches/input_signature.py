"""The inputs of a model: their dynamic dimensions, and the call that they are part of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class InputShape:
    """Input `number`, counted over the flattened call: its dynamic dimensions, and the largest size of each that the
    run-time check lets pass (no entry: any)."""

    number: int
    name: str  # the wrapper's variable, `arg0_1`
    dynamic: frozenset[int]
    checked_maximum: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InputSignature:
    """`call_spec`: torch's JSON of the call's nesting (`torch.utils._pytree.treespec_dumps`), None where not recorded."""

    inputs: tuple[InputShape, ...]
    call_spec: str | None
