"""How large one size of a model may be while the others stay within given ranges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernelscope.artifact.contents import Model
from kernelscope.audit.kernels import KernelReader, ProgramChoice, Readable
from kernelscope.audit.launch_analysis import NO_LIMIT, LaunchAnalyser
from kernelscope.audit.results import keep_least
from kernelscope.bounds.space import Range
from kernelscope.errors import KernelscopeError
from kernelscope.launches.launch import EmbeddedKernel, Launch, Symbol, WrapperFacts


@dataclass(frozen=True, slots=True)
class SizeLimit:
    """`largest`: the value up to which everything is proved safe (None: no limit below 2**40; below the symbol's minimum:
    no value is). `unknown`: why nothing could be proved about some launch."""

    largest: int | None
    unknown: str | None = None


class SizeLimits:
    """The limits of the sizes of one wrapper, whose kernels are read once."""

    def __init__(self, wrapper: WrapperFacts, model: Model, device_memory: int | None = None) -> None:
        self.symbols = wrapper.symbols
        self._launches = wrapper.launches
        self._sources = {k.launcher_name: k for k in wrapper.kernels} | {k.name: k for k in wrapper.kernels}
        self._reader = KernelReader(model.binaries)
        self._device_memory = device_memory

    def largest(self, symbol: Symbol, others: Mapping[str, Range]) -> SizeLimit:
        """The largest safe value of `symbol` with every other size anywhere in its range (by name, inclusive)."""
        ranges = {**others, symbol.name: (symbol.minimum or 0, NO_LIMIT - 1)}
        best: dict[str, int | None] = {}
        unknown: str | None = None
        for launch in self._launches:
            limit = self._of_launch(launch, symbol, ranges, shorten=True)
            unknown = unknown or limit.unknown
            keep_least(best, {symbol.name: limit.largest})
        return SizeLimit(best.get(symbol.name), unknown)

    def proves(self, ranges: Mapping[str, Range]) -> bool:
        """Whether everything is proved safe with every size anywhere in its range."""
        return all(
            self._of_launch(launch, symbol, ranges, shorten=False) == SizeLimit(None)
            for symbol in self.symbols[:1] for launch in self._launches
        )  # fmt: skip

    def _of_launch(self, launch: Launch, symbol: Symbol, ranges: Mapping[str, Range], *, shorten: bool) -> SizeLimit:
        embedded: EmbeddedKernel | None = self._sources.get(launch.launcher_name) or self._sources.get(launch.kernel)
        kernel = self._reader.read(embedded) if embedded is not None else None
        if not isinstance(kernel, Readable):
            return SizeLimit(None, f"the source of {launch.kernel} cannot be read")
        try:
            choice = self._reader.programs(kernel, launch)
        except KernelscopeError as error:
            return SizeLimit(None, error.what)
        least, most = ranges[symbol.name]
        limit = self._of_choice(choice, symbol, ranges)
        if limit.largest is None or limit.unknown is not None or not shorten:
            return limit
        if limit.largest < least:
            return self._by_bisection(choice, symbol, ranges, least, most)
        return self._sharpened(choice, symbol, ranges, limit.largest, most)

    def _sharpened(
        self, choice: ProgramChoice, symbol: Symbol, ranges: Mapping[str, Range], largest: int, most: int
    ) -> SizeLimit:
        """The limit, found again over a range of twice its length where the next size by itself is proved safe."""
        following, end = largest + symbol.step, min(most, 2 * largest + symbol.step)
        alone = self._of_choice(choice, symbol, {**ranges, symbol.name: (following, following)})
        if following > most or alone.largest is not None:
            return SizeLimit(largest)
        again = self._of_choice(choice, symbol, {**ranges, symbol.name: (ranges[symbol.name][0], end)})
        return SizeLimit(max(largest, end if again.largest is None else again.largest))

    def _by_bisection(
        self, choice: ProgramChoice, symbol: Symbol, ranges: Mapping[str, Range], least: int, most: int
    ) -> SizeLimit:
        """The largest end up to which the whole range is proved: a shorter range may be proved where no start of the full
        one is, since its expressions simplify further."""
        good, bad = least - 1, most
        while bad - good > 1:
            middle = (good + bad) // 2 if bad <= 4 * max(1, good) else _geometric_mean(good, bad)
            if self._of_choice(choice, symbol, {**ranges, symbol.name: (least, middle)}).largest is None:
                good = middle
            else:
                bad = middle
        return SizeLimit(good)

    def _of_choice(self, choice: ProgramChoice, symbol: Symbol, ranges: Mapping[str, Range]) -> SizeLimit:
        best: int | None = None
        problem: str | None = None
        for program, blocked in zip(choice.programs, choice.launches, strict=True):
            analyser = LaunchAnalyser(program, blocked, self.symbols, ranges, self._device_memory)
            if program.compile_errors:
                return SizeLimit(ranges[symbol.name][0] - 1)
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
        return SizeLimit(best, problem)


def _geometric_mean(low: int, high: int) -> int:
    """A power of two about as many doublings from `low` as from `high`, and strictly between for `high > 4 * low`."""
    return 1 << (max(1, low).bit_length() + high.bit_length() - 1) // 2
