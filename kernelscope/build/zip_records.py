"""The records of a zip file, as torch's own writer lays them out: data of stored members aligned by a padding field."""

from __future__ import annotations

import struct
import zipfile
from dataclasses import dataclass, replace
from typing import BinaryIO

from kernelscope.errors import KernelscopeError

_LIMIT_32 = 0xFFFFFFFF
_ZIP64 = 1
#: The id of the extra field that torch pads records with (caffe2/serialize/inline_container.cc: "FB").
_PADDING = 0x4246
_TORCH_ALIGNMENT = 64
_DESCRIPTOR_FLAG = 0x8


@dataclass(frozen=True, slots=True)
class ZipEntry:
    """One member of the file being written."""

    name: str
    raw_name: bytes
    flags: int
    method: int
    date: int
    time: int
    made_by: int
    needed: int
    internal: int
    external: int
    extra: bytes  # without padding and 64-bit sizes
    comment: bytes
    alignment: int
    crc: int
    size: int
    stored_size: int
    offset: int = 0
    in_64_bits: bool = False

    @classmethod
    def of(cls, info: zipfile.ZipInfo, alignment: int) -> ZipEntry:
        """The member with its sizes, as the central directory has it."""
        year, month, day, hour, minute, second = info.date_time
        flags = info.flag_bits & ~_DESCRIPTOR_FLAG
        try:
            raw = info.orig_filename.encode("utf-8" if flags & 0x800 else "cp437")
        except UnicodeEncodeError:
            raw, flags = info.orig_filename.encode("utf-8"), flags | 0x800
        return cls(
            info.filename, raw, flags, info.compress_type, (year - 1980) << 9 | month << 5 | day,
            hour << 11 | minute << 5 | second // 2, info.create_system << 8 | info.create_version,
            info.extract_version, info.internal_attr, info.external_attr, _kept(info.extra), info.comment, alignment,
            info.CRC if hasattr(info, "CRC") else 0, info.file_size, info.compress_size,
        )  # fmt: skip

    def with_sizes(self, crc: int, size: int, stored_size: int) -> ZipEntry:
        """The member with other contents. Whether its header has 64-bit sizes is not changed once it is placed."""
        return replace(self, crc=crc, size=size, stored_size=stored_size)

    def at(self, offset: int) -> ZipEntry:
        """The member placed in the file."""
        large = max(self.size, self.stored_size) + (self.size >> 10) + 1024 >= _LIMIT_32
        return replace(self, offset=offset, in_64_bits=large)


def local_data_start(file: BinaryIO, info: zipfile.ZipInfo) -> int:
    """Where the bytes of a member start."""
    file.seek(info.header_offset)
    header = file.read(30)
    if len(header) != 30 or header[:4] != b"PK\x03\x04":
        raise KernelscopeError("its header is damaged", where=info.filename)
    name_length, extra_length = struct.unpack("<HH", header[26:30])
    return info.header_offset + 30 + int(name_length) + int(extra_length)


def alignment_of(info: zipfile.ZipInfo, start: int) -> int:
    """How the data of a stored member have to be aligned: as torch does where they were."""
    return _TORCH_ALIGNMENT if info.compress_type == zipfile.ZIP_STORED and start % _TORCH_ALIGNMENT == 0 else 1


def local_header(entry: ZipEntry) -> bytes:
    """The record in front of a member's data; its length depends on name, offset and width of sizes only."""
    extra = entry.extra
    sizes = (entry.stored_size, entry.size)
    if entry.in_64_bits:
        extra = struct.pack("<HHQQ", _ZIP64, 16, entry.size, entry.stored_size) + extra
        sizes = (_LIMIT_32, _LIMIT_32)
    end = entry.offset + 30 + len(entry.raw_name) + len(extra)
    if entry.alignment > 1 and end % entry.alignment:
        length = -(end + 4) % entry.alignment
        extra += struct.pack("<HH", _PADDING, length) + b"Z" * length
    needed = max(entry.needed, 45) if entry.in_64_bits else entry.needed
    fixed = struct.pack(
        "<4sHHHHHLLLHH", b"PK\x03\x04", needed, entry.flags, entry.method, entry.time, entry.date, entry.crc,
        *sizes, len(entry.raw_name), len(extra),
    )  # fmt: skip
    return fixed + entry.raw_name + extra


def central_header(entry: ZipEntry) -> bytes:
    """The member's record in the directory."""
    wide = [value for value in (entry.size, entry.stored_size, entry.offset) if value >= _LIMIT_32]
    extra = entry.extra
    if wide:
        extra = struct.pack(f"<HH{len(wide)}Q", _ZIP64, 8 * len(wide), *wide) + extra
    needed = max(entry.needed, 45) if wide else entry.needed
    fixed = struct.pack(
        "<4sHHHHHHLLLHHHHHLL", b"PK\x01\x02", entry.made_by, needed, entry.flags, entry.method, entry.time, entry.date,
        entry.crc, min(entry.stored_size, _LIMIT_32), min(entry.size, _LIMIT_32), len(entry.raw_name), len(extra),
        len(entry.comment), 0, entry.internal, entry.external, min(entry.offset, _LIMIT_32),
    )  # fmt: skip
    return fixed + entry.raw_name + extra + entry.comment


def end_records(count: int, start: int, size: int, comment: bytes) -> bytes:
    """What ends the file. torch writes the 64-bit records always; they are written where they are needed."""
    records = b""
    if count >= 0xFFFF or start >= _LIMIT_32 or size >= _LIMIT_32:
        records = struct.pack("<4sQHHLLQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, start)
        records += struct.pack("<4sLQL", b"PK\x06\x07", 0, start + size, 1)
    fewer = min(count, 0xFFFF)
    return records + struct.pack(
        "<4sHHHHLLH", b"PK\x05\x06", 0, 0, fewer, fewer, min(size, _LIMIT_32), min(start, _LIMIT_32), len(comment)
    ) + comment  # fmt: skip


def _kept(extra: bytes) -> bytes:
    """The extra fields that are not rewritten."""
    kept = b""
    while len(extra) >= 4:
        kind, length = struct.unpack("<HH", extra[:4])
        if kind not in (_ZIP64, _PADDING):
            kept += extra[: 4 + length]
        extra = extra[4 + length :]
    return kept
