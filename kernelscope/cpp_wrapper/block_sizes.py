"""Block sizes read off a launcher's grid: each is the divisor of its numel."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from kernelscope.launches.host_expression import (
    HostBinary,
    HostCast,
    HostConstant,
    HostExpression,
    HostOperator,
    HostSelect,
    HostSymbol,
)
from kernelscope.launches.kernel_metadata import KernelMetadata

_NUMEL = re.compile(r"(x|y|z|r0_|r1_)numel(_\d+)?$")
_BLOCKS = {"x": "XBLOCK", "y": "YBLOCK", "z": "ZBLOCK", "r0_": "R0_BLOCK", "r1_": "R1_BLOCK"}


def block_sizes(
    metadata: KernelMetadata, grid: Sequence[HostExpression], grid_text: Sequence[str]
) -> dict[str, int]:
    """Constexpr values that the launcher and the kernel's metadata fix, by parameter name."""
    constants = {name: value for name, value in metadata.constants.items() if isinstance(value, int)}
    found = dict(constants)
    match metadata.grid_type:
        case None | "FixedGrid":
            return found
        case "PrecomputedGrid":
            found |= _precomputed(metadata.precomputed_grids, grid_text)
        case "MixOrderReductionGrid":
            found |= _only(metadata, {"RSPLIT_SIZE": {size for _, size in _divisors(grid[0])}})
        case "CooperativeReductionGrid":
            found |= _only(metadata, {"RSPLIT": {c for c in [_constant(grid[0])] if c is not None}})
            found |= _only(metadata, _by_block(metadata, grid[1:]))
        case _:
            default = metadata.combo_grid_meta.get("default_config")
            found |= _integers(default) if isinstance(default, dict) else {}
            found |= _only(metadata, _by_block(metadata, grid))
    return {**found, **constants}


def _by_block(metadata: KernelMetadata, grid: Sequence[HostExpression]) -> dict[str, set[int]]:
    candidates: dict[str, set[int]] = {}
    for dimension in grid:
        for numel, size in _divisors(dimension):
            match = _NUMEL.match(numel)
            if match is None:
                continue
            block = _BLOCKS[match.group(1)]
            numbered = block + (match.group(2) or "")
            candidates.setdefault(numbered if numbered in metadata.signature else block, set()).add(size)
    return candidates


def _only(metadata: KernelMetadata, candidates: Mapping[str, set[int]]) -> dict[str, int]:
    """Candidates that are constexpr parameters and have one value; a subkernel without an x dimension says 1."""
    chosen: dict[str, int] = {}
    for name, sizes in candidates.items():
        real = sizes - {1} or sizes
        if len(real) == 1 and name in metadata.constexprs:
            chosen[name] = next(iter(real))
    return chosen


def _divisors(expression: HostExpression) -> Iterator[tuple[str, int]]:
    """(numel, divisor) of every `ceil(numel / divisor)`; a numel that is not divided has divisor 1."""
    match expression:
        case HostBinary(
            HostOperator.TRUNCATED_DIVIDE,
            HostBinary(HostOperator.ADD, HostSymbol(name), HostConstant(rounding)),
            HostConstant(divisor),
        ) if rounding == divisor - 1:
            yield name, divisor
        case HostSymbol(name):
            yield name, 1
        case HostBinary(_, left, right, _):
            yield from _divisors(left)
            yield from _divisors(right)
        case HostCast(operand, _):
            yield from _divisors(operand)
        case HostSelect(_, if_true, if_false):
            yield from _divisors(if_true)
            yield from _divisors(if_false)
        case _:
            return


def _constant(expression: HostExpression) -> int | None:
    return expression.value if isinstance(expression, HostConstant) else None


def _integers(config: Mapping[object, object]) -> dict[str, int]:
    return {str(name): value for name, value in config.items() if isinstance(value, int)}


def _precomputed(candidates: Sequence[Mapping[str, object]], grid_text: Sequence[str]) -> dict[str, int]:
    """The configs whose C++ grid is the launcher's; only what all of them agree on is kept."""
    agreed: dict[str, int] | None = None
    for candidate in candidates:
        config, cpp = candidate.get("config"), candidate.get("cpp")
        if not isinstance(config, dict) or not isinstance(cpp, (list, tuple)):
            continue
        if [_plain(str(part)) for part in cpp] == [_plain(text) for text in grid_text[: len(cpp)]]:
            values = _integers(config)
            agreed = values if agreed is None else {k: v for k, v in agreed.items() if values.get(k) == v}
    return agreed or {}


def _plain(text: str) -> str:
    return "".join(text.split())
