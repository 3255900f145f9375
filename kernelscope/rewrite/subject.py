"""A kernel to be rewritten, with all its launches, and what is still unproved after edits of its text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kernelscope.audit.kernels import Binaries, KernelReader, Readable
from kernelscope.audit.launch_analysis import LaunchAnalyser
from kernelscope.audit.obligations import Requirement
from kernelscope.bounds.space import Range
from kernelscope.errors import KernelscopeError
from kernelscope.launches.host_expression import HostType
from kernelscope.launches.launch import EmbeddedKernel, Launch, ScalarArgument, Symbol
from kernelscope.rewrite.edits import Edit, applied
from kernelscope.triton_source.index_program import Argument, CompileError, IndexProgram, LoopCounter, Node, Span
from kernelscope.triton_source.operands import operands
from kernelscope.triton_source.scalar_types import INT32


@dataclass(frozen=True, slots=True)
class Subject:
    """A kernel with its launches in a model, and the ranges over which it is to be proved."""

    kernel: EmbeddedKernel
    launches: tuple[Launch, ...]
    symbols: tuple[Symbol, ...]
    ranges: Mapping[str, Range]
    device_memory: int | None
    binaries: Binaries


@dataclass(frozen=True, slots=True)
class Unproved:
    """A requirement that the text does not provably meet, at `line`. `key` names it across edits, which move no lines;
    `spans` are all expressions that it depends on (none: not known), `arguments` the int32 kernel arguments among them,
    `narrowed` the one whose own value does not fit."""

    key: tuple[object, ...]
    line: int
    spans: frozenset[Span]
    arguments: frozenset[str]
    narrowed: frozenset[str]
    bits: int = 32


@dataclass(frozen=True, slots=True)
class Standing:
    """How a text stands: `unproved` is empty when every launch is proved. `broken` says why it can't be judged."""

    unproved: tuple[Unproved, ...]
    programs: tuple[IndexProgram, ...]
    broken: str | None = None

    @property
    def is_proved(self) -> bool:
        return not self.unproved and self.broken is None

    @property
    def beyond_casts(self) -> frozenset[tuple[object, ...]]:
        """What is computed in 64 bits already: no cast proves it, and it must not keep the rest from being cured."""
        return frozenset(u.key for u in self.unproved if u.bits >= 64)

    def without(self, keys: frozenset[tuple[object, ...]]) -> Standing:
        """This standing, requirements of these keys left out."""
        return replace(self, unproved=tuple(u for u in self.unproved if u.key not in keys))


def widened_by(edits: Iterable[Edit]) -> frozenset[str]:
    """The kernel arguments that become 64 bits wide."""
    return frozenset(name for edit in edits for name in edit.widened)


def edited(subject: Subject, edits: Sequence[Edit]) -> Subject:
    """The subject with its text, and what its launches pass, edited."""
    names = widened_by(edits)
    text = applied(subject.kernel.source, edits)
    launches = tuple(_widened(launch, names) for launch in subject.launches)
    return replace(subject, kernel=replace(subject.kernel, source=text), launches=launches)


def _widened(launch: Launch, names: frozenset[str]) -> Launch:
    if not names:
        return launch
    arguments = tuple(
        replace(a, c_type=HostType.INT64) if isinstance(a, ScalarArgument) and a.name in names else a
        for a in launch.arguments
    )
    types = {name: "i64" if name in names else kind for name, kind in launch.types.items()}
    return replace(launch, arguments=arguments, types=types)


def standing(subject: Subject) -> Standing:
    """What is not proved about the subject's launches. Grids that CUDA can't launch are no matter of its text."""
    reader = KernelReader(subject.binaries)
    readable = reader.read(subject.kernel)
    if not isinstance(readable, Readable):
        return Standing((), (), readable.what)
    unproved: dict[tuple[object, ...], Unproved] = {}
    programs: list[IndexProgram] = []
    for launch in subject.launches:
        try:
            choice = reader.programs(readable, launch)
        except KernelscopeError as error:
            return Standing((), (), error.what)
        for program in choice.programs:
            programs.append(program)
            for rejected in program.compile_errors:
                if not _is_literal(rejected):
                    return Standing((), tuple(programs), rejected.detail)
                missed = Unproved(("literal", rejected.span.line), rejected.span.line, frozenset(), frozenset(), frozenset())
                unproved.setdefault(missed.key, missed)
            if program.unmodelled:
                return Standing((), tuple(programs), program.unmodelled[0].detail)
            if program.compile_errors:
                continue
            for found in _unproved(subject, program, launch):
                unproved.setdefault(found.key, found)
    return Standing(tuple(unproved.values()), tuple(programs))


def _unproved(subject: Subject, program: IndexProgram, launch: Launch) -> Iterator[Unproved]:
    analyser = LaunchAnalyser(program, launch, subject.symbols, subject.ranges, subject.device_memory)
    if analyser.result.impossible:
        return
    for claims in analyser.result.requirements:
        if claims.missing is not None or not analyser.prover.proves(claims.claims, analyser.box):
            yield _described(claims.requirement, program)


def _is_literal(error: CompileError) -> bool:
    """A literal that does not fit its type: that type may be widened."""
    return "out of range" in error.detail


def _described(requirement: Requirement, program: IndexProgram) -> Unproved:
    obligation = requirement.obligation
    nodes = list(_below(obligation.node, program))
    spans = {n.span for n in nodes}
    if requirement.loop is not None:
        spans.add(requirement.loop.span)
    if obligation.observer is not None:
        spans.add(obligation.observer.span)
    arguments = frozenset(n.name for n in nodes if isinstance(n, Argument) and n.type == INT32)
    access = requirement.access
    place = access.span.line if access is not None else 0
    loop = requirement.loop.span.line if requirement.loop is not None else 0
    key = (obligation.use, place, loop, obligation.node.span.line, _kind(obligation.node))
    is_argument = requirement.loop is None and _is_argument(obligation.node)
    narrowed = arguments if is_argument else frozenset()
    return Unproved(key, obligation.node.span.line, frozenset(spans), arguments, narrowed, obligation.type.bits)


def _is_argument(node: Node) -> bool:
    while not isinstance(node, Argument):
        below = operands(node)
        if len(below) != 1:
            return False
        node = below[0]
    return True


def _kind(node: Node) -> str:
    """What a requirement is about, without columns: the kind of its node."""
    return f"{type(node).__name__}:{getattr(node, 'name', getattr(node, 'operator', ''))}"


def _below(node: Node, program: IndexProgram) -> Iterator[Node]:
    """Everything that a value depends on, loop bounds among it."""
    seen: set[int] = set()
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        waiting.extend(operands(current))
        if isinstance(current, LoopCounter):
            loop = program.loops[current.loop]
            waiting.extend(n for n in (loop.start, loop.end, loop.step) if n is not None)
