"""Compiles an edited wrapper and links it with what the old library carries: weights, embedded cubins."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kernelscope.build.compile_commands import (
    NotRecorded,
    ReadCommand,
    RecordedCommand,
    UnknownFlag,
    compile_command,
    link_command,
)
from kernelscope.build.library_data import (
    WEIGHTS_END,
    WEIGHTS_START,
    LibraryData,
    append_weights,
    appended_weights,
    copy_range,
    read_library,
)
from kernelscope.build.scratch import Scratch
from kernelscope.build.toolchain import Toolchain, find_toolchain, made, run_tool, run_tools
from kernelscope.errors import KernelscopeError

#: torch aligns the weights' symbol to this (ALIGN_BYTES in torch/_inductor/codecache.py).
_ALIGNMENT = 64
_KERNEL_ALIGNMENT = 16
_DRIVER = "libcuda.so.1"
_MAPS_ITSELF = "-DUSE_MMAP_SELF"
_CARRIED_OBJECT = re.compile(r".*(\.wrapper\.o|\.kernel\.o|\.weights\.o|^c[a-z2-7]{51}\.o|cubins_combined\.o)$")
_INTERFACE = "// Definition of AOTI runtime interface functions"

_CURE = "set CXX where this is not the compiler to use"

Step = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class WrapperSources:
    """The sources of one library: `wrapper` as edited, `kernel` the CPU kernels' source (None: there is none), and the
    library they replace. `cubins`: new binaries for kernels embedded in the library, by kernel name."""

    wrapper: str
    kernel: str | None
    old_library: Path
    cubins: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RebuiltLibrary:
    """`missing` and `extra`: exported symbols (weak ones left out) that the old library has and the new one lacks, and
    the reverse. `compiler` is the program that was run, `torch` the version it was compiled against."""

    path: Path
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    compiler: str
    torch: str


@dataclass(frozen=True, slots=True)
class OtherTorch:
    """The wrapper was made by another torch than the one installed, whose headers may not fit."""

    installed: str
    reason: str


@dataclass(frozen=True, slots=True)
class CannotRebuild:
    """Why the library can't be built again from what the package holds."""

    reason: str


RebuildResult = RebuiltLibrary | OtherTorch | CannotRebuild


def rebuild_library(
    sources: WrapperSources, output: Path, *, any_torch: bool = False, step: Step | None = None
) -> RebuildResult:
    """Builds `output` from `sources`; the old library is only read. KernelscopeError when a tool fails or is missing.

    `any_torch`: compile even if another torch made the wrapper. `step` is told what is being done."""
    commands = _commands(sources)
    if isinstance(commands, CannotRebuild):
        return commands
    toolchain = find_toolchain(commands.compile.compiler)
    if not any_torch and (mismatch := _other_torch(sources.wrapper, toolchain)) is not None:
        return mismatch
    if _uses_cuda(commands.compile) and not toolchain.cuda_includes:
        raise KernelscopeError(
            "no CUDA headers", try_this="set CUDA_HOME, or pip install nvidia-cuda-runtime (the version torch needs)"
        )
    with Scratch() as folder:
        return _Build(sources, commands, toolchain, folder, step or (lambda _: None)).run(output)


@dataclass(frozen=True, slots=True)
class _Commands:
    compile: RecordedCommand
    compile_kernel: RecordedCommand | None
    link: RecordedCommand


def _commands(sources: WrapperSources) -> _Commands | CannotRebuild:
    read = {"compile": compile_command(sources.wrapper), "link": link_command(sources.wrapper)}
    if sources.kernel is not None:
        read["compile the kernels"] = compile_command(sources.kernel)
    found: dict[str, RecordedCommand] = {}
    for what, command in read.items():
        match _known(what, command):
            case CannotRebuild() as refusal:
                return refusal
            case known:
                found[what] = known
    foreign = [name for name in found["link"].inputs if not _CARRIED_OBJECT.match(name)]
    if foreign:
        return CannotRebuild(f"the library was linked with {foreign[0]}, which is not in the package")
    return _Commands(found["compile"], found.get("compile the kernels"), found["link"])


