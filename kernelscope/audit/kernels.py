"""Kernel sources of a model turned into index programs, once for each set of types and constexpr values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from kernelscope.audit.kernel_text import KernelText
from kernelscope.audit.results import KernelSource
from kernelscope.errors import KernelscopeError
from kernelscope.launches.host_arithmetic import substitute
from kernelscope.launches.host_expression import HostConstant
from kernelscope.launches.launch import EmbeddedKernel, Launch
from kernelscope.triton_source import (
    IndexProgram,
    KernelDeclaration,
    build_index_program,
    read_declarations,
)
from kernelscope.triton_source.scalar_types import ValueType, from_signature

#: The extremes of block sizes that are not known: the largest that Inductor allows, and 1
#: (torch/_inductor/runtime/hints.py, TRITON_MAX_BLOCK, 2.14). Overshoot and lanes grow with a block, so the largest is the
#: worst for indices; the smallest gives the largest grid. What fails with both fails with every one.
LARGEST_BLOCKS = {"XBLOCK": 4096, "YBLOCK": 1024, "ZBLOCK": 1024, "R0_BLOCK": 4096 * 16, "R1_BLOCK": 2048 * 16}
#: Elements of triton's largest tensor (same file, TRITON_MAX_TENSOR_NUMEL).
LARGEST_TENSOR = 1 << 20

Binaries = Mapping[str, Callable[[], bytes]]


@dataclass(frozen=True, slots=True)
class Readable:
    """A kernel whose source was read."""

    embedded: EmbeddedKernel
    declaration: KernelDeclaration
    text: KernelText


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A kernel whose source could not be read: why, and at which line of its text."""

    embedded: EmbeddedKernel
    text: KernelText
    what: str
    line: int


@dataclass(frozen=True, slots=True)
class ProgramChoice:
    """The programs that a launch may be (two where a block size is not known), each with the launch under its block
    sizes, and the assumption behind them."""

    programs: tuple[IndexProgram, ...]
    launches: tuple[Launch, ...]
    rule: str | None = None


#: Programs that are kept for launches of the same kernel, which follow each other.
_REMEMBERED = 64


class KernelReader:
    """Builds index programs, remembering the last ones built."""

    def __init__(self, binaries: Binaries) -> None:
        self._binaries = binaries
        self._built: dict[tuple[object, ...], IndexProgram] = {}

    def read(self, embedded: EmbeddedKernel) -> Readable | Unreadable:
        """The kernel that `embedded` names, declared."""
        text = KernelText.of(
            KernelSource(embedded.name, embedded.source, embedded.file, embedded.first_line, embedded.indent)
        )
        try:
            declarations = read_declarations(embedded.source, embedded.layout)
        except KernelscopeError as error:
            return Unreadable(embedded, text, error.what, _line_of(error))
        chosen = _chosen(declarations, embedded.name)
        if chosen is None:
            return Unreadable(embedded, text, f"no kernel named {embedded.name} in its source", 1)
        return Readable(embedded, chosen, text)

    def programs(self, kernel: Readable, launch: Launch) -> ProgramChoice:
        """The index programs of one launch; raises KernelscopeError when none can be built."""
        constexprs: dict[str, object] = {**kernel.declaration.constants, **launch.constexprs}
        types = _types(kernel.declaration, launch)
        missing = [
            name for name in kernel.declaration.parameters
            if name in kernel.declaration.constexpr_parameters and name in LARGEST_BLOCKS
            and name not in constexprs and name not in kernel.declaration.defaults
        ]  # fmt: skip
        if not missing:
            return ProgramChoice((self._build(kernel, types, constexprs),), (launch,))
        recovered = {name: block for name in missing if (block := self._recovered(kernel, launch, name)) is not None}
        constexprs = {**constexprs, **recovered}
        missing = [name for name in missing if name not in recovered]
        if not missing:
            rule = ", ".join(f"{n} = {v} of {kernel.embedded.name}" for n, v in recovered.items())
            program = self._build(kernel, types, constexprs)
            return ProgramChoice((program,), (with_blocks(launch, recovered),), f"{rule} was read off its PTX")
        return self._with_extremes(kernel, launch, types, constexprs, missing)

    def _with_extremes(
        self, kernel: Readable, launch: Launch, types: Mapping[str, ValueType], constexprs: Mapping[str, object],
        missing: Sequence[str],
    ) -> ProgramChoice:  # fmt: skip
        programs: list[IndexProgram] = []
        launches: list[Launch] = []
        for blocks in (*_largest_blocks(missing), dict.fromkeys(missing, 1)):
            programs.append(self._build(kernel, types, {**constexprs, **blocks}))
            launches.append(with_blocks(launch, blocks))
        names = " and ".join(missing)
        rule = f"{names} of {kernel.embedded.name} not known: every power of two that Inductor allows was considered"
        return ProgramChoice(tuple(programs), tuple(launches), rule)

    def _recovered(self, kernel: Readable, launch: Launch, name: str) -> int | None:
        if launch.cubin is None or launch.cubin not in self._binaries:
            return None
        from kernelscope.artifact.cubin import recovered_block

        try:
            binary = self._binaries[launch.cubin]()
        except KernelscopeError:
            return None
        return recovered_block(binary, kernel.declaration.functions.values(), name)

    def _build(
        self, kernel: Readable, types: Mapping[str, ValueType], constexprs: Mapping[str, object]
    ) -> IndexProgram:
        key = (
            kernel.embedded.name, kernel.embedded.source, tuple(sorted((n, t.name) for n, t in types.items())),
            tuple(sorted((n, repr(v)) for n, v in constexprs.items())),
        )  # fmt: skip
        if key not in self._built:
            if len(self._built) >= _REMEMBERED:
                self._built.clear()
            self._built[key] = build_index_program(kernel.declaration, types, constexprs)
        return self._built[key]


def _largest_blocks(names: Sequence[str]) -> list[dict[str, int]]:
    """The largest blocks; where together they exceed the largest tensor, each axis at its largest in turn, since an axis's
    index depends on its own block only."""
    largest = {name: LARGEST_BLOCKS[name] for name in names}
    if prod(largest.values()) <= LARGEST_TENSOR:
        return [largest]
    choices: list[dict[str, int]] = []
    for name in names:
        room = LARGEST_TENSOR // largest[name]
        blocks = {name: largest[name]}
        for other in names:
            if other != name:
                blocks[other] = min(largest[other], room)
                room //= blocks[other]
        choices.append(blocks)
    return choices


def with_blocks(launch: Launch, blocks: Mapping[str, int]) -> Launch:
    """The launch with block sizes filled in, in its grid too."""
    values = {name: HostConstant(block) for name, block in blocks.items()}
    x, y, z = (substitute(dimension, values) for dimension in launch.grid)
    return replace(launch, grid=(x, y, z), constexprs={**launch.constexprs, **blocks})


def _line_of(error: KernelscopeError) -> int:
    tail = error.where.rpartition("line ")[2] or error.where
    return int(tail) if tail.isdigit() else 1


def _chosen(declarations: Sequence[KernelDeclaration], name: str) -> KernelDeclaration | None:
    for declaration in declarations:
        if declaration.name == name:
            return declaration
    return declarations[0] if len(declarations) == 1 else None


def _types(declaration: KernelDeclaration, launch: Launch) -> dict[str, ValueType]:
    types: dict[str, ValueType] = {}
    for name, text in {**declaration.signature, **launch.types}.items():
        kind = from_signature(text)
        if kind is not None:
            types[name] = kind
    return types
