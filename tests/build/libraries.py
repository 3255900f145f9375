"""Small shared libraries that carry data as torch's do, with sources that build them again in a second."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

COMMANDS = """
// Compile cmd
// g++ /build/cabc.wrapper.cpp -D {define} -O1 -fPIC -std=c++17 -I/build/include -c -o /build/cabc.wrapper.o
// Link cmd
// g++ /build/cabc.wrapper.o /build/w/cabc.weights.o {objects}-shared -fPIC -o /build/cabc.wrapper.so -L/build/lib
"""
SOURCE = """extern "C" {{
extern const unsigned char _binary_constants_bin_start[];
{declared}
int version() {{ return {value}; }}
const void* weights() {{ return _binary_constants_bin_start; }}
{used}
}}
"""
PAGE = 16384


def wrapper(value: int, define: str = "X", kernels: tuple[str, ...] = (), objects: str = "") -> str:
    """The wrapper's source with its recorded commands."""
    declared = "\n".join(f"extern const unsigned char __{name}_start[];" for name in kernels)
    used = "\n".join(f"const void* load_{name}() {{ return __{name}_start; }}" for name in kernels)
    return SOURCE.format(value=value, declared=declared, used=used) + COMMANDS.format(define=define, objects=objects)


def build(folder: Path, source: str, weights: bytes, kernels: dict[str, bytes], *, writable: bool = False) -> Path:
    """The library as torch would have linked it."""
    (folder / "w.bin").write_bytes(weights)
    section = '.ldata,"aw"' if writable else '.lrodata,"a"'
    text = f"\t.section {section}\n\t.balign 64\n\t.globl _binary_constants_bin_start\n_binary_constants_bin_start:\n"
    text += '\t.incbin "w.bin"\n\t.globl _binary_constants_bin_end\n_binary_constants_bin_end:\n\t.section .rodata\n'
    for name, data in kernels.items():
        (folder / f"{name}.cubin").write_bytes(data)
        text += f"\t.balign 16\n\t.globl __{name}_start\n\t.globl __{name}_end\n__{name}_start:\n"
        text += f'\t.incbin "{name}.cubin"\n__{name}_end:\n'
    (folder / "data.S").write_text(text)
    (folder / "old.cpp").write_text(source)
    subprocess.run(["g++", "-shared", "-fPIC", "old.cpp", "data.S", "-o", "old.so"], cwd=folder, check=True)
    return folder / "old.so"


def append(library: Path, weights: bytes, magic: int) -> None:
    """Weights behind the library's end, as torch puts very large ones."""
    with open(library, "r+b") as file:
        end = file.seek(0, 2)
        file.write(b" " * (PAGE - end % PAGE) + weights + struct.pack("<q", magic))
