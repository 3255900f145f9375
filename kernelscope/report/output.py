"""Where a report goes: a stream that may close early, or a file that is whole or absent."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path

from kernelscope.errors import KernelscopeError


def write_stdout(text: str) -> None:
    """Write to stdout; a reader that has gone away is no error."""
    if sys.stdout is None:
        raise KernelscopeError("is closed", where="stdout", try_this="redirect it, or name a file for the report")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        # The interpreter flushes stdout once more when it ends, which must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            reason = error.strerror or "unknown error"
            raise KernelscopeError(f"cannot be written: {reason}", where="stdout") from None


def check_writable(path: str) -> None:
    """Raise before the work is done if a report cannot be written there."""
    folder = Path(path).absolute().parent
    if Path(path).is_dir():
        raise KernelscopeError("is a folder", where=path, try_this="give -o the name of a file")
    if not folder.is_dir():
        raise KernelscopeError("the folder does not exist", where=str(folder), try_this="make it, or give -o another")
    if not os.access(folder if not Path(path).exists() else path, os.W_OK):
        raise KernelscopeError("is not writable", where=path, try_this="give -o a file in a folder of yours")


def write_file(path: str, text: str) -> None:
    """Replace the file at once, so that no one reads half a report; devices and pipes are written to directly."""
    target = Path(path)
    try:
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            target.write_text(text, encoding="utf-8")
        else:
            _replace(target.resolve(), text)
    except OSError as error:
        reason = error.strerror or "unknown error"
        raise KernelscopeError(f"cannot be written: {reason}", where=path, try_this="give -o another file") from error


def _replace(target: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:50]}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.chmod(name, _mode(target))
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _mode(target: Path) -> int:
    """The mode of the file that is replaced, or that of a new one."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
