"""The records of a zip file, as torch's own writer lays them out: data of stored members aligned by a padding field."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO

from kernelscope.errors import KernelscopeError

_LIMIT_32 = 0xFFFFFFFF
_ZIP64 = 1
#: The id of the extra field that torch pads records with (caffe2/serialize/inline_container.cc: "FB").
_PADDING = 0x4246
_TORCH_ALIGNMENT = 64
_DESCRIPTOR_FLAG = 0x8
_MADE_BY_MINIZ = 0x031E  # in the 64-bit end record, as torch's writer (miniz) has it
_VERSION_64 = 45


@dataclass(frozen=True, slots=True)
class ZipEntry:
    """One member of the file being written. `padded`: its data are aligned by torch's padding field. `trailing`: sizes
    and checksum follow the data, and are zero in front of them, as in every record that torch writes."""

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
    padded: bool
    crc: int
    size: int
    stored_size: int
    offset: int = 0

    @classmethod
    def of(cls, info: zipfile.ZipInfo, padded: bool) -> ZipEntry:
        """The member as the central directory has it."""
        year, month, day, hour, minute, second = info.date_time
        flags = info.flag_bits
        try:
            raw = info.orig_filename.encode("utf-8" if flags & 0x800 else "cp437")
        except UnicodeEncodeError:
            raw, flags = info.orig_filename.encode("utf-8"), flags | 0x800
        return cls(
            info.filename, raw, flags, info.compress_type, (year - 1980) << 9 | month << 5 | day,
            hour << 11 | minute << 5 | second // 2, info.create_system << 8 | info.create_version,
            info.extract_version, info.internal_attr, info.external_attr, _kept(info.extra), info.comment, padded,
            info.CRC, info.file_size, info.compress_size,
        )  # fmt: skip

    @property
    def trailing(self) -> bool:
        return bool(self.flags & _DESCRIPTOR_FLAG)

    @property
    def wide(self) -> bool:
        """Whether sizes need 64 bits, told by the size alone so that it is known before the data are written."""
        return self.size + (self.size >> 10) + 1024 >= _LIMIT_32 if not self.trailing else self.size >= _LIMIT_32

    def named(self, name: str) -> ZipEntry:
        """A new member made in the way of this one."""
        return replace(self, name=name, raw_name=name.encode("utf-8"), flags=self.flags | 0x800, comment=b"", extra=b"")

    def with_sizes(self, crc: int, size: int, stored_size: int) -> ZipEntry:
        """The member with other contents."""
        return replace(self, crc=crc, size=size, stored_size=stored_size)

    def at(self, offset: int) -> ZipEntry:
        """The member placed in the file."""
        return replace(self, offset=offset)


@dataclass(frozen=True, slots=True)
class LocalRecord:
    """Where a member's data start, and whether torch's padding field is in front of them."""

    start: int
    padded: bool


def local_record(file: BinaryIO, info: zipfile.ZipInfo) -> LocalRecord:
    """What stands in front of a member's data; KernelscopeError when it is damaged."""
    file.seek(info.header_offset)
    header = file.read(30)
    if len(header) != 30 or header[:4] != b"PK\x03\x04":
        raise KernelscopeError("its header is damaged", where=info.filename)
    name_length, extra_length = struct.unpack("<HH", header[26:30])
    file.seek(info.header_offset + 30 + name_length)
    fields = dict(_fields(file.read(extra_length)))
    return LocalRecord(info.header_offset + 30 + int(name_length) + int(extra_length), _PADDING in fields)


