"""Writes a package with some members replaced: all else is copied raw, and the file appears only when complete."""

from __future__ import annotations

import errno
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from kernelscope.build.atomic_file import NotWanted, atomic_file
from kernelscope.build.zip_records import (
    ZipEntry,
    central_header,
    end_records,
    has_wide_end,
    local_header,
    local_record,
    trailing_record,
)
from kernelscope.errors import KernelscopeError

#: Bytes copied at a time.
_CHUNK = 4 << 20

#: Called with the bytes written so far and the bytes that there will be, about.
ByteProgress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Content:
    """What a member is to hold: bytes, or a file that is copied in pieces."""

    data: bytes | Path

    @property
    def size(self) -> int:
        return self.data.stat().st_size if isinstance(self.data, Path) else len(self.data)


def rewrite_archive(
    source: str,
    target: str,
    replaced: Mapping[str, Content],
    added: Mapping[str, Content] | None = None,
    progress: ByteProgress | None = None,
    *,
    opened: BinaryIO | None = None,
    wanted: Callable[[str], bool] | None = None,
) -> None:
    """Write `target` as `source` with members replaced and others added at the end.

    Members keep their order, names, times, attributes and compression; stored ones start as aligned as they did. `opened`:
    the source, where it is open already. `wanted` looks at the complete file, under another name, before it appears."""
    if os.path.exists(target) and os.path.samefile(source, target):
        raise KernelscopeError("the output is the input", where=target, try_this="write to another file")
    with _opened(source, opened) as (file, archive):
        names = {info.filename for info in archive.infolist()}
        for name in replaced.keys() - names:
            raise KernelscopeError(f"no member {name} to replace", where=source)
        for name in (added or {}).keys() & names:
            raise KernelscopeError(f"a member {name} is there already", where=source)
        with atomic_file(target) as draft:
            _Writer(file, draft.file, progress).write(archive, replaced, added or {})
            draft.file.flush()
            if wanted is not None and not wanted(draft.path):
                raise NotWanted


@contextmanager
def _opened(source: str, opened: BinaryIO | None) -> Iterator[tuple[BinaryIO, zipfile.ZipFile]]:
    try:
        file = open(source, "rb") if opened is None else opened  # noqa: SIM115  closed below
    except OSError as error:
        raise KernelscopeError(error.strerror or str(error), where=source) from None
    with nullcontext() if file is opened else file:
        try:
            archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise KernelscopeError(f"not a readable package: {error}", where=source) from None
        with archive:
            yield file, archive


class _Writer:
    def __init__(self, source: BinaryIO, output: BinaryIO, progress: ByteProgress | None) -> None:
        self._source = source
        self._output = output
        self._progress = progress
        self._entries: list[ZipEntry] = []
        self._total = os.fstat(source.fileno()).st_size

    def write(self, archive: zipfile.ZipFile, replaced: Mapping[str, Content], added: Mapping[str, Content]) -> None:
        infos = archive.infolist()
        self._total += sum(content.size for content in (*replaced.values(), *added.values()))
        for info in infos:
            if info.flag_bits & 0x1:
                raise KernelscopeError("encrypted", where=info.filename)
            found = local_record(self._source, info)
            entry = ZipEntry.of(info, found.padded)
            content = replaced.get(info.filename)
            if content is None:
                self._copy(entry, found.start)
            else:
                self._new(entry, content)
        for name, content in added.items():
            self._new(self._template().named(name), content)
        self._finish(archive.comment)

    def _template(self) -> ZipEntry:
        """What a new member is to look like: the archive's last one."""
        if self._entries:
            return self._entries[-1]
        info = zipfile.ZipInfo("")
        info.CRC = 0
        return ZipEntry.of(info, padded=False)

    def _copy(self, entry: ZipEntry, start: int) -> None:
        """The member's bytes as they are in the source, compressed or not."""
        placed = self._place(entry)
        self._output.flush()
        copied = _copy_range(self._source, start, self._output, entry.stored_size, self._tell)
        if copied != entry.stored_size:
            raise KernelscopeError("the package ends within this member", where=entry.name)
        self._output.write(trailing_record(placed))
        self._entries.append(placed)

    def _new(self, entry: ZipEntry, content: Content) -> None:
        """New bytes for a member. Sizes and checksum come first in the file, so they are filled in afterwards."""
        sized = entry.with_sizes(0, content.size, content.size)
        placed = self._place(sized)
        crc = stored = size = 0
        compressor = zlib.compressobj(6, zlib.DEFLATED, -15) if entry.method == zipfile.ZIP_DEFLATED else None
        for piece in _pieces(content):
            crc, size = zlib.crc32(piece, crc), size + len(piece)
            packed = piece if compressor is None else compressor.compress(piece)
            stored += self._output.write(packed)
            self._tell(len(piece))
        if compressor is not None:
            stored += self._output.write(compressor.flush())
        final = placed.with_sizes(crc, size, stored)
        self._output.write(trailing_record(final))
        end = self._output.tell()
        self._output.seek(placed.offset)
        self._output.write(local_header(final))
        self._output.seek(end)
        self._entries.append(final)

    def _place(self, entry: ZipEntry) -> ZipEntry:
        """Writes the local header at the end of the file, padded so that the data start where they should."""
        placed = entry.at(self._output.tell())
        self._output.write(local_header(placed))
        return placed

    def _finish(self, comment: bytes) -> None:
        start = self._output.tell()
        for entry in self._entries:
            self._output.write(central_header(entry))
        wide = has_wide_end(self._source, comment)
        size = self._output.tell() - start
        self._output.write(end_records(len(self._entries), start, size, comment, wide=wide))

    def _tell(self, _piece: int) -> None:
        if self._progress is not None:
            self._progress(min(self._output.tell(), self._total), self._total)


def _pieces(content: Content) -> Iterator[bytes]:
    if isinstance(content.data, bytes):
        yield content.data
        return
    with open(content.data, "rb") as file:
        while piece := file.read(_CHUNK):
            yield piece


def _copy_range(source: BinaryIO, start: int, output: BinaryIO, size: int, tell: Callable[[int], None]) -> int:
    """Copies bytes within the kernel where it can, else in pieces; returns how many there were."""
    done = 0
    place = output.tell()
    while done < size and hasattr(os, "copy_file_range"):
        try:
            count = os.copy_file_range(
                source.fileno(), output.fileno(), min(size - done, 64 << 20), start + done, place + done
            )
        except OSError as error:
            if done or error.errno in _FATAL:
                raise
            break
        if count == 0:
            break
        done += count
        output.seek(place + done)
        tell(count)
    source.seek(start + done)
    output.seek(place + done)
    while done < size:
        piece = source.read(min(_CHUNK, size - done))
        if not piece:
            break
        output.write(piece)
        done += len(piece)
        tell(len(piece))
    return done


_FATAL = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)


def copy_bytes(source: BinaryIO, start: int, output: BinaryIO, size: int) -> None:
    """Copies `size` bytes from `start` to where `output` stands, in pieces."""
    source.seek(start)
    left = size
    while left:
        piece = source.read(min(_CHUNK, left))
        if not piece:
            raise KernelscopeError("the file ends too early")
        output.write(piece)
        left -= len(piece)
