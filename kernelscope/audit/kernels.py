"""Kernel sources of a model turned into index programs, once for each set of types and constexpr values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kernelscope.audit.findings import KernelText
from kernelscope.audit.results import KernelSource
from kernelscope.errors import KernelscopeError
from kernelscope.launches.launch import EmbeddedKernel, Launch
from kernelscope.triton_source import (
    IndexProgram,
    KernelDeclaration,
    MissingConstexpr,
    build_index_program,
    read_declarations,
)
from kernelscope.triton_source.scalar_types import ValueType, from_signature

#: Block sizes considered where the one of a looped reduction cannot be read off the binary: the extremes that Inductor
#: allows (torch/_inductor/runtime/hints.py, TRITON_MAX_BLOCK["R0_"], 2.14). The loop's overshoot and its lanes grow with
#: the block, so the largest one is the worst; what fails with the smallest one too fails with every one.
CANDIDATE_BLOCKS = (4096 * 16, 1)

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
    """The programs that a launch may be (several where a block size is not known), and the assumption behind them."""

    programs: tuple[IndexProgram, ...]
    rule: str | None = None


class KernelReader:
    """Builds index programs, remembering those already built."""

    def __init__(self, binaries: Binaries) -> None:
        self._binaries = binaries
        self._built: dict[tuple[object, ...], IndexProgram] = {}

    def read(self, embedded: EmbeddedKernel) -> Readable | Unreadable:
        """The kernel that `embedded` names, declared."""
        text = KernelText.of(
            KernelSource(embedded.name, embedded.source, embedded.file, embedded.first_line, embedded.indent)
        )
        try:
            declarations = read_declarations(embedded.source)
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
        try:
            return ProgramChoice((self._build(kernel, types, constexprs),))
        except MissingConstexpr as missing:
            return self._with_block(kernel, launch, types, constexprs, missing)

    def _with_block(
        self, kernel: Readable, launch: Launch, types: Mapping[str, ValueType], constexprs: Mapping[str, object],
        missing: MissingConstexpr,
    ) -> ProgramChoice:  # fmt: skip
        name = missing.name
        if not name.endswith("BLOCK"):
            raise missing
        recovered = self._recovered(kernel, launch, name)
        if recovered is not None:
            rule = f"{name} = {recovered} was read off the loop step in the kernel's PTX"
            return ProgramChoice((self._build(kernel, types, {**constexprs, name: recovered}),), rule)
        programs: list[IndexProgram] = []
        for block in CANDIDATE_BLOCKS:
            try:
                programs.append(self._build(kernel, types, {**constexprs, name: block}))
            except MissingConstexpr:
                raise missing from None
        largest = CANDIDATE_BLOCKS[0]
        rule = f"{name} of {kernel.embedded.name} is not known: every power of two up to {largest} was considered"
        return ProgramChoice(tuple(programs), rule)

    def _recovered(self, kernel: Readable, launch: Launch, name: str) -> int | None:
        if launch.cubin is None or launch.cubin not in self._binaries:
            return None
        from kernelscope.artifact.cubin import recovered_block

        try:
            binary = self._binaries[launch.cubin]()
        except KernelscopeError:
            return None
        return recovered_block(binary, kernel.embedded.source, name)

    def _build(
        self, kernel: Readable, types: Mapping[str, ValueType], constexprs: Mapping[str, object]
    ) -> IndexProgram:
        key = (
            id(kernel), tuple(sorted((n, t.name) for n, t in types.items())),
            tuple(sorted((n, repr(v)) for n, v in constexprs.items())),
        )  # fmt: skip
        if key not in self._built:
            self._built[key] = build_index_program(kernel.declaration, types, constexprs)
        return self._built[key]


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
