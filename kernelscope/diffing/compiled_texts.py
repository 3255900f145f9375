"""What Triton makes of kernels' sources, for the kernels that differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import TracebackType

from kernelscope.audit.run import read_model
from kernelscope.build import CompileFailure, CompileRequest, KernelCompiler
from kernelscope.build.config_search import ShippedKernel, likeliest_config
from kernelscope.diffing.machine_code import comparable_ptx_text, comparable_ttir
from kernelscope.diffing.sides import Side, SideKernel
from kernelscope.errors import KernelscopeError
from kernelscope.launches.launch import EmbeddedKernel, Launch

_COMPARABLE = {"ttir": comparable_ttir, "ptx": comparable_ptx_text}
_Facts = tuple[EmbeddedKernel, Launch | None]


class CompiledTexts:
    """Texts of one stage of Triton's compiler, comparable. A kernel that both sides have is not compiled, nor is one whose
    text the package holds (`shipped`). Where only one side compiles, the other's text says why it does not."""

    def __init__(
        self, pairs: Sequence[tuple[SideKernel | None, SideKernel | None]], sides: tuple[Side, Side], stage: str,
        progress: Callable[[str, int, int], None] | None = None,
        shipped: Callable[[SideKernel], str | None] = lambda kernel: None,
    ) -> None:  # fmt: skip
        self._pairs = pairs
        self._sides = sides
        self._stage = stage
        self._progress = progress
        self._shipped = shipped
        self._texts: dict[int, str] = {}
        self._compiler = KernelCompiler()

    def __enter__(self) -> CompiledTexts:
        wanted: list[tuple[Side, SideKernel]] = []
        for pair in self._pairs:
            for side, kernel in zip(self._sides, pair, strict=True):
                text = self._shipped(kernel) if kernel is not None else None
                if kernel is not None and text is not None:
                    self._texts[id(kernel)] = text
                elif kernel is not None and not _is_same(*pair):
                    wanted.append((side, kernel))
        try:
            self._compile(wanted)
        except BaseException:
            self._compiler.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._compiler.close()

    def text(self, kernel: SideKernel) -> str:
        """The text of a kernel; empty for one that both sides have."""
        return self._texts.get(id(kernel), "")

    def _compile(self, wanted: Sequence[tuple[Side, SideKernel]]) -> None:
        if not wanted:
            return
        self._compiler.start()  # says that triton is missing before anything else is wrong
        requests: list[CompileRequest] = []
        for side in self._sides:
            kernels = [kernel for owner, kernel in wanted if owner is side]
            facts = _facts(side, {k.name for k in kernels}) if kernels else {}
            requests += [_request(kernel, facts.get((kernel.file, kernel.first_line)), self._stage) for kernel in kernels]
        ordered = [kernel for side in self._sides for owner, kernel in wanted if owner is side]
        results = self._compiler.compile(requests, self._told)
        failed: set[int] = set()
        for kernel, result in zip(ordered, results, strict=True):
            if isinstance(result, CompileFailure):
                failed.add(id(kernel))
                self._texts[id(kernel)] = f"// does not compile: {result.reason}\n"
            else:
                self._texts[id(kernel)] = _COMPARABLE[self._stage](result.texts.get(self._stage, ""))
        for pair in self._pairs:
            sides = [kernel for kernel in pair if kernel is not None]
            if all(id(kernel) in failed for kernel in sides):
                why = self._texts[id(sides[0])].removeprefix("// ").strip()
                raise KernelscopeError(f"{sides[0].name} {why}", where=sides[0].file)

    def _told(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress("compiling", done, total)


def _is_same(old: SideKernel | None, new: SideKernel | None) -> bool:
    return old is not None and new is not None and (old.source, old.launcher) == (new.source, new.launcher)


def _facts(side: Side, names: Iterable[str]) -> dict[tuple[str, int], _Facts]:
    """The kernels of a side with the launch that tells their block sizes, by place."""
    found: dict[tuple[str, int], _Facts] = {}
    for model in side.models:
        for wrapper in read_model(model, None, frozenset(names)).wrappers:
            launches = {launch.launcher_name: launch for launch in wrapper.launches}
            for kernel in wrapper.kernels:
                found[kernel.file, kernel.first_line] = kernel, launches.get(kernel.launcher_name)
    return found


def _request(kernel: SideKernel, facts: _Facts | None, stage: str) -> CompileRequest:
    name, launch = (facts[0].name, facts[1]) if facts is not None else (kernel.name, None)
    constexprs = launch.constexprs if launch is not None else {}
    warps = launch.num_warps if launch is not None else None
    binary = kernel.binary() if kernel.binary is not None else None
    try:
        config = likeliest_config(ShippedKernel(kernel.source, name, constexprs, warps, binary or b""))
    except KernelscopeError as error:
        raise KernelscopeError(f"{kernel.name} cannot be compiled: {error.what}", where=kernel.file) from None
    return CompileRequest(kernel.source, name, config, (stage,))
