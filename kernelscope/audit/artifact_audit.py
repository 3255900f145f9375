"""One artifact: its sources read, every kernel judged under every launch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernelscope.artifact.contents import Artifact, Damage, Model, SourceFile, SourceRole
from kernelscope.audit.evidence import proof_of
from kernelscope.audit.findings import findings_of, unknown_at
from kernelscope.audit.guards import read_guards, tell_guarded, with_guards
from kernelscope.audit.identity import finding_id
from kernelscope.audit.kernel_text import KernelText
from kernelscope.audit.kernels import KernelReader, ProgramChoice, Readable, Unreadable
from kernelscope.audit.launch_analysis import LaunchAnalyser, LaunchAnalysis, full_ranges
from kernelscope.audit.overwide import overwide_note
from kernelscope.audit.results import (
    ArtifactResult,
    Finding,
    KernelResult,
    KernelSource,
    Location,
    ModelResult,
    Proof,
    UnknownFinding,
    UnsafeFinding,
    UsedBound,
    Verdict,
    keep_least,
    verdict_of,
)
from kernelscope.bounds.space import Range
from kernelscope.errors import KernelscopeError
from kernelscope.launches.launch import (
    BoundOrigin,
    DamagedPart,
    EmbeddedKernel,
    Launch,
    SourcePosition,
    Symbol,
    WrapperFacts,
)
from kernelscope.triton_source.index_program import IndexProgram, ProgramId, Span, UnknownReason
from kernelscope.triton_source.scalar_types import ScalarType

UserRange = tuple[int | None, int | None]
Progress = Callable[[int, int, str], None]


#: Fewer kernels are judged sooner than other processes have started.
_WORTH_PROCESSES = 48

#: A kernel's result, and by size the largest value up to which it is safe.
KernelVerdict = tuple[KernelResult, dict[str, int | None]]


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """What `audit` was asked for, by the names of its arguments."""

    ranges: dict[str, UserRange]
    device_memory: int | None
    launch_file: str | None
    range_origin: BoundOrigin
    only: frozenset[str] | None
    guards: tuple[str, ...]


#: An artifact's result with the bounds and rules that it leans on.
ArtifactVerdict = tuple[ArtifactResult, tuple[UsedBound, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class WrapperPlace:
    """Which wrapper of an artifact: the numbers of its model and of the wrapper in it; `guarded`: under the guards given."""

    model: int
    wrapper: int
    guarded: bool


#: Judges kernels of one wrapper elsewhere, by launcher, in order; the second value is the rules that were used.
Elsewhere = Callable[[WrapperPlace, Sequence[str]], Iterator[tuple[KernelVerdict, Iterable[str]]]]


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A model's wrappers as facts, and the parts that could not be read."""

    model: Model
    wrappers: tuple[WrapperFacts, ...]
    damaged: tuple[DamagedPart, ...]
    orphans: tuple[SourceFile, ...] = ()  # kernels without launch facts


# -- reading ----------------------------------------------------------------------------------------------------------


def read_model(model: Model, launch_file: str | None, only: frozenset[str] | None = None) -> ModelFacts:
    """All wrappers of a model; a kernel source needs `launch_file` to have launches. `only`: launchers that are asked
    about, so that others need not be read."""
    wrappers: list[WrapperFacts] = []
    orphans: list[SourceFile] = []
    for source in model.sources:
        match source.role:
            case SourceRole.CPP_WRAPPER:
                from kernelscope.cpp_wrapper import read_wrapper

                wrappers.append(read_wrapper(source.text, source.path, only))
            case SourceRole.PYTHON_WRAPPER:
                from kernelscope.launches import read_python_wrapper

                wrappers.append(read_python_wrapper(source.text, source.path))
            case SourceRole.KERNEL if launch_file is not None:
                wrappers.append(_with_launch_file(source, launch_file))
            case SourceRole.KERNEL:
                orphans.append(source)
    damaged = tuple(part for wrapper in wrappers for part in wrapper.damaged)
    return ModelFacts(model, tuple(wrappers), damaged, tuple(orphans))


