"""Fat binaries: a kernel for several architectures in one file, as cubins and PTX (`aot_inductor.emit_multi_arch_kernel`).

They are taken apart with `cuobjdump` and put together with `fatbinary`, as torch does (_cuda_fatbin_command in
torch/_inductor/codecache.py)."""

from __future__ import annotations

import os
import re
import shutil
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from kernelscope.build.cost import run_cuda_tool, triton_tool
from kernelscope.build.scratch import Scratch
from kernelscope.build.toolchain import run_tool
from kernelscope.errors import KernelscopeError

_MAGIC = b"\x50\xed\x55\xba"
_ARCHITECTURE = re.compile(r"\.sm_(\d+[af]?)\.(cubin|ptx)$")
_WHEELS = ("nvidia/cu13/bin", "nvidia/cuda_nvcc/bin")
_BLACKWELL = 100  # Triton's wheel has an assembler of its own from here on


class ImageKind(Enum):
    CUBIN = "elf"  # as fatbinary calls it
    PTX = "ptx"


@dataclass(frozen=True, slots=True)
class FatImage:
    """One image; `architecture` is what follows `sm_`: `90a`."""

    kind: ImageKind
    architecture: str
    data: bytes


def is_fat_binary(data: bytes) -> bool:
    return data.startswith(_MAGIC)


def read_fat_binary(data: bytes) -> tuple[FatImage, ...]:
    """Its images. KernelscopeError where it can't be taken apart."""
    with Scratch() as folder:
        path = folder / "kernel.fatbin"
        path.write_bytes(data)
        for option in ("-xelf", "-xptx"):
            run_cuda_tool("cuobjdump", option, "all", path.name, folder=folder)
        images = tuple(_images(sorted(folder.iterdir())))
    if not images:
        raise KernelscopeError("the fat binary has no images")
    return images


def _images(files: Sequence[Path]) -> Iterator[FatImage]:
    for file in files:
        found = _ARCHITECTURE.search(file.name)
        if found is not None:
            kind = ImageKind.CUBIN if found[2] == "cubin" else ImageKind.PTX
            yield FatImage(kind, found[1], file.read_bytes())


def own_cubin(images: Sequence[FatImage]) -> bytes | None:
    """The cubin of the architecture that Triton compiled for: that of the PTX, which others were assembled from."""
    compiled_for = {image.architecture for image in images if image.kind is ImageKind.PTX}
    cubins = [image for image in images if image.kind is ImageKind.CUBIN]
    own = [image for image in cubins if image.architecture in compiled_for] or (cubins if len(cubins) == 1 else [])
    return own[0].data if len(own) == 1 else None


def cubin_in(data: bytes) -> bytes:
    """The cubin that Triton compiled: the file itself, or that image of a fat binary. KernelscopeError where there is none."""
    cubin = own_cubin(read_fat_binary(data)) if is_fat_binary(data) else data
    if cubin is None:
        raise KernelscopeError("the fat binary has no cubin of the architecture that it was compiled for")
    return cubin


def write_fat_binary(old: Sequence[FatImage], cubin: bytes, ptx: str) -> bytes:
    """A fat binary of the same kinds and architectures as `old`, of another kernel compiled to `cubin` and `ptx`.

    KernelscopeError where `fatbinary` is missing or an assembler fails."""
    program = _fatbinary()
    own = own_cubin(old)
    with Scratch() as folder:
        source = folder / "kernel.ptx"
        source.write_text(ptx, encoding="utf-8")
        command: list[str | Path] = [program, "--create=kernel.fatbin", "-64"]
        for image in old:
            path = source
            if image.kind is ImageKind.CUBIN:
                path = folder / f"kernel.sm_{image.architecture}.cubin"
                if image.data is own or image.data == own:
                    path.write_bytes(cubin)
                else:
                    _assemble(source, image.architecture, path)
            command.append(f"--image3=kind={image.kind.value},sm={image.architecture},file={path.name}")
        run_tool(command, folder, "putting the fat binary together")
        return (folder / "kernel.fatbin").read_bytes()


def _assemble(ptx: Path, architecture: str, target: Path) -> None:
    number = int(architecture.rstrip("af"))
    program = triton_tool("ptxas-blackwell" if number >= _BLACKWELL else "ptxas")
    run_tool([program, f"-arch=sm_{architecture}", ptx, "-o", target], ptx.parent, f"assembling for sm_{architecture}")


def _fatbinary() -> str:
    folders = [os.path.join(home, "bin") for name in ("CUDA_HOME", "CUDA_PATH") if (home := os.environ.get(name))]
    folders += [os.path.join(sysconfig.get_path("purelib"), wheel) for wheel in _WHEELS]
    search = os.pathsep.join([*folders, os.environ.get("PATH", ""), "/usr/local/cuda/bin"])
    found = shutil.which("fatbinary", path=search)
    if found is None:
        raise KernelscopeError(
            "fatbinary is not installed, which multi-architecture kernels are put together with",
            try_this="install the CUDA toolkit, or pip install nvidia-cuda-nvcc",
        )
    return found
