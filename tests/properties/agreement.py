"""The analysis of a case against brute force: disagreements, and how much of what is safe was proved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from random import Random

from kernelscope.audit.launch_analysis import LaunchAnalyser, LaunchAnalysis, Violation, full_ranges
from kernelscope.audit.results import Verdict
from kernelscope.launches.launch import Symbol
from tests.properties.exhaustive import Event, Exhaustive
from tests.properties.kernel_texts import Text, case_of, draw_text
from tests.properties.narrow_programs import Case, draw

Sizes = dict[str, int]
MOST_POINTS = 40_000


@dataclass(frozen=True, slots=True)
class Agreement:
    """What came of one case. `vacuous`: no size fits into memory. `disagreements`: empty when the analysis is right."""

    verdict: Verdict
    is_safe: bool
    vacuous: bool
    disagreements: tuple[str, ...]


class Comparison:
    """Compares one case."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.brute = Exhaustive(case.program, case.launch)
        self._first: dict[tuple[int, ...], Event | None] = {}

    def events(self, sizes: Sizes) -> Iterator[Event]:
        """All differences at these sizes; none where the tensors don't fit."""
        if self._fits(sizes):
            yield from self.brute.events(sizes)

    def _fits(self, sizes: Sizes) -> bool:
        return self.case.memory is None or self.brute.bytes_used(sizes) <= self.case.memory

    def first_event(self, sizes: Sizes) -> Event | None:
        """A difference at these sizes, if there is any."""
        key = tuple(sizes[s.name] for s in self.case.symbols)
        if key not in self._first:
            self._first[key] = next(self.events(sizes), None)
        return self._first[key]

    def all_sizes(self) -> Iterator[Sizes]:
        for values in product(*(_values(s) for s in self.case.symbols)):
            yield {s.name: v for s, v in zip(self.case.symbols, values, strict=True)}

    def agreement(self) -> Agreement:
        analysis = self._analyser(full_ranges(self.case.symbols)).run()
        verdict = _verdict(analysis)
        unsafe = next((s for s in self.all_sizes() if self.first_event(s) is not None), None)
        found: list[str] = []
        if verdict is Verdict.SAFE and unsafe is not None:
            found.append(f"called safe, but at {unsafe}: {self.first_event(unsafe)}")
        for violation in analysis.violations:
            found.extend(self._witness_problems(analysis, violation))
        for symbol in self.case.symbols:
            found.extend(self._threshold_problems(symbol))
        if analysis.impossible and any(self._fits(sizes) and self.brute.points(sizes) for sizes in self.all_sizes()):
            found.append("no size is said to launch within memory, but some do")
        return Agreement(verdict, unsafe is None, analysis.impossible, tuple(found))

    def _analyser(self, ranges: Mapping[str, tuple[int, int]]) -> LaunchAnalyser:
        return LaunchAnalyser(self.case.program, self.case.launch, self.case.symbols, ranges, self.case.memory)

    def _witness_problems(self, analysis: LaunchAnalysis, violation: Violation) -> Iterator[str]:
        trigger = violation.trigger
        if trigger is None or trigger.failure is None:
            return
        names = analysis.model.symbol_names
        sizes = {names[number]: value for number, value in trigger.sizes.items()}
        failure = trigger.failure
        requirement = violation.requirement.requirement if violation.requirement is not None else None
        self.brute.extra_values = set(failure.loaded.values())
        anywhere = requirement is None or requirement.access is None
        if not any(anywhere or e.program_id == failure.program_id for e in self.events(sizes)):
            yield f"no such failure at {sizes}: {failure}"

    def _threshold_problems(self, symbol: Symbol) -> Iterator[str]:
        """`safe_up_to` with the other symbols at their minimum: every size up to it is safe."""
        ranges = full_ranges(self.case.symbols)
        fixed = {n: r if n == symbol.name else (r[0], r[0]) for n, r in ranges.items()}
        analyser = self._analyser(fixed)
        result = analyser.result
        if analyser.unbounded() or result.collected.too_many_cases or result.impossible:
            return
        threshold = analyser.safe_up_to(symbol.name)
        others = {n: r[0] for n, r in fixed.items()}
        for value in _values(symbol):
            if threshold is not None and value > threshold:
                break
            sizes = {**others, symbol.name: value}
            event = self.first_event(sizes)
            if event is not None:
                yield f"safe up to {symbol.name} = {threshold}, but at {sizes}: {event}"
                break


def _values(symbol: Symbol) -> range:
    assert symbol.minimum is not None and symbol.maximum is not None
    return range(symbol.minimum, symbol.maximum + 1, symbol.step)


def _verdict(analysis: LaunchAnalysis) -> Verdict:
    if any(v.trigger is not None for v in analysis.violations):
        return Verdict.UNSAFE
    if analysis.violations or analysis.collected.too_many_cases or analysis.impossible:
        return Verdict.UNKNOWN
    return Verdict.SAFE


def compare(case: Case) -> Agreement:
    """The agreement of analysis and brute force on one case."""
    return Comparison(case).agreement()


def small_case(random: Random) -> Case:
    """A random case with few enough points for brute force."""
    return _first_small(lambda: draw(random))


def small_kernel(random: Random) -> tuple[Text, Case]:
    """A random kernel text with few enough points for brute force, and the case read from it."""
    texts: list[Text] = []

    def drawn() -> Case:
        texts.append(draw_text(random))
        return case_of(texts[-1])

    case = _first_small(drawn)
    return texts[-1], case


def _first_small(drawn: Callable[[], Case]) -> Case:
    while True:
        case = drawn()
        comparison = Comparison(case)
        if sum(comparison.brute.points(sizes) for sizes in comparison.all_sizes()) <= MOST_POINTS:
            return case
