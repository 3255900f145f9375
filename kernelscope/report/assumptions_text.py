"""What the verdicts rest on, a sentence each."""

from __future__ import annotations

from kernelscope.audit.results import AuditResult, UsedBound
from kernelscope.report.quantities import bytes_text, listed

_MAX_BOUNDS = 12
_MAX_SIZES = 8


def assumption_lines(result: AuditResult) -> list[str]:
    memory = result.assumptions.device_memory_bytes
    lines = [
        "no limit on device memory"
        if memory is None
        else f"the tensors of one launch, and each input, fit in {bytes_text(memory)} of device memory (--device-memory)"
    ]
    bounds = list(dict.fromkeys(map(_bound, result.assumptions.bounds)))
    lines += bounds[:_MAX_BOUNDS]
    if len(bounds) > _MAX_BOUNDS:
        lines.append(f"{len(bounds) - _MAX_BOUNDS} more bounds on sizes: see --format json")
    lines += _not_trusted(result)
    return lines + list(result.assumptions.rules)


def _bound(bound: UsedBound) -> str:
    low, high = bound.minimum, bound.maximum
    if low is None and high is None:
        return f"{bound.symbol} has no bound"
    if high is None:
        return f"{bound.symbol} >= {low}, without an upper bound: {bound.origin.value}"
    if low is None:
        return f"{bound.symbol} <= {high}: {bound.origin.value}"
    if low == high:
        return f"{bound.symbol} = {low}: {bound.origin.value}"
    return f"{low} <= {bound.symbol} <= {high}: {bound.origin.value}"


def _not_trusted(result: AuditResult) -> list[str]:
    """Upper bounds that Inductor made up, which nothing enforces."""
    sizes: dict[int, list[str]] = {}
    for artifact in result.artifacts:
        for model in artifact.models:
            for symbol in model.symbols:
                if symbol.assumed_by_inductor is not None:
                    sizes.setdefault(symbol.assumed_by_inductor, []).append(symbol.name)
    return [
        f"not used: Inductor's own assumption that {listed(list(dict.fromkeys(names)), _MAX_SIZES)} <= {limit}"
        for limit, names in sorted(sizes.items())
    ]
