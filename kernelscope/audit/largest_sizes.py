"""The largest safe value of each size, the others fixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernelscope.artifact import open_artifact
from kernelscope.audit.kernels import KernelReader, Readable
from kernelscope.audit.launch_analysis import NO_LIMIT, LaunchAnalyser
from kernelscope.audit.results import BoundsResult
from kernelscope.audit.run import keep_least, read_model
from kernelscope.bounds.space import Range
from kernelscope.errors import KernelscopeError
from kernelscope.launches.launch import EmbeddedKernel, Launch, Symbol, WrapperFacts


def largest_safe_sizes(
    path: str,
    *,
    fixed: Mapping[str, int] | None = None,
    device_memory: int | None = None,
    launch_file: str | None = None,
) -> BoundsResult:
    """The largest safe value of every free symbol, each with the others fixed as given or at their minimum; declared
    upper bounds do not count. Raises KernelscopeError for an unreadable artifact or an unknown name."""
    fixed = dict(fixed or {})
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
            _wrapper_bounds(wrapper, KernelReader(model.binaries), fixed, device_memory, largest, unknown)
    for name in fixed:
        if name not in known:
            raise KernelscopeError(
                f"no size is called {name}", where=path, try_this=f"known are {', '.join(sorted(known)) or 'none'}"
            )
    return BoundsResult(fixed, {n: v for n, v in largest.items() if n not in unknown}, unknown)


def _wrapper_bounds(
    wrapper: WrapperFacts, reader: KernelReader, fixed: Mapping[str, int], device_memory: int | None,
    largest: dict[str, int | None], unknown: dict[str, str],
) -> None:  # fmt: skip
    sources = {k.launcher_name: k for k in wrapper.kernels} | {k.name: k for k in wrapper.kernels}
    values = {s.name: fixed.get(s.name, fixed.get(s.source)) for s in wrapper.symbols}
    free = [s for s in wrapper.symbols if values[s.name] is None]
    for symbol in free:
        ranges: dict[str, Range] = {}
        for other in wrapper.symbols:
            value = values[other.name]
            least = other.minimum or 0
            if other is symbol:
                ranges[other.name] = (least, NO_LIMIT - 1)
            else:
                ranges[other.name] = (value, value) if value is not None else (least, least)
        best: int | None = None
        for launch in wrapper.launches:
            found, problem = _launch_bound(reader, sources, launch, wrapper.symbols, symbol, ranges, device_memory)
            if problem is not None:
                unknown.setdefault(symbol.name, problem)
            if found is not None:
                best = found if best is None else min(best, found)
        keep_least(largest, {symbol.name: best})


def _launch_bound(
    reader: KernelReader, sources: Mapping[str, EmbeddedKernel], launch: Launch, symbols: Sequence[Symbol],
    symbol: Symbol, ranges: Mapping[str, Range], device_memory: int | None,
) -> tuple[int | None, str | None]:  # fmt: skip
    embedded = sources.get(launch.launcher_name) or sources.get(launch.kernel)
    kernel = reader.read(embedded) if embedded is not None else None
    if not isinstance(kernel, Readable):
        return None, f"the source of {launch.kernel} cannot be read"
    try:
        choice = reader.programs(kernel, launch)
    except KernelscopeError as error:
        return None, error.what
    best: int | None = None
    problem: str | None = None
    for program, blocked in zip(choice.programs, choice.launches, strict=True):
        analyser = LaunchAnalyser(program, blocked, symbols, ranges, device_memory)
        if program.compile_errors:
            return ranges[symbol.name][0] - 1, None
        if program.unmodelled:
            problem = program.unmodelled[0].detail
        for part in analyser.result.collected.not_followed.values():
            problem = part.detail
        for requirement in analyser.unbounded():
            assert requirement.missing is not None
            problem = requirement.missing[1]
        found = analyser.safe_up_to(symbol.name)
        if found is not None:
            best = found if best is None else min(best, found)
    return best, problem
