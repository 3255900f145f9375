"""Builds what a patch changed: kernels with Triton, wrappers with g++, packages member by member.

Nothing here is imported before it is used, and torch and triton only in child processes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernelscope.build.archive import Content, rewrite_archive
    from kernelscope.build.compile_requests import (
        CompiledKernel,
        CompileFailure,
        CompileRequest,
        CompileResult,
        KernelConfig,
    )
    from kernelscope.build.config_search import ShippedKernel
    from kernelscope.build.cost import KernelCost, disassembled, look_at, measure
    from kernelscope.build.kernel_compiler import KernelCompiler
    from kernelscope.build.library_data import AppendedWeights
    from kernelscope.build.provenance import CannotCompile, Matched, Mismatched, OtherTriton, Provenance, provenance_of
    from kernelscope.build.shipped import FoundKernel, NoBinary, shipped_kernels
    from kernelscope.build.wrapper_compiler import (
        CannotRebuild,
        OtherTorch,
        RebuildResult,
        RebuiltLibrary,
        WrapperSources,
        rebuild_library,
    )

_HOMES = {
    "AppendedWeights": "library_data",
    "CannotCompile": "provenance",
    "CannotRebuild": "wrapper_compiler",
    "CompileFailure": "compile_requests",
    "CompileRequest": "compile_requests",
    "CompileResult": "compile_requests",
    "CompiledKernel": "compile_requests",
    "Content": "archive",
    "FoundKernel": "shipped",
    "KernelCompiler": "kernel_compiler",
    "KernelConfig": "compile_requests",
    "KernelCost": "cost",
    "Matched": "provenance",
    "Mismatched": "provenance",
    "NoBinary": "shipped",
    "OtherTorch": "wrapper_compiler",
    "OtherTriton": "provenance",
    "Provenance": "provenance",
    "RebuildResult": "wrapper_compiler",
    "RebuiltLibrary": "wrapper_compiler",
    "ShippedKernel": "config_search",
    "WrapperSources": "wrapper_compiler",
    "disassembled": "cost",
    "look_at": "cost",
    "measure": "cost",
    "provenance_of": "provenance",
    "rebuild_library": "wrapper_compiler",
    "rewrite_archive": "archive",
    "shipped_kernels": "shipped",
}

__all__ = [
    "AppendedWeights",
    "CannotCompile",
    "CannotRebuild",
    "CompileFailure",
    "CompileRequest",
    "CompileResult",
    "CompiledKernel",
    "Content",
    "FoundKernel",
    "KernelCompiler",
    "KernelConfig",
    "KernelCost",
    "Matched",
    "Mismatched",
    "NoBinary",
    "OtherTorch",
    "OtherTriton",
    "Provenance",
    "RebuildResult",
    "RebuiltLibrary",
    "ShippedKernel",
    "WrapperSources",
    "disassembled",
    "look_at",
    "measure",
    "provenance_of",
    "rebuild_library",
    "rewrite_archive",
    "shipped_kernels",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
