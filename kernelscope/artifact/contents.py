"""What was found in an artifact: text members only, never weights or shared libraries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

#: What a patch leaves in a package to tell what it changed, below the package's own folder.
PATCH_RECORD = "extra/kernelscope.json"


class ArtifactKind(Enum):
    PACKAGE = "AOTInductor package"
    FOLDER = "Inductor output folder"
    PYTHON_WRAPPER = "Python wrapper"
    CPP_WRAPPER = "C++ wrapper"
    KERNEL = "Triton kernel"


class SourceRole(Enum):
    CPP_WRAPPER = "C++ wrapper"  # *.wrapper.cpp or an older *.cpp that holds run_impl
    PYTHON_WRAPPER = "Python wrapper"  # output_code.py and alike
    CPP_KERNEL = "C++ kernels"  # a .cpp with loops for the CPU and no run_impl
    KERNEL = "Triton kernel"  # a .py with one or more @triton.jit functions and no wrapper


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One source: `path` as the user would find it (member name or file path)."""

    role: SourceRole
    path: str
    text: str
    size: int


@dataclass(frozen=True, slots=True)
class Damage:
    """A member that could not be read: why, in one sentence."""

    path: str
    what: str


@dataclass(frozen=True, slots=True)
class Model:
    """One model of an artifact. `device` and `metadata` come from `*_metadata.json`. `binaries` maps the last part of a
    cubin's name to a function that reads its bytes on demand (bounded in size)."""

    name: str
    sources: tuple[SourceFile, ...]
    metadata: Mapping[str, str]
    device: str | None
    binaries: Mapping[str, Callable[[], bytes]] = field(default_factory=dict)
    damaged: tuple[Damage, ...] = ()


@dataclass(frozen=True, slots=True)
class Artifact:
    path: str
    kind: ArtifactKind
    models: tuple[Model, ...]
    damaged: tuple[Damage, ...] = ()
    patched: bool = False  # Kernelscope has patched it: it holds PATCH_RECORD
