"""One section of a 64-bit little-endian ELF file, as cubins are; the rest of the file is not looked at."""

from __future__ import annotations

import struct

_HEADER = struct.Struct("<16s2HI3QI6H")
_SECTION = struct.Struct("<2I4Q2I2Q")
_CLASS_64, _LITTLE_ENDIAN = 2, 1
_NO_BITS = 8  # a section without bytes in the file
_COMPRESSED = 0x800


class ElfError(Exception):
    """Not such a file, or one whose tables lead out of it; the text says which."""


def elf_section(data: bytes, name: str) -> bytes | None:
    """The bytes of a section, None where the file has none of that name."""
    headers, names = _section_headers(data)
    wanted = name.encode() + b"\0"
    for label, kind, flags, _, offset, size, *_ in headers:
        if names[label : label + len(wanted)] != wanted:
            continue
        if kind == _NO_BITS or flags & _COMPRESSED:
            raise ElfError(f"{name} is compressed or empty")
        return _part(data, offset, size)
    return None


def _section_headers(data: bytes) -> tuple[list[tuple[int, ...]], bytes]:
    """All section headers, and the names that they point into."""
    if len(data) < _HEADER.size or data[:4] != b"\x7fELF":
        raise ElfError("not an ELF file")
    if (data[4], data[5]) != (_CLASS_64, _LITTLE_ENDIAN):
        raise ElfError("not a 64-bit little-endian ELF file")
    *_, start, _, _, _, _, entry_size, count, names_index = _HEADER.unpack_from(data)
    if entry_size != _SECTION.size or not names_index < count:
        raise ElfError("its section table is damaged")
    headers = list(_SECTION.iter_unpack(_part(data, start, count * entry_size)))
    _, _, _, _, offset, size, *_ = headers[names_index]
    return headers, _part(data, offset, size)


def _part(data: bytes, offset: int, size: int) -> bytes:
    if offset + size > len(data):
        raise ElfError("it is cut off")
    return data[offset : offset + size]
