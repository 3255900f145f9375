"""Temporary folders that are gone when the process is, and errors that say so where there is no room for them."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

from kernelscope.build.guard import Kind, hold, release
from kernelscope.errors import KernelscopeError

#: Errors of a place where nothing more can be written.
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO})


class Scratch:
    """A temporary folder, also as a context manager. Within that, a disk that is full is a KernelscopeError."""

    def __init__(self) -> None:
        try:
            self.path = Path(tempfile.gettempdir(), f"kernelscope-{secrets.token_hex(6)}")
            hold(Kind.PATH, str(self.path))
            self.path.mkdir(mode=0o700)
        except OSError as error:
            raise no_room(error.strerror or str(error)) from None

    def close(self) -> None:
        """Removes the folder."""
        shutil.rmtree(self.path, ignore_errors=True)
        release(Kind.PATH, str(self.path))

    def __enter__(self) -> Path:
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise no_room(os.strerror(error.errno or 0)) from None


def no_room(why: str) -> KernelscopeError:
    """The error for temporary files that can't be written."""
    folder = tempfile.tempdir or os.environ.get("TMPDIR") or "/tmp"  # noqa: S108  named in the message only
    return KernelscopeError(
        f"temporary files can't be written: {why}", where=str(folder),
        try_this="free space there, or set TMPDIR to a folder with room",
    )  # fmt: skip
