"""A file that appears under its name only when it is complete."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from kernelscope.build.guard import Kind, held, hold, release
from kernelscope.build.scratch import NO_ROOM
from kernelscope.errors import KernelscopeError

_MODE = 0o666
#: Where an unnamed file fails with these, a named one would as well.
_FINAL = frozenset({errno.EACCES, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.ENOSPC, errno.EDQUOT, errno.EPERM})


@dataclass(frozen=True, slots=True)
class Draft:
    """The file being written, and its temporary name where it needs one."""

    file: BinaryIO
    name: Path | None

    @property
    def path(self) -> str:
        """Where this process and its children can read it before it has its own name."""
        return str(self.name) if self.name is not None else f"/proc/{os.getpid()}/fd/{self.file.fileno()}"


class NotWanted(Exception):
    """Raised within `atomic_file`: the file is not to appear, and that is no error."""


def check_target(target: str) -> Path:
    """Where a file of this name is to be put, symbolic links followed; KernelscopeError where it can't be."""
    if not target:
        raise KernelscopeError("an empty name", where="the file to write", try_this="name it")
    path = Path(os.path.realpath(target))
    try:
        found = _kind_of(path)
        if found is not None and stat.S_ISDIR(found):
            raise KernelscopeError("a folder, not a file", where=target, try_this="name the file to write")
        if found is not None and not stat.S_ISREG(found):
            raise KernelscopeError("not a regular file, which a package has to be", where=target, try_this="name another file")
        if target.endswith(os.sep):
            raise KernelscopeError("not the name of a file", where=target, try_this="name the file to write")
        if not path.parent.is_dir():
            raise KernelscopeError("the folder does not exist", where=str(path.parent), try_this="make it, or name another")
    except OSError as error:
        raise _unwritable(target, error) from None
    if not all(os.access(place, os.W_OK) for place in (path.parent, path) if place.exists()):
        raise KernelscopeError("is not writable", where=target, try_this="name a file in a folder of yours")
    return path


def _kind_of(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise KernelscopeError("not a folder", where=str(path.parent), try_this="name a file in a folder") from None


@contextmanager
def atomic_file(target: str) -> Iterator[Draft]:
    """A new file to write to, put in the place of `target` at the end of the block.

    Where the file system can, the file has no name until then, so that even a killed process leaves nothing behind."""
    path = check_target(target)
    try:
        draft = _draft(path)
        try:
            with draft.file:
                yield draft
                draft.file.flush()
                os.fsync(draft.file.fileno())
                _publish(draft, path)
        except NotWanted:
            pass
        finally:
            if draft.name is not None:
                draft.name.unlink(missing_ok=True)
                release(Kind.PATH, str(draft.name))
    except OSError as error:
        raise _unwritable(target, error) from None


def _unwritable(target: str, error: OSError) -> KernelscopeError:
    what = error.strerror or str(error)
    cure = "free space there, or name a file elsewhere" if error.errno in NO_ROOM else "name another file"
    return KernelscopeError(f"can't be written: {what}", where=target, try_this=f"{cure}; the input is unchanged")


def _draft(path: Path) -> Draft:
    number = _unnamed(path.parent)
    if number is not None:
        return Draft(os.fdopen(number, "w+b"), None)
    name = _temporary(path)
    hold(Kind.PATH, str(name))
    return Draft(os.fdopen(os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, _MODE), "w+b"), name)


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


def _publish(draft: Draft, path: Path) -> None:
    """Gives the complete file its name, in place of whatever had it and with its permissions."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        if path.exists():
            os.fchmod(draft.file.fileno(), stat.S_IMODE(path.stat().st_mode))
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
    with held(Kind.PATH, str(name)):
        try:
            _link(file, name.name, folder)
            os.replace(name, path)
        finally:
            name.unlink(missing_ok=True)


def _link(file: BinaryIO, name: str, folder: int) -> None:
    """Names an unnamed file. Only with folders given does Python call linkat, which can follow /proc's link."""
    source = f"/proc/self/fd/{file.fileno()}"
    os.link(source, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=True)
