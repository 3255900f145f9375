"""What is sent to the compiling process and what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Option = int | float | str | bool | None


@dataclass(frozen=True, slots=True)
class DtypeValue:
    """A Triton dtype as a compile-time argument: `float32` for `tl.float32`."""

    name: str


@dataclass(frozen=True, slots=True)
class KernelConfig:
    """All that makes a cubin out of a kernel's text. `attributes`: per position in the signature, what triton may
    assume of the argument (`tt.divisibility`, 16). `file_name`, `helper_files` and `line_offset` only show in debug
    sections and in the texts of `tl.device_assert`: where the kernel and the helpers that it calls were found."""

    signature: Mapping[str, str]
    constexprs: Mapping[str, object]
    attributes: tuple[tuple[tuple[int, ...], tuple[tuple[str, int], ...]], ...]
    options: Mapping[str, Option]
    architecture: int
    file_name: str = "kernel.py"
    line_offset: int = 1
    helper_files: tuple[str, ...] = ()

    @property
    def num_warps(self) -> int:
        return int(self.options.get("num_warps") or 4)

    @property
    def num_stages(self) -> int:
        return int(self.options.get("num_stages") or 1)


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """One kernel to compile: `function` of the module `source`."""

    source: str
    function: str
    config: KernelConfig
    stages: tuple[str, ...] = ()  # texts wanted beside the cubin: ttir, ttgir, llir, ptx


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """A cubin and its launch facts. `num_warps` may exceed the option's where Triton specialises warps."""

    cubin: bytes
    name: str
    shared_bytes: int
    num_warps: int
    global_scratch_bytes: int
    triton_version: str
    seconds: float
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CompileFailure:
    """Why there is no cubin; `refused` when the source was not taken over at all."""

    reason: str
    detail: str = ""
    refused: bool = False


CompileResult = CompiledKernel | CompileFailure
