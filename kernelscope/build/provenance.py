"""Proves that the source in a package is what its cubin was made from, by compiling it again and comparing.

This also finds the config (block sizes, warps, stages) that a patched source has to be compiled with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kernelscope.artifact.cubin import CubinError
from kernelscope.build.compile_requests import CompiledKernel, CompileFailure, CompileRequest, KernelConfig
from kernelscope.build.config_search import ShippedKernel, candidate_configs
from kernelscope.build.cubin_sections import (
    ToolVersions,
    assertion_lines,
    code_sections,
    differing_sections,
    tool_versions,
)
from kernelscope.build.kernel_compiler import KernelCompiler, Progress
from kernelscope.errors import KernelscopeError

_MOST_CANDIDATES = 64


@dataclass(frozen=True, slots=True)
class Matched:
    """Compiled with this config the source gives the shipped cubin in every section but debug ones."""

    config: KernelConfig
    compiled: CompiledKernel


@dataclass(frozen=True, slots=True)
class Mismatched:
    """No config gives the shipped cubin. `sections`: what differs with the likeliest config, which is `config`."""

    reason: str
    sections: tuple[str, ...]
    config: KernelConfig


@dataclass(frozen=True, slots=True)
class CannotCompile:
    """The source can't be compiled here, so that nothing can be said about the cubin."""

    reason: str


@dataclass(frozen=True, slots=True)
class OtherTriton:
    """The cubin was made by other versions than are installed, so that a difference means nothing. `config` is the
    likeliest one."""

    shipped: ToolVersions
    installed: ToolVersions
    installed_triton: str
    config: KernelConfig


Provenance = Matched | Mismatched | CannotCompile | OtherTriton


def provenance_of(
    kernels: Sequence[ShippedKernel], compiler: KernelCompiler, progress: Progress | None = None
) -> list[Provenance]:
    """For each kernel whether its source gives its cubin. Kernels are compiled together, a candidate a round."""
    searches = [_Search(kernel) for kernel in kernels]
    open_searches = [search for search in searches if search.result is None]
    while open_searches:
        requests = [search.request() for search in open_searches]
        for search, result in zip(open_searches, compiler.compile(requests), strict=True):
            search.take(result, compiler.triton_version)
        open_searches = [search for search in open_searches if search.result is None]
        if progress is not None:
            progress(len(searches) - len(open_searches), len(searches))
    return [search.outcome() for search in searches]


class _Search:
    """The search for one kernel's config."""

    def __init__(self, kernel: ShippedKernel) -> None:
        self.result: Provenance | None = None
        self._kernel = kernel
        self._tried = 0
        self._best: Mismatched | None = None
        self._failure: CompileFailure | None = None
        self._candidates: Iterator[KernelConfig] = iter(())
        self._current: KernelConfig | None = None
        self._moved: int | None = None
        try:
            self._candidates = candidate_configs(kernel)
            self._shipped = code_sections(kernel.cubin)
            self._next()
        except KernelscopeError as error:
            self.result = CannotCompile(error.what)
        except CubinError as error:
            self.result = CannotCompile(f"the cubin can't be compared: {error}")

    def request(self) -> CompileRequest:
        assert self._current is not None
        return CompileRequest(self._kernel.source, self._kernel.function, self._current)

    def outcome(self) -> Provenance:
        assert self.result is not None
        return self.result

    def take(self, compiled: CompiledKernel | CompileFailure, triton: str) -> None:
        """Judges the candidate that was compiled last and picks the next."""
        assert self._current is not None
        match compiled:
            case CompileFailure(refused=True):
                self.result = CannotCompile(compiled.reason)
            case CompileFailure():
                self._failure = self._failure or compiled
                self._next()
            case CompiledKernel():
                self._compare(self._current, compiled, triton)

    def _compare(self, config: KernelConfig, compiled: CompiledKernel, triton: str) -> None:
        sections = differing_sections(self._shipped, code_sections(compiled.cubin))
        if not sections:
            self.result = Matched(config, compiled)
            return
        shipped, installed = tool_versions(self._kernel.cubin), tool_versions(compiled.cubin)
        if shipped != installed:
            self.result = OtherTriton(shipped, installed, triton, config)
            return
        if self._best is None or len(sections) < len(self._best.sections):
            reason = f"no config gives the shipped cubin; the likeliest differs in {', '.join(sections)}"
            self._best = Mismatched(reason, sections, config)
        if not self._move_lines(config, compiled):
            self._next()

    def _move_lines(self, config: KernelConfig, compiled: CompiledKernel) -> bool:
        """Whether assertions name other lines than the shipped ones: the config is then tried with the text moved."""
        if self._moved is not None:
            return False
        shipped, own = assertion_lines(self._kernel.cubin), assertion_lines(compiled.cubin)
        if not shipped or not own or shipped[-1] == own[-1]:
            return False
        self._moved = config.line_offset + shipped[-1] - own[-1]
        self._current = replace(config, line_offset=self._moved)
        return self._moved >= 0

    def _next(self) -> None:
        """The next candidate; without one (or after too many) the search is over."""
        config = next(self._candidates, None) if self._tried < _MOST_CANDIDATES else None
        self._tried += 1
        if config is not None:
            self._current = config if self._moved is None else replace(config, line_offset=max(0, self._moved))
        elif self._best is not None:
            self.result = self._best
        else:
            failure = self._failure
            self.result = CannotCompile(failure.reason if failure else "no config of this kernel could be made up")