def _known(what: str, command: ReadCommand) -> RecordedCommand | CannotRebuild:
    match command:
        case RecordedCommand():
            return command
        case UnknownFlag(flag):
            return CannotRebuild(f"the recorded command to {what} has a flag that is not taken over: {flag}")
        case NotRecorded():
            return CannotRebuild(f"no command to {what} is recorded below the source (torch writes one since 2.7)")


def _other_torch(wrapper: str, toolchain: Toolchain) -> OtherTorch | None:
    """Every wrapper begins with a fixed text of the torch that made it: it has to be the installed one's."""
    interface = toolchain.interface_source
    if interface is None:
        return OtherTorch(toolchain.torch_version, "the installed torch has no AOTInductor interface to compare with")
    if " ".join(interface.split()) in " ".join(wrapper.split()):
        return None
    known = "its interface differs from this torch's" if _INTERFACE in wrapper else "it has no known interface"
    return OtherTorch(toolchain.torch_version, f"the wrapper was made by another torch: {known}")


def _uses_cuda(command: RecordedCommand) -> bool:
    return "-DUSE_CUDA" in command.flags


class _Build:
    def __init__(
        self, sources: WrapperSources, commands: _Commands, toolchain: Toolchain, folder: Path, step: Step
    ) -> None:
        self._sources = sources
        self._commands = commands
        self._toolchain = toolchain
        self._folder = folder
        self._step = step
        self._old = read_library(sources.old_library)
        unknown = sources.cubins.keys() - {kernel_name(kernel.name) for kernel in self._old.kernels}
        if unknown:
            raise KernelscopeError(f"{min(unknown)} is not embedded in the library", where=sources.old_library.name)

    def run(self, output: Path) -> RebuiltLibrary:
        jobs = [("wrapper", self._sources.wrapper, self._commands.compile)]
        if self._sources.kernel is not None and self._commands.compile_kernel is not None:
            jobs.append(("kernel", self._sources.kernel, self._commands.compile_kernel))
        self._step("compiling the wrapper")
        objects = self._compiled(jobs)
        if self._old.weights is not None or self._old.kernels:
            objects.append(self._carried())
        self._step("linking")
        self._link(objects, output)
        try:
            new = read_library(output)
        except KernelscopeError as error:
            what = f"what it linked is {error.what}"
            raise KernelscopeError(what, where=" ".join(self._toolchain.compiler), try_this=_CURE) from None
        self._fill_weights(output, new)
        missing, extra = self._old.symbols - new.symbols, new.symbols - self._old.symbols
        tools = (" ".join(self._toolchain.compiler), self._toolchain.torch_version)
        return RebuiltLibrary(output, tuple(sorted(missing)), tuple(sorted(extra)), *tools)

    def _compiled(self, jobs: list[tuple[str, str, RecordedCommand]]) -> list[Path]:
        """The objects of sources that are compiled side by side."""
        calls: list[tuple[list[str | Path], str]] = []
        for name, text, command in jobs:
            source = self._folder / f"{name}.cpp"
            source.write_text(text, encoding="utf-8")
            flags = [*command.flags, *self._toolchain.include_flags, f"-ffile-prefix-map={self._folder}=."]
            words: list[str | Path] = [*self._toolchain.compiler, source, *flags, "-c", "-o", self._folder / f"{name}.o"]
            calls.append((words, f"compiling the {name}"))
        run_tools(calls, self._folder, _CURE)
        return [made(self._folder / f"{job[0]}.o", *call) for job, call in zip(jobs, calls, strict=True)]

    def _carried(self) -> Path:
        """An object with room for the weights, filled after linking, and with the embedded cubins."""
        text = self._weights_text() + "".join(self._kernel_text(kernel.name) for kernel in self._old.kernels)
        source, target = self._folder / "carried.S", self._folder / "carried.o"
        source.write_text(f'{text}\t.section .note.GNU-stack,"",@progbits\n', encoding="utf-8")
        run_tool([*self._toolchain.compiler, "-c", source, "-o", target], self._folder, "assembling the weights")
        return target

    def _weights_text(self) -> str:
        weights = self._old.weights
        if weights is None:
            return ""
        section = '.ldata,"aw",@progbits' if weights.writable else '.lrodata,"a",@progbits'
        return (
            f"\t.section {section}\n\t.balign {_ALIGNMENT}\n\t.globl {WEIGHTS_START}\n{WEIGHTS_START}:\n"
            f"\t.space {weights.size}\n\t.globl {WEIGHTS_END}\n{WEIGHTS_END}:\n"
        )

    def _kernel_text(self, symbol: str) -> str:
        kernel = next(kernel for kernel in self._old.kernels if kernel.name == symbol)
        name = kernel_name(symbol)
        path = self._folder / f"{len(list(self._folder.iterdir()))}.cubin"
        if name in self._sources.cubins:
            path.write_bytes(self._sources.cubins[name])
        else:
            with open(self._sources.old_library, "rb") as file:
                file.seek(kernel.offset)
                path.write_bytes(file.read(kernel.size))
        return (
            f"\t.section .rodata\n\t.balign {_KERNEL_ALIGNMENT}\n\t.globl __{name}_start\n\t.globl __{name}_end\n"
            f'__{name}_start:\n\t.incbin "{path.name}"\n__{name}_end:\n'
            f"\t.globl __{name}_size\n\t.set __{name}_size, __{name}_end - __{name}_start\n"
        )

    def _link(self, objects: list[Path], output: Path) -> None:
        libraries = [word for name in self._commands.link.libraries for word in self._library_flags(name)]
        folders = [self._toolchain.torch_folder / "lib"]
        if "cuda" in self._commands.link.libraries:
            folders.append(self._toolchain.driver_folder or self._driver_stub())
        command: list[str | Path] = [*self._toolchain.compiler, *objects, *self._commands.link.flags]
        command += ["-o", output, *libraries, *(f"-L{folder}" for folder in folders)]
        run_tool(command, self._folder, "linking the library")
        made(output, command, "linking the library")

    def _library_flags(self, name: str) -> tuple[str, ...]:
        """The driver stays a dependency where it was one, though a stub defines nothing that is used."""
        if name == "cuda" and _DRIVER in self._old.needed:
            return ("-Wl,--push-state,--no-as-needed", "-lcuda", "-Wl,--pop-state")
        return (f"-l{name}",)

    def _driver_stub(self) -> Path:
        """A library that stands for the CUDA driver while linking: only its name gets into the result."""
        folder = self._folder / "driver"
        folder.mkdir()
        source = folder / "cuda.c"
        source.write_text("int cuInit(unsigned flags) { return 0; }\n", encoding="ascii")
        name = f"-Wl,-soname,{_DRIVER}"
        command: list[str | Path] = [*self._toolchain.compiler, "-x", "c", "-shared", "-fPIC", name, source]
        run_tool([*command, "-o", folder / "libcuda.so"], folder, "building a stub of the CUDA driver")
        return folder

    def _fill_weights(self, output: Path, new: LibraryData) -> None:
        if self._old.weights is None:
            return
        if new.weights is None:
            raise KernelscopeError("the new library has no room for the weights", where=output.name)
        self._step("carrying the weights over")
        copy_range(self._sources.old_library, self._old.weights, output, new.weights)
        if _MAPS_ITSELF in self._commands.compile.flags:
            weights = appended_weights(self._sources.old_library, self._old)
            append_weights(self._sources.old_library, weights, output)


def kernel_name(symbol: str) -> str:
    """The kernel that an embedded cubin's symbol `__NAME_start` names."""
    return symbol.removeprefix("__").removesuffix("_start")
