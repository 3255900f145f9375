"""Opening of local files: regular files only, and never a wait for a pipe or a device."""

from __future__ import annotations

import os
import stat
from typing import BinaryIO

from kernelscope.artifact.members import MemberError, check_size


def open_regular(path: str) -> BinaryIO:
    """The file, opened for reading; MemberError unless it is a regular file that may be read."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise MemberError(f"{kind_of(os.stat(path).st_mode)}, not a regular file")
        descriptor = os.open(path, flags)
    except OSError as error:
        raise MemberError(reason_of(error)) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise MemberError("not a regular file")
    return os.fdopen(descriptor, "rb")


def read_regular(path: str, limit: int) -> bytes:
    """All bytes of a regular file; MemberError when there are more than the limit."""
    with open_regular(path) as file:
        check_size(os.fstat(file.fileno()).st_size, limit)
        try:
            data = file.read(limit + 1)
        except OSError as error:
            raise MemberError(reason_of(error)) from None
    check_size(len(data), limit)
    return data


def kind_of(mode: int) -> str:
    """What a file that is not a regular one is."""
    kinds = (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISCHR, "a character device"),
        (stat.S_ISBLK, "a block device"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISLNK, "a symbolic link"),
    )
    return next((name for test, name in kinds if test(mode)), "a special file")


def reason_of(error: OSError) -> str:
    """The operating system's reason, without the path."""
    return (error.strerror or type(error).__name__).lower()
