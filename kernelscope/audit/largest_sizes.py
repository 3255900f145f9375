"""The largest safe value of each size, the others fixed."""

from __future__ import annotations

import os
from collections.abc import Mapping

from kernelscope.artifact import open_artifact
from kernelscope.audit.results import BoundsResult, keep_least
from kernelscope.audit.run import read_model
from kernelscope.audit.size_limits import SizeLimits
from kernelscope.bounds.space import Range
from kernelscope.errors import KernelscopeError
from kernelscope.paths import StrPath


def largest_safe_sizes(
    path: StrPath,
    *,
    fixed: Mapping[str, int] | None = None,
    device_memory: int | None = None,
    launch_file: StrPath | None = None,
) -> BoundsResult:
    """The largest safe value of every free symbol, each with the others fixed as given or at their minimum; declared
    upper bounds do not count. Raises KernelscopeError for an unreadable artifact or an unknown name."""
    fixed = dict(fixed or {})
    path, launch_file = os.fspath(path), None if launch_file is None else os.fspath(launch_file)
    artifact = open_artifact(path)
    largest: dict[str, int | None] = {}
    unknown: dict[str, str] = {}
    known: set[str] = set()
    for model in artifact.models:
        facts = read_model(model, launch_file)
        for part in facts.damaged:
            raise KernelscopeError(part.what, where=part.position.file, try_this="the package is damaged; rebuild it")
        for wrapper in facts.wrappers:
            known |= {s.name for s in wrapper.symbols} | {s.source for s in wrapper.symbols}
            _wrapper_bounds(SizeLimits(wrapper, model, device_memory), fixed, largest, unknown)
    for name in fixed:
        if name not in known:
            raise KernelscopeError(
                f"no size is called {name}", where=path, try_this=f"known are {', '.join(sorted(known)) or 'none'}"
            )
    return BoundsResult(fixed, {n: v for n, v in largest.items() if n not in unknown}, unknown)


def _wrapper_bounds(
    limits: SizeLimits, fixed: Mapping[str, int], largest: dict[str, int | None], unknown: dict[str, str]
) -> None:
    values = {s.name: fixed.get(s.name, fixed.get(s.source)) for s in limits.symbols}
    ranges: dict[str, Range] = {}
    for symbol in limits.symbols:
        value = values[symbol.name]
        ranges[symbol.name] = (symbol.minimum or 0,) * 2 if value is None else (value, value)
    for symbol in limits.symbols:
        if values[symbol.name] is None:
            limit = limits.largest(symbol, ranges)
            if limit.unknown is not None:
                unknown.setdefault(symbol.name, limit.unknown)
            keep_least(largest, {symbol.name: limit.largest})
