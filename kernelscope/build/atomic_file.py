"""A file that appears under its name only when it is complete."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from kernelscope.errors import KernelscopeError

_MODE = 0o666
#: Where an unnamed file fails with these, a named one would as well.
_FINAL = frozenset({errno.EACCES, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.ENOSPC, errno.EDQUOT, errno.EPERM})


@dataclass(frozen=True, slots=True)
class _Draft:
    """The file being written, and its temporary name where it needs one."""

    file: BinaryIO
    name: Path | None


@contextmanager
def atomic_file(target: str) -> Iterator[BinaryIO]:
    """A new file to write to, put in the place of `target` at the end of the block.

    Where the file system can, the file has no name until then, so that even a killed process leaves nothing behind."""
    path = Path(target)
    if path.is_dir():
        raise KernelscopeError("a folder, not a file", where=target, try_this="name the file to write")
    try:
        draft = _draft(path)
        try:
            with draft.file:
                yield draft.file
                draft.file.flush()
                os.fsync(draft.file.fileno())
                _publish(draft, path)
        finally:
            if draft.name is not None:
                draft.name.unlink(missing_ok=True)
    except OSError as error:
        what = error.strerror or str(error)
        raise KernelscopeError(f"can't be written: {what}", where=target, try_this="the input is unchanged") from None


def _draft(path: Path) -> _Draft:
    number = _unnamed(path.parent)
    if number is not None:
        return _Draft(os.fdopen(number, "w+b"), None)
    name = _temporary(path)
    return _Draft(os.fdopen(os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, _MODE), "w+b"), name)


def _unnamed(folder: Path) -> int | None:
    flag = getattr(os, "O_TMPFILE", 0)
    if not flag or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return os.open(folder, os.O_RDWR | flag, _MODE)
    except OSError as error:
        if error.errno in _FINAL:
            raise
        return None


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name[:200]}.{secrets.token_hex(6)}.part")


def _publish(draft: _Draft, path: Path) -> None:
    """Gives the complete file its name, in place of whatever had it."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        if draft.name is not None:
            os.replace(draft.name, path)
        elif not os.path.lexists(path):
            _link(draft.file, path.name, folder)
        else:
            _replace(draft.file, path, folder)
        os.fsync(folder)
    finally:
        os.close(folder)


def _replace(file: BinaryIO, path: Path, folder: int) -> None:
    name = _temporary(path)
    _link(file, name.name, folder)
    try:
        os.replace(name, path)
    finally:
        name.unlink(missing_ok=True)


def _link(file: BinaryIO, name: str, folder: int) -> None:
    """Names an unnamed file. Only with folders given does Python call linkat, which can follow /proc's link."""
    source = f"/proc/self/fd/{file.fileno()}"
    os.link(source, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=True)
