"""One launch: its claims, whether they are proved, thresholds, and witnesses where they are not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kernelscope.audit.claims import BUFFER_RULE, RequirementClaims, claims_of, unfollowed_reason
from kernelscope.audit.grid import GridClaim, grid_claims, launchable
from kernelscope.audit.host import LaunchModel, model_of
from kernelscope.audit.obligations import Collected, Collector
from kernelscope.audit.reachable import pointers_written
from kernelscope.audit.witness import Failure, WitnessSearch
from kernelscope.bounds.polynomial import Polynomial
from kernelscope.bounds.proof import Claim, Prover
from kernelscope.bounds.space import LARGEST_SIZE, Range
from kernelscope.launches.launch import Launch, Symbol
from kernelscope.triton_source.index_program import IndexProgram, UnknownReason

#: `bounds` reports no limit where every size below this is safe.
NO_LIMIT = 1 << 40


@dataclass(frozen=True, slots=True)
class Trigger:
    """Sizes (by symbol atom) at which a requirement fails, with the checked failure."""

    sizes: Mapping[int, int]
    failure: Failure | None  # None: a grid finding, which needs no evaluation
    bytes_used: int


@dataclass(frozen=True, slots=True)
class Violation:
    """A requirement (or grid limit) that is not proved for all sizes considered."""

    claims: tuple[Claim, ...]
    requirement: RequirementClaims | None
    grid: GridClaim | None
    trigger: Trigger | None
    reason: UnknownReason | None
    detail: str
    largest_safe: Mapping[str, int | None]


@dataclass(slots=True)
class LaunchAnalysis:
    """Everything known about one launch over the ranges considered."""

    launch: Launch
    program: IndexProgram
    model: LaunchModel
    collected: Collected
    requirements: list[RequirementClaims]
    grids: list[GridClaim]
    violations: list[Violation] = field(default_factory=list)
    rules: set[str] = field(default_factory=set)
    impossible: bool = False  # no size in the ranges fits into memory
    box: Mapping[int, Range] = field(default_factory=dict)  # the sizes considered, by symbol atom


def full_ranges(symbols: Sequence[Symbol], device_memory: int | None = None) -> dict[str, Range]:
    """The declared range of each symbol. Without an upper bound: any int64 size, for a dimension of an input as many
    elements as the device has bytes, since the input must be there."""
    largest = LARGEST_SIZE if device_memory is None else device_memory
    return {
        s.name: (
            0 if s.minimum is None else s.minimum,
            (largest if s.source.startswith("input") else LARGEST_SIZE) if s.maximum is None else s.maximum,
        )
        for s in symbols
    }


def _launching(launch: Launch, symbols: Sequence[Symbol], ranges: Mapping[str, Range]) -> Mapping[str, Range]:
    """The ranges without sizes of 0 at which the grid is empty, so that nothing is launched."""
    raised = dict(ranges)
    for name, (low, high) in ranges.items():
        if low == 0 < high:
            empty = model_of(launch, symbols, {**ranges, name: (0, 0)}, None)
            if any(empty.space.maximum(dimension) <= 0 for dimension in empty.grid):
                raised[name] = (1, high)
    return raised


class LaunchAnalyser:
    """Analyses one launch over given ranges of the symbols."""

    def __init__(
        self, program: IndexProgram, launch: Launch, symbols: Sequence[Symbol], ranges: Mapping[str, Range],
        device_memory: int | None,
    ) -> None:  # fmt: skip
        self.symbols = symbols
        self.model = model_of(launch, symbols, _launching(launch, symbols, ranges), device_memory)
        self.model.forget_values(pointers_written(program))
        self._thresholds: dict[object, dict[str, int | None]] = {}
        space, steps = self.model.space, self.model.steps
        memory = () if self.model.memory is None else (self.model.memory, *self._inputs_fit(device_memory or 0))
        memory += self.model.conditions
        self.grid_prover = Prover(space, memory, steps)
        #: Only sizes whose grid CUDA launches: beyond, the launch fails, which is a finding of its own.
        self.prover = Prover(space, memory + launchable(self.model), steps)
        self.box: dict[int, Range] = self.model.sizes_box()
        inside = self.grid_prover.contracted(self.box)
        self.model.space.set_box(inside if inside is not None else self.box)
        self.collector = Collector(program, self.model)
        collected = Collected() if program.compile_errors else self.collector.collect()
        requirements = [c for r in collected.requirements if (c := claims_of(r)) is not None]
        self.result = LaunchAnalysis(launch, program, self.model, collected, requirements, [])
        self.result.impossible = inside is None
        self.result.grids = grid_claims(self.model, program)
        if inside is not None:
            self.box = inside
        self.result.box = dict(self.box)

    def safe_up_to(self, symbol: str) -> int | None:
        """The largest value of a symbol up to which everything is proved (None: the whole range); requirements without
        any bound are not counted."""
        number = self.model.symbols[symbol]
        claims = [c for r in self.result.requirements for c in r.claims]
        grids = [c for g in self.result.grids for c in g.claims]
        found = [
            self.prover.largest_safe(claims, number, self.box),
            self.grid_prover.largest_safe(grids, number, self.box),
        ]
        return min((f for f in found if f is not None), default=None)

    def _inputs_fit(self, device_memory: int) -> tuple[Polynomial, ...]:
        """The dimensions of one input multiply to at most as many elements as the device has bytes."""
        products: dict[str, Polynomial] = {}
        for symbol in {s.source: s for s in self.symbols}.values():
            tensor, bracket, _ = symbol.source.partition("[")
            if bracket and tensor.startswith("input") and symbol.source.endswith("]"):
                size = Polynomial.atom(self.model.symbols[symbol.name])
                products[tensor] = products.get(tensor, Polynomial.constant(1)) * size
        return tuple(Polynomial.constant(device_memory) - p for p in products.values() if len(p.atoms()) > 1)

    def unbounded(self) -> list[RequirementClaims]:
        return [r for r in self.result.requirements if r.missing is not None]

    # -- verdict ----------------------------------------------------------------------------------------------------

    def run(self) -> LaunchAnalysis:
        """Prove every claim over the ranges, or find a witness, or say why neither."""
        if self.result.impossible:
            return self.result
        for requirement in self.result.requirements:
            if requirement.rule:
                self.result.rules.add(BUFFER_RULE)
            if requirement.missing is not None or not self.prover.proves(requirement.claims, self.box):
                self._judge(requirement.claims, requirement, None)
        self.prover = self.grid_prover
        for grid in self.result.grids:
            if not self.grid_prover.proves(grid.claims, self.box):
                self._judge(grid.claims, None, grid)
        self._drop_implied()
        return self.result

    def is_proved(self) -> bool:
        """Is everything read, and every claim proved over the ranges? Takes less time than `run` where one is not."""
        program, collected = self.result.program, self.result.collected
        if program.unmodelled or program.compile_errors or collected.not_followed or collected.too_many_cases:
            return False
        return self.result.impossible or (
            all(r.missing is None and self.prover.proves(r.claims, self.box) for r in self.result.requirements)
            and all(self.grid_prover.proves(g.claims, self.box) for g in self.result.grids)
        )

    def _drop_implied(self) -> None:
        """Drop what is not proved by itself but is proved wherever the conditions of the findings hold."""
        conditions = self.grid_prover.constraints
        for violation in self.result.violations:
            if violation.trigger is not None:
                conditions += tuple(c for claim in violation.claims if (c := self._as_condition(claim)) is not None)
        of_grid, of_kernel = (
            Prover(self.model.space, tuple(dict.fromkeys(facts)), self.model.steps)
            for facts in (conditions, conditions + launchable(self.model))
        )
        self.result.violations = [
            v for v in self.result.violations
            if v.trigger is not None or not v.claims or v.reason is not UnknownReason.WEAK_PROOF
            or not (of_kernel if v.grid is None else of_grid).proves(v.claims, self.box)
        ]  # fmt: skip

    def _as_condition(self, claim: Claim) -> Polynomial | None:
        """A polynomial in size symbols that is non-negative exactly where the claim holds, if there is one."""
        claim.space.set_box(self.box)
        for candidate in claim.candidates:
            least = all(claim.space.maximum(candidate - other) <= 0 for other in claim.candidates)
            if least and all(n in self.box for n in candidate.atoms()):
                return Polynomial.constant(claim.limit) - candidate
        return None

    def _judge(
        self, claims: Sequence[Claim], requirement: RequirementClaims | None, grid: GridClaim | None
    ) -> None:
        safe = self.largest_safe(claims) if claims else {}
        trigger: Trigger | None = None
        for sizes in self._trial_sizes(claims, safe):
            found = self._trigger(sizes, requirement, grid)
            if found is not None and (trigger is None or found.bytes_used < trigger.bytes_used):
                trigger = found
        if trigger is None and claims:
            trigger = next((t for s in self._beyond_failing(claims) if (t := self._trigger(s, requirement, grid))), None)
        reason, detail = None, ""
        if trigger is None:
            reason, detail = UnknownReason.WEAK_PROOF, "neither proved for all sizes considered nor seen to fail"
            if requirement is not None:
                cause = requirement.missing or unfollowed_reason(requirement.requirement)
                reason, detail = cause if cause is not None else (reason, detail)
        self.result.violations.append(Violation(tuple(claims), requirement, grid, trigger, reason, detail, safe))

    def _trigger(
        self, sizes: Mapping[int, int], requirement: RequirementClaims | None, grid: GridClaim | None
    ) -> Trigger | None:
        if not self._in_memory(sizes):
            return None
        failure: Failure | None = None
        if requirement is not None:
            search = WitnessSearch(self.result.program, self.model, requirement, sizes)
            failure = search.find()
            if failure is None:
                return None
        elif grid is not None and not grid.fails_at(sizes):
            return None
        self.model.space.set_box({n: (v, v) for n, v in sizes.items()})
        return Trigger(sizes, failure, self.model.space.maximum(self.model.bytes_used))

    def _in_memory(self, sizes: Mapping[int, int]) -> bool:
        return self.prover.contracted({n: (v, v) for n, v in sizes.items()}) is not None

    # -- sizes ------------------------------------------------------------------------------------------------------

    def _trial_sizes(self, claims: Sequence[Claim], safe: Mapping[str, int | None]) -> Iterator[dict[int, int]]:
        """Sizes at which the claims just fail: one symbol raised with the others at their minimum, all raised together,
        the prover's own counterexample, and one raised with the others at their maximum."""
        minimum = {n: r[0] for n, r in self.box.items()}
        if not claims:
            yield minimum
            yield {n: min(r[1], max(r[0], 64)) for n, r in self.box.items()}
            return
        if not self._holds_at(claims, minimum):
            yield minimum
            return
        relevant = self._relevant(claims)
        found = False
        for number in relevant:
            sizes = self._just_beyond(claims, number, safe, minimum)
            if sizes is not None:
                found = True
                yield sizes
                continue
            for others in (minimum, {n: r[1] for n, r in self.box.items()}):
                sizes = self._first_failing(claims, number, others)
                if sizes is not None:
                    found = True
                    yield sizes
                    break
        if not found or len(relevant) > 1:
            sizes = self._first_failing_together(claims, relevant, minimum)
            if sizes is not None:
                found = True
                yield sizes
        if not found:
            example = self.prover.counterexample(claims, self.box)
            if example is not None and all(isinstance(v, int) for v in example.values()):
                yield dict(example)  # type: ignore[arg-type]

    def _beyond_failing(self, claims: Sequence[Claim]) -> Iterator[dict[int, int]]:
        """Sizes somewhat larger than those at which the claims just fail: a wrap may show only later."""
        minimum = {n: r[0] for n, r in self.box.items()}
        for number in self._relevant(claims):
            low, high = self.box[number]
            first, step = self.model.steps.get(number, (low, 1))
            high = self._largest_in_memory(number, high - (high - first) % step, minimum)
            if high < low or self._holds_at(claims, {**minimum, number: high}):
                continue
            sizes = self._first_failing(claims, number, minimum)
            failing = low if sizes is None else sizes[number]
            for value in dict.fromkeys((failing + step, 2 * failing, 4 * failing, high)):
                if failing < value <= high:
                    yield {**minimum, number: value - (value - first) % step}

    def _just_beyond(
        self, claims: Sequence[Claim], number: int, safe: Mapping[str, int | None], minimum: Mapping[int, int]
    ) -> dict[int, int] | None:
        """The size after the largest safe one, the others at their minimum, if the claims fail there."""
        last = safe.get(self.model.symbol_names.get(number, ""))
        if last is None or last < self.box[number][0]:
            return None
        sizes = {**minimum, number: last + self.model.steps.get(number, (0, 1))[1]}
        if sizes[number] > self.box[number][1] or not self._in_memory(sizes) or self._holds_at(claims, sizes):
            return None
        return sizes

    def _relevant(self, claims: Sequence[Claim]) -> list[int]:
        found: set[int] = set()
        for claim in claims:
            for candidate in claim.candidates:
                found |= claim.space.atoms_below(candidate)
        return sorted(found & set(self.box))

    def _holds_at(self, claims: Sequence[Claim], sizes: Mapping[int, int]) -> bool:
        return self.prover.holds_at(claims, {n: (v, v) for n, v in sizes.items()})

    def _first_failing(self, claims: Sequence[Claim], number: int, others: Mapping[int, int]) -> dict[int, int] | None:
        """The least value of one symbol at which the claims fail within memory, the others as given."""
        low, high = self.box[number]
        first, step = self.model.steps.get(number, (low, 1))
        high -= (high - first) % step
        high = self._largest_in_memory(number, high, others)
        if high < low or self._holds_at(claims, {**others, number: high}):
            return None
        good, bad = (low - first) // step - 1, (high - first) // step
        while bad - good > 1:
            middle = (good + bad) // 2
            if self._holds_at(claims, {**others, number: first + middle * step}):
                good = middle
            else:
                bad = middle
        return {**others, number: first + bad * step}

    def _largest_in_memory(self, number: int, high: int, others: Mapping[int, int]) -> int:
        low = self.box[number][0]
        if self._in_memory({**others, number: high}):
            return high
        if not self._in_memory({**others, number: low}):
            return low - 1
        step = self.model.steps.get(number, (low, 1))[1]
        good, bad = 0, (high - low) // step
        while bad - good > 1:
            middle = (good + bad) // 2
            if self._in_memory({**others, number: low + middle * step}):
                good = middle
            else:
                bad = middle
        return low + good * step

    def _first_failing_together(
        self, claims: Sequence[Claim], relevant: Sequence[int], minimum: Mapping[int, int]
    ) -> dict[int, int] | None:
        """The least common value to which all relevant symbols can be raised (each to its own maximum) so that the
        claims fail."""

        def raised(value: int) -> dict[int, int]:
            result = dict(minimum)
            for number in relevant:
                low, high = self.box[number]
                clipped = min(high, max(low, value))
                first, step = self.model.steps.get(number, (low, 1))
                result[number] = clipped - (clipped - first) % step
            return result

        good = 0
        bad = max((self.box[n][1] for n in relevant), default=0)
        if not self._in_memory(raised(bad)):
            lo, hi = 0, bad
            while hi - lo > 1:
                middle = (lo + hi) // 2
                lo, hi = (middle, hi) if self._in_memory(raised(middle)) else (lo, middle)
            bad = lo
        if self._holds_at(claims, raised(bad)):
            return None
        while bad - good > 1:
            middle = (good + bad) // 2
            if self._holds_at(claims, raised(middle)):
                good = middle
            else:
                bad = middle
        return raised(bad)

    # -- thresholds -------------------------------------------------------------------------------------------------

    def largest_safe(self, claims: Sequence[Claim]) -> dict[str, int | None]:
        """By symbol that matters: the largest value up to which all claims are proved, the others anywhere in their
        ranges if that leaves any safe value, else at their minimum. None: no limit within the range."""
        key = tuple((c.candidates, c.limit) for c in claims), self.prover is self.grid_prover
        of_sizes_only = all(claims[0].space.atoms[n].is_symbol for c in claims for p in c.candidates for n in p.atoms())
        if of_sizes_only and key in self._thresholds:
            return self._thresholds[key]
        result = self._largest_safe(claims)
        if of_sizes_only:
            self._thresholds[key] = result
        return result

    def _largest_safe(self, claims: Sequence[Claim]) -> dict[str, int | None]:
        result: dict[str, int | None] = {}
        names = self.model.symbol_names
        for number in self._relevant(claims):
            low = self.box[number][0]
            declared = {s.name: s.maximum for s in self.symbols}
            others_bounded = all(
                declared.get(names.get(n, "")) is not None or r[0] == r[1] for n, r in self.box.items() if n != number
            )
            safe: int | None = low - 1
            if others_bounded:
                safe = self.prover.largest_safe(claims, number, self.box)
            if safe is not None and safe < low:
                slice_ = {n: (r[0], r[0]) if n != number else r for n, r in self.box.items()}
                safe = self.prover.largest_safe(claims, number, slice_)
            if number in names:
                result[names[number]] = safe
        return result
