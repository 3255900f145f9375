"""The kernels of a package that need a rewrite, with what it takes to rewrite and rebuild each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kernelscope.artifact.contents import Artifact, Model
from kernelscope.audit.launch_analysis import full_ranges
from kernelscope.audit.results import AuditResult, Consequence, KernelResult, UnsafeFinding, Verdict
from kernelscope.audit.run import ModelFacts
from kernelscope.launches.launch import EmbeddedKernel, Launch, Symbol, WrapperFacts
from kernelscope.rewrite.subject import Subject

#: Findings about grids, which no rewrite of a kernel cures.
GRID_CODES = frozenset({"KS302", "KS303", "KS304"})
_HOST_CODES = GRID_CODES | {"KS305"}
OVERWIDE_CODE = "KS501"


@dataclass(frozen=True, slots=True)
class Target:
    """A kernel that is not proved. `needs_text`: something but its grid is unproved; `truncates`: a grid loses its high
    bits without an error where it first passes a limit, `limited`: it passes one. `index` is the model's place in the
    artifact."""

    index: int
    model: Model
    wrapper: WrapperFacts
    kernel: EmbeddedKernel | None
    launches: tuple[Launch, ...]
    result: KernelResult
    needs_text: bool
    truncates: bool
    limited: bool

    @property
    def launcher(self) -> str:
        return self.launches[0].launcher_name

    def subject(self, symbols: Sequence[Symbol], device_memory: int | None) -> Subject:
        assert self.kernel is not None
        named = tuple(symbols)
        return Subject(
            self.kernel, self.launches, named, full_ranges(named), device_memory, self.model.binaries
        )


def targets_of(
    artifact: Artifact, facts: Sequence[ModelFacts], audited: AuditResult, only: frozenset[str], *, overwide: bool = False
) -> tuple[Target, ...]:
    """Every kernel that is not proved safe, in the order of the launches; `only` names kernels or launchers. `overwide`: in
    place of these the safe ones whose indices are wider than they need be. Sizes range as they did in the audit."""
    results = audited.artifacts[0].models if audited.artifacts else ()
    found: list[Target] = []
    for index, (model, facts_of_model) in enumerate(zip(artifact.models, facts, strict=True)):
        kernels = iter(results[index].kernels)
        ranged = {symbol.name: symbol for symbol in results[index].symbols}
        for wrapper in facts_of_model.wrappers:
            wrapper = replace(wrapper, symbols=tuple(ranged.get(s.name, s) for s in wrapper.symbols))
            for launcher, launches in _groups(wrapper):
                result = next(kernels)
                target = _target(index, model, wrapper, launches, result, overwide)
                if target is not None and (not only or only & {launcher, result.name}):
                    found.append(target)
    return tuple(found)


def _groups(wrapper: WrapperFacts) -> Iterator[tuple[str, tuple[Launch, ...]]]:
    groups: dict[str, list[Launch]] = {}
    for launch in wrapper.launches:
        groups.setdefault(launch.launcher_name, []).append(launch)
    for name, launches in groups.items():
        yield name, tuple(launches)


def _target(
    index: int, model: Model, wrapper: WrapperFacts, launches: tuple[Launch, ...], result: KernelResult, overwide: bool
) -> Target | None:
    if overwide != any(f.code == OVERWIDE_CODE for f in result.findings) or overwide != (result.verdict is Verdict.SAFE):
        return None
    sources = {k.launcher_name: k for k in wrapper.kernels} | {k.name: k for k in wrapper.kernels}
    kernel = sources.get(launches[0].launcher_name) or sources.get(launches[0].kernel)
    grids = [f for f in result.findings if isinstance(f, UnsafeFinding) and f.code in GRID_CODES]
    others = [f for f in result.findings if f.code not in _HOST_CODES and not f.code.startswith("KS4")]
    truncates = any(f.consequence is not Consequence.FAILED_LAUNCH for f in grids)
    return Target(index, model, wrapper, kernel, launches, result, bool(others), truncates, bool(grids))