def local_header(entry: ZipEntry) -> bytes:
    """The record in front of a member's data; its length depends on name, offset and size only."""
    extra, sizes = entry.extra, (entry.stored_size, entry.size)
    if entry.trailing:
        extra = _wide_field(entry, entry.wide) + extra
        sizes = (0, 0)
    elif entry.wide:
        extra = struct.pack("<HHQQ", _ZIP64, 16, entry.size, entry.stored_size) + extra
        sizes = (_LIMIT_32, _LIMIT_32)
    if entry.padded:
        start = entry.offset + 30 + len(entry.raw_name) + len(extra) + 4
        length = -start % _TORCH_ALIGNMENT
        extra += struct.pack("<HH", _PADDING, length) + b"Z" * length
    needed = max(entry.needed, _VERSION_64) if entry.wide and not entry.trailing else entry.needed
    fixed = struct.pack(
        "<4sHHHHHLLLHH", b"PK\x03\x04", needed, entry.flags, entry.method, entry.time, entry.date,
        0 if entry.trailing else entry.crc, *sizes, len(entry.raw_name), len(extra),
    )  # fmt: skip
    return fixed + entry.raw_name + extra


def trailing_record(entry: ZipEntry) -> bytes:
    """Checksum and sizes behind the data, for a member that has them there."""
    if not entry.trailing:
        return b""
    wide = entry.wide or entry.offset >= _LIMIT_32
    return struct.pack("<4sLQQ" if wide else "<4sLLL", b"PK\x07\x08", entry.crc, entry.stored_size, entry.size)


def central_header(entry: ZipEntry) -> bytes:
    """The member's record in the directory."""
    extra = _wide_field(entry, entry.size >= _LIMIT_32 or entry.stored_size >= _LIMIT_32) + entry.extra
    sizes = (min(entry.stored_size, _LIMIT_32), min(entry.size, _LIMIT_32))
    if max(entry.size, entry.stored_size) >= _LIMIT_32:
        sizes = (_LIMIT_32, _LIMIT_32)
    fixed = struct.pack(
        "<4sHHHHHHLLLHHHHHLL", b"PK\x01\x02", entry.made_by, entry.needed, entry.flags, entry.method, entry.time,
        entry.date, entry.crc, *sizes, len(entry.raw_name), len(extra), len(entry.comment), 0, entry.internal,
        entry.external, min(entry.offset, _LIMIT_32),
    )  # fmt: skip
    return fixed + entry.raw_name + extra + entry.comment


def end_records(count: int, start: int, size: int, comment: bytes, *, wide: bool) -> bytes:
    """What ends the file; with `wide` the 64-bit records too, which torch writes always."""
    records = b""
    if wide or count >= 0xFFFF or start >= _LIMIT_32 or size >= _LIMIT_32:
        versions = (_MADE_BY_MINIZ, _VERSION_64)
        records = struct.pack("<4sQHHLLQQQQ", b"PK\x06\x06", 44, *versions, 0, 0, count, count, size, start)
        records += struct.pack("<4sLQL", b"PK\x06\x07", 0, start + size, 1)
    fewer = min(count, 0xFFFF)
    classic = (min(size, _LIMIT_32), min(start, _LIMIT_32), len(comment))
    return records + struct.pack("<4sHHHHLLH", b"PK\x05\x06", 0, 0, fewer, fewer, *classic) + comment


def has_wide_end(file: BinaryIO, comment: bytes) -> bool:
    """Whether a file ends with 64-bit records."""
    end = file.seek(0, 2) - 22 - len(comment) - 20
    if end < 0:
        return False
    file.seek(end)
    return file.read(4) == b"PK\x06\x07"


def _wide_field(entry: ZipEntry, sizes: bool) -> bytes:
    """64-bit sizes and offset, as far as they are needed."""
    values = [entry.size, entry.stored_size] if sizes else []
    values += [entry.offset] if entry.offset >= _LIMIT_32 else []
    return struct.pack(f"<HH{len(values)}Q", _ZIP64, 8 * len(values), *values) if values else b""


def _fields(extra: bytes) -> Iterator[tuple[int, bytes]]:
    while len(extra) >= 4:
        kind, length = struct.unpack("<HH", extra[:4])
        yield kind, extra[: 4 + length]
        extra = extra[4 + length :]


def _kept(extra: bytes) -> bytes:
    """The extra fields that are not rewritten."""
    return b"".join(field for kind, field in _fields(extra) if kind not in (_ZIP64, _PADDING))