def _with_launch_file(source: SourceFile, launch_file: str) -> WrapperFacts:
    from kernelscope.launches import read_launch_file

    try:
        text = Path(launch_file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise KernelscopeError(
            "the launch file cannot be read", where=launch_file, try_this="give a TOML file with the launch facts"
        ) from error
    return read_launch_file(text, launch_file, source.text, source.path)


# -- one artifact -----------------------------------------------------------------------------------------------------


class ArtifactAuditor:
    """Judges the kernels of one artifact; `elsewhere`: in other processes, where there are enough of them."""

    def __init__(
        self, artifact: Artifact, settings: AuditSettings, progress: Progress | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> None:  # fmt: skip
        self.artifact = artifact
        self.settings = settings
        self.progress = progress
        self.elsewhere = elsewhere
        self.used: set[UsedBound] = set()
        self.rules: set[str] = set()
        self._named: set[str] = set()

    def run(self, facts: Sequence[ModelFacts]) -> ArtifactVerdict:
        models = tuple(self._model(number, f) for number, f in enumerate(facts))
        problems = [self._damage(d) for d in self.artifact.damaged]
        if problems:
            name = "(archive)"
            models = (*models, ModelResult(name, Verdict.UNKNOWN, None, (), (), tuple(problems), {}))
        verdict = min((m.verdict for m in models), default=Verdict.UNKNOWN)
        result = ArtifactResult(self.artifact.path, verdict, models, patched=self.artifact.patched)
        return result, tuple(self.used), tuple(self.rules)

    def some_of(self, facts: Sequence[ModelFacts], place: WrapperPlace, launchers: Sequence[str]) -> list[KernelVerdict]:
        """The verdicts of a few kernels of one wrapper."""
        model = facts[place.model]
        wrapper = model.wrappers[place.wrapper]
        symbols = tuple(self._ranged(s) for s in wrapper.symbols)
        if place.guarded:
            wrapper = with_guards(wrapper, read_guards(self.settings.guards, symbols))
        return list(self._here(_launches_of(wrapper), wrapper, symbols, model.model, launchers))

    def _damage(self, damage: Damage) -> Finding:
        location = Location(damage.path, 1, 0, 0, "")
        identity = finding_id(damage.path, "KS903", damage.what, "")
        return UnknownFinding(
            identity, "KS903", location, damage.path, "", UnknownReason.MISSING_FACT, damage.what, ()
        )

    def _model(self, number: int, facts: ModelFacts) -> ModelResult:
        kernels: list[KernelResult] = []
        symbols: dict[str, Symbol] = {}
        largest: dict[str, int | None] = {}
        notes: list[str] = []
        for place, wrapper in enumerate(facts.wrappers):
            named = tuple(self._ranged(s) for s in wrapper.symbols)
            symbols.update((s.name, s) for s in named)
            notes.extend(wrapper.notes)
            results, safe = self._guarded(WrapperPlace(number, place, False), wrapper, named, facts.model)
            kernels.extend(results)
            keep_least(largest, safe)
        findings = [self._damage(d) for d in facts.model.damaged]
        findings += [self._damage(Damage(d.position.file, d.what)) for d in facts.damaged]
        kernels.extend(self._orphan(source) for source in facts.orphans)
        if not kernels and not findings and not facts.wrappers:
            findings.append(self._damage(Damage(self.artifact.path, "no source to audit: no wrapper and no kernel")))
        if any(_is_proved_nowhere(f) for f in (*findings, *(f for k in kernels for f in k.findings))):
            largest = {}
        verdicts = [k.verdict for k in kernels] + [verdict_of(f) for f in findings]
        device = facts.model.device or next((w.device for w in facts.wrappers if w.device), None)
        return ModelResult(
            facts.model.name, min(verdicts, default=Verdict.SAFE), device, tuple(symbols.values()), tuple(kernels),
            tuple(findings), largest, tuple(notes),
        )  # fmt: skip

    def _ranged(self, symbol: Symbol) -> Symbol:
        """The symbol with a range from the command line in place of its own."""
        for key in (symbol.name, symbol.source):
            if key in self.settings.ranges:
                self._named.add(key)
                low, high = self.settings.ranges[key]
                return replace(
                    symbol, minimum=symbol.minimum if low is None else low, maximum=high,
                    origin=self.settings.range_origin,
                )  # fmt: skip
        return symbol

    def _guarded(
        self, place: WrapperPlace, wrapper: WrapperFacts, symbols: tuple[Symbol, ...], model: Model
    ) -> tuple[list[KernelResult], dict[str, int | None]]:
        guards = read_guards(self.settings.guards, symbols)
        plain, largest = self._wrapper(place, wrapper, symbols, model)
        if not guards:
            return plain, largest
        place = replace(place, guarded=True)
        under, largest = self._wrapper(place, with_guards(wrapper, guards), symbols, model)
        return [tell_guarded(*pair, guards) for pair in zip(plain, under, strict=True)], largest

    def _wrapper(
        self, place: WrapperPlace, wrapper: WrapperFacts, symbols: tuple[Symbol, ...], model: Model
    ) -> tuple[list[KernelResult], dict[str, int | None]]:
        self.used.update(UsedBound(s.name, s.minimum, s.maximum, s.origin) for s in symbols)
        groups = _launches_of(wrapper)
        chosen = [n for n in groups if self.settings.only is None or n in self.settings.only]
        if self.elsewhere is not None and len(chosen) >= _WORTH_PROCESSES:
            judged = self._elsewhere(place, chosen)
        else:
            judged = self._here(groups, wrapper, symbols, model, chosen)
        largest: dict[str, int | None] = {}
        results: list[KernelResult] = []
        for number, name in enumerate(chosen):
            if self.progress is not None:
                self.progress(number, len(chosen), name)
            result, safe = next(judged)
            results.append(result)
            keep_least(largest, safe)
        return results, largest

    def _elsewhere(self, place: WrapperPlace, launchers: Sequence[str]) -> Iterator[KernelVerdict]:
        assert self.elsewhere is not None
        for verdict, rules in self.elsewhere(place, launchers):
            self.rules.update(rules)
            yield verdict

    def _here(
        self, groups: Mapping[str, list[Launch]], wrapper: WrapperFacts, symbols: tuple[Symbol, ...], model: Model,
        launchers: Sequence[str],
    ) -> Iterator[KernelVerdict]:  # fmt: skip
        reader = KernelReader(model.binaries)
        ranges = full_ranges(symbols, self.settings.device_memory)
        sources = {k.launcher_name: k for k in wrapper.kernels} | {k.name: k for k in wrapper.kernels}
        for name in launchers:
            launches = groups[name]
            embedded = sources.get(name) or sources.get(launches[0].kernel)
            if embedded is None:
                yield _without_source(name, launches), {}
                continue
            kernel = reader.read(embedded)
            match kernel:
                case Unreadable():
                    yield _unreadable(kernel, launches), {}
                case Readable():
                    yield self._kernel(reader, kernel, launches, symbols, ranges)

    def _kernel(
        self, reader: KernelReader, kernel: Readable, launches: list[Launch], symbols: tuple[Symbol, ...],
        ranges: Mapping[str, Range],
    ) -> KernelVerdict:  # fmt: skip
        name = kernel.embedded.name
        try:
            choices = [reader.programs(kernel, launch) for launch in launches]
            analyses = [a for choice in choices for a in self._analyses(choice, symbols, ranges)]
        except KernelscopeError as error:
            return _failed(kernel, launches, error), {}
        except RecursionError:
            deep = KernelscopeError("the sizes of the kernel nest too deeply", where=kernel.embedded.file)
            return _failed(kernel, launches, deep), {}
        largest: dict[str, int | None] = {}
        proofs: list[Proof] = []
        for analysis in analyses:
            for violation in analysis.violations:
                keep_least(largest, violation.largest_safe)
            if not analysis.violations:
                proof = proof_of(kernel.text, analysis)
                proofs.extend([proof] if proof is not None else [])
        findings = findings_of(name, kernel.text, analyses)
        for finding in findings:
            if isinstance(finding, UnsafeFinding):
                keep_least(largest, finding.largest_safe)
        verdict = min((verdict_of(f) for f in findings), default=Verdict.SAFE)
        width = _index_width(choices[0])
        if verdict is Verdict.SAFE and width == 64 and all(p.largest_value < 1 << 31 for p in proofs):
            note = overwide_note(
                reader, kernel, launches, choices[0].programs[0],
                lambda program, launch: self._analyser(program, launch, symbols, ranges).is_proved(),
            )  # fmt: skip
            findings = (*findings, note) if note is not None else findings
        proofs = sorted(set(proofs), key=lambda p: -p.largest_value / max(1, p.limit))[:1]
        result = KernelResult(
            name, verdict, width, tuple(launches), findings, tuple(proofs), kernel.text.source
        )
        return result, largest

    def _analyses(
        self, choice: ProgramChoice, symbols: tuple[Symbol, ...], ranges: Mapping[str, Range]
    ) -> list[LaunchAnalysis]:
        if choice.rule is not None:
            self.rules.add(choice.rule)
        results = []
        for program, blocked in zip(choice.programs, choice.launches, strict=True):
            results.append(self._analyser(program, blocked, symbols, ranges).run())
            self.rules.update(results[-1].rules)
        return results

    def _analyser(
        self, program: IndexProgram, launch: Launch, symbols: tuple[Symbol, ...], ranges: Mapping[str, Range]
    ) -> LaunchAnalyser:
        return LaunchAnalyser(program, launch, symbols, ranges, self.settings.device_memory)

    def _orphan(self, source: SourceFile) -> KernelResult:
        embedded = EmbeddedKernel(Path(source.path).stem, "", source.text, source.path, 1, 0)
        text = KernelText.of(_source(embedded))
        detail = "no launch facts: give them with --launch LAUNCH.toml"
        span = Span(1, 0, 1, len(text.lines[0]) if text.lines else 0)
        finding = unknown_at(embedded.name, text, span, UnknownReason.MISSING_FACT, detail, ())
        return KernelResult(embedded.name, Verdict.UNKNOWN, None, (), (finding,), (), text.source)


def _launches_of(wrapper: WrapperFacts) -> dict[str, list[Launch]]:
    """The launches of each kernel by launcher, in the order in which the kernels come first."""
    groups: dict[str, list[Launch]] = {}
    for launch in wrapper.launches:
        groups.setdefault(launch.launcher_name, []).append(launch)
    return groups


def _source(embedded: EmbeddedKernel) -> KernelSource:
    return KernelSource(embedded.name, embedded.source, embedded.file, embedded.first_line, embedded.indent)


def _without_source(name: str, launches: list[Launch]) -> KernelResult:
    position: SourcePosition = launches[0].position
    location = Location(position.file, position.line, position.column, position.column, "")
    detail = f"the package has no Triton source for {name}"
    finding = UnknownFinding(
        finding_id(name, "KS902", name, ""), "KS902", location, name, "", UnknownReason.MISSING_FACT, detail,
        tuple(launch.index for launch in launches),
    )  # fmt: skip
    return KernelResult(name, Verdict.UNKNOWN, None, tuple(launches), (finding,), (), None)


def _unreadable(kernel: Unreadable, launches: list[Launch]) -> KernelResult:
    lines = kernel.text.lines
    line = min(max(1, kernel.line), max(1, len(lines)))
    span = Span(line, 0, line, len(lines[line - 1]) if lines else 0)
    indices = tuple(launch.index for launch in launches)
    finding = unknown_at(
        kernel.embedded.name, kernel.text, span, UnknownReason.NOT_MODELLED, kernel.what, indices, "KS903"
    )
    return KernelResult(
        kernel.embedded.name, Verdict.UNKNOWN, None, tuple(launches), (finding,), (), kernel.text.source
    )


def _failed(kernel: Readable, launches: list[Launch], error: KernelscopeError) -> KernelResult:
    tail = error.where.rpartition("line ")[2]
    unreadable = Unreadable(kernel.embedded, kernel.text, error.what, int(tail) if tail.isdigit() else 1)
    result = _unreadable(unreadable, launches)
    return result


def _is_proved_nowhere(finding: Finding) -> bool:
    return isinstance(finding, UnknownFinding) and finding.largest_safe is None


def _index_width(choice: ProgramChoice) -> int | None:
    """Width of the arithmetic on program ids: 64 where every product with one is int64."""
    from kernelscope.audit.reachable import reachable
    from kernelscope.triton_source.operands import operands

    widths: set[int] = set()
    for node in reachable(choice.programs[0]):
        for child in operands(node):
            if isinstance(child, ProgramId) and isinstance(node.type, ScalarType) and node.type.bits > 1:
                widths.add(node.type.bits)
    return min(widths, default=None)


__all__ = ["ArtifactAuditor", "ArtifactVerdict", "AuditSettings", "ModelFacts", "Progress", "read_model"]
