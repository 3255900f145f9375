"""Lists a zip without trusting it: its directory, names and sizes are checked before anything is decompressed."""

from __future__ import annotations

import re
import stat
import struct
import weakref
import zipfile
import zlib
from collections import Counter
from typing import BinaryIO

from kernelscope.artifact.contents import Damage
from kernelscope.artifact.limits import Limits
from kernelscope.artifact.members import Listing, Member, MemberError, check_size, is_wanted
from kernelscope.errors import KernelscopeError

_CHUNK = 1 << 20
_TAIL = 1 << 17  # end records and the longest comment
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others may need gigabytes to decompress a few bytes
_BAD_ZIP = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, OverflowError, RuntimeError)


class _GuardedFile:
    """What zipfile reads from: refuses to return more bytes at a time than was allowed."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._allowed = 0
        self.size = raw.seek(0, 2)

    def allow(self, size: int) -> None:
        self._allowed = size

    def read(self, size: int = -1) -> bytes:
        size = self.size - self._raw.tell() if size < 0 else size
        if size > self._allowed:
            raise zipfile.BadZipFile(f"it asks for {size:,} bytes at a time")
        return self._raw.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._raw.seek(offset, whence)

    def tell(self) -> int:
        return self._raw.tell()

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        self._raw.close()


def list_zip(raw: BinaryIO, where: str, limits: Limits) -> Listing:
    """The wanted members of a zip; KernelscopeError when its directory can't be read."""
    try:
        file = _GuardedFile(raw)
        file.allow(limits.directory + _TAIL)
        archive = zipfile.ZipFile(file)  # type: ignore[arg-type, type-var, unused-ignore]
    except (*_BAD_ZIP, OSError) as error:
        raw.close()
        what = f"not a readable zip archive ({_text(error)})"
        raise KernelscopeError(what, where=where, try_this="it may be truncated: copy or export it again") from None
    weakref.finalize(archive, raw.close)
    return _Zip(archive, file, where, limits).listing()


class _Zip:
    def __init__(self, archive: zipfile.ZipFile, file: _GuardedFile, where: str, limits: Limits) -> None:
        self._archive, self._file, self._where, self._limits = archive, file, where, limits
        self._times = Counter(entry.filename for entry in archive.infolist())

    def listing(self) -> Listing:
        members: list[Member] = []
        damaged: dict[str, Damage] = {}
        for entry in self._archive.infolist():
            what = self._refusal(entry)
            if what:
                path = printable(entry.orig_filename)
                damaged[path] = Damage(path, what)
            elif is_wanted(entry.filename) and not entry.is_dir():
                members.append(self._member(entry))
        return Listing(tuple(members), tuple(damaged.values()))

    def _member(self, entry: zipfile.ZipInfo) -> Member:
        return Member(entry.filename, entry.filename, entry.file_size, lambda limit: self._read(entry, limit))

    def _refusal(self, entry: zipfile.ZipInfo) -> str | None:
        """Why an entry is not read, None when it may be."""
        if unsafe_name(entry.orig_filename):
            return "its name leads out of the archive or is no file name; not followed"
        if not is_wanted(entry.filename):
            return None
        if self._times[entry.filename] > 1:
            return f"stored {self._times[entry.filename]} times under this name; which one runs is not known"
        if stat.S_ISLNK(entry.external_attr >> 16):
            return "a symbolic link; not followed"
        if entry.flag_bits & 1:
            return "encrypted"
        if entry.compress_type not in _METHODS:
            return f"compressed by method {entry.compress_type}, which torch does not write"
        if entry.compress_size > self._file.size:
            return f"declares {entry.compress_size:,} stored bytes in an archive of {self._file.size:,}"
        return None

    def _read(self, entry: zipfile.ZipInfo, limit: int) -> bytes:
        check_size(entry.file_size, limit)
        self._check_ratio(entry, entry.file_size)
        self._file.allow(max(_CHUNK, _TAIL))
        data = bytearray()
        try:
            with self._archive.open(entry) as stream:
                while chunk := stream.read(_CHUNK):
                    data += chunk
                    check_size(len(data), limit)
                    self._check_ratio(entry, len(data))
        except (*_BAD_ZIP, OSError) as error:
            raise MemberError(_text(error)) from None
        if len(data) != entry.file_size:
            raise MemberError(f"{len(data):,} bytes where the archive's directory declares {entry.file_size:,}")
        return bytes(data)

    def _check_ratio(self, entry: zipfile.ZipInfo, size: int) -> None:
        if size > self._limits.ratio_from and size > self._limits.ratio * max(entry.compress_size, 1):
            raise MemberError(f"decompresses to more than {self._limits.ratio} times its stored size")


def unsafe_name(name: str) -> bool:
    """Whether a member's name could lead out of the archive, or hides a part of itself."""
    if re.search(r"[\x00-\x1f\x7f\\]", name) or re.match(r"/|[A-Za-z]:", name):
        return True
    return not name or ".." in name.split("/")


def printable(name: str) -> str:
    """A member's name, safe to print on one line."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in name)[:1000]


def _text(error: Exception) -> str:
    if isinstance(error, RuntimeError) and not isinstance(error, NotImplementedError | RecursionError):
        return "encrypted"
    return " ".join(str(error).split())[:200] or type(error).__name__
