"""Data that a package's shared library carries beside code: weights and embedded cubins, read without loading it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from kernelscope.build.archive import copy_bytes
from kernelscope.errors import KernelscopeError

WEIGHTS_START = "_binary_constants_bin_start"
WEIGHTS_END = "_binary_constants_bin_end"
#: Appended weights start at a multiple of this (torch/csrc/inductor/aoti_runtime/model_base.h).
APPENDED_ALIGNMENT = 16384


@dataclass(frozen=True, slots=True)
class DataRange:
    """Bytes of a library: where in the file, in which section, whether the section is writable."""

    name: str
    offset: int
    size: int
    section: str
    writable: bool


@dataclass(frozen=True, slots=True)
class AppendedWeights:
    """Weights behind the library's end: `size` bytes that end with the magic number the library looks for."""

    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class LibraryData:
    weights: DataRange | None
    kernels: tuple[DataRange, ...]
    symbols: frozenset[str]  # exported and defined here, but for weak ones
    needed: tuple[str, ...]  # libraries that it is linked with


def read_library(path: Path) -> LibraryData:
    """What a library carries; KernelscopeError where it can't be read."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    with open(path, "rb") as file:
        try:
            return _Reader(ELFFile(file)).read()
        except (ELFError, ValueError, KeyError, struct.error) as error:
            raise KernelscopeError(f"not a readable shared library: {error}", where=path.name) from None


class _Reader:
    def __init__(self, elf: object) -> None:
        self._elf = elf
        self._sections = list(elf.iter_sections())  # type: ignore[attr-defined]
        self._values: dict[str, tuple[int, int, int]] = {}  # address, size, section
        self._strong: set[str] = set()

    def read(self) -> LibraryData:
        table = next((s for s in self._sections if s.name == ".dynsym"), None)
        if table is None:
            raise KernelscopeError("the library exports nothing")
        for symbol in table.iter_symbols():
            if isinstance(symbol["st_shndx"], int):
                self._values[symbol.name] = (symbol["st_value"], symbol["st_size"], symbol["st_shndx"])
                if symbol["st_info"]["bind"] == "STB_GLOBAL":
                    self._strong.add(symbol.name)
        dynamic = next((s for s in self._sections if s.name == ".dynamic"), None)
        tags = list(dynamic.iter_tags("DT_NEEDED")) if dynamic is not None else []
        needed = tuple(str(tag.needed) for tag in tags)
        return LibraryData(self._weights(), tuple(self._kernels()), frozenset(self._strong), needed)

    def _weights(self) -> DataRange | None:
        if WEIGHTS_START not in self._values:
            return None
        start, size, _ = self._values[WEIGHTS_START]
        end = self._values[WEIGHTS_END][0] if WEIGHTS_END in self._values else start
        return self._range(WEIGHTS_START, size or max(end - start, 0))

    def _kernels(self) -> Iterator[DataRange]:
        """Embedded cubins: `__NAME_start` and `__NAME_end`."""
        for symbol in sorted(self._values):
            end = f"{symbol.removesuffix('start')}end"
            if symbol.startswith("__") and symbol.endswith("_start") and end in self._values:
                yield self._range(symbol, self._values[end][0] - self._values[symbol][0])

    def _range(self, symbol: str, size: int) -> DataRange:
        address, _, index = self._values[symbol]
        section = self._sections[index]
        inside = address - section["sh_addr"]
        if inside < 0 or inside + size > section["sh_size"] or section["sh_type"] == "SHT_NOBITS":
            raise KernelscopeError(f"{symbol} lies outside its section")
        writable = bool(section["sh_flags"] & 1)
        return DataRange(symbol, section["sh_offset"] + inside, size, section.name, writable)


def appended_weights(path: Path, data: LibraryData) -> AppendedWeights:
    """The weights behind a library that was compiled to map them from its own file."""
    with open(path, "rb") as file:
        end = file.seek(0, 2)
        if data.weights is None or data.weights.size < 16:
            raise KernelscopeError("the library does not tell how large its appended weights are", where=path.name)
        size, magic = struct.unpack("<QQ", _bytes(file, data.weights.offset, 16))
        if not 8 <= size <= end or (end - size) % APPENDED_ALIGNMENT:
            raise KernelscopeError("the appended weights are not where the library looks for them", where=path.name)
        if struct.unpack("<Q", _bytes(file, end - 8, 8)) != (magic,):
            raise KernelscopeError("the appended weights do not end with the library's number", where=path.name)
    return AppendedWeights(end - size, size)


def append_weights(old: Path, weights: AppendedWeights, new: Path) -> None:
    """Puts the appended weights of one library behind another, aligned as torch does."""
    with open(old, "rb") as source, open(new, "r+b") as target:
        end = target.seek(0, 2)
        target.write(b" " * (APPENDED_ALIGNMENT - end % APPENDED_ALIGNMENT))
        copy_bytes(source, weights.offset, target, weights.size)


def copy_range(old: Path, source_range: DataRange, new: Path, target_range: DataRange) -> None:
    """Copies bytes of one library over those of another, in pieces."""
    if source_range.size != target_range.size:
        raise KernelscopeError(f"{source_range.name} has {target_range.size} bytes instead of {source_range.size}")
    with open(old, "rb") as source, open(new, "r+b") as target:
        target.seek(target_range.offset)
        copy_bytes(source, source_range.offset, target, source_range.size)


def _bytes(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size)
