"""Opening of remote files by range reads, through fsspec when it is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import BinaryIO, cast

from kernelscope.errors import KernelscopeError

_BLOCK = 1 << 18


def is_remote(path: str) -> bool:
    return "://" in path


def open_remote(url: str) -> BinaryIO:
    """A seekable file whose reads fetch only the blocks that they touch."""
    if find_spec("fsspec") is None:
        what = "reading a URL needs the package fsspec"
        raise KernelscopeError(what, where=url, try_this="install it with: pip install 'kernelscope[remote]'")
    import fsspec  # type: ignore[import-untyped, unused-ignore]

    try:
        system, path = fsspec.core.url_to_fs(url)
        if system.isdir(path):
            what = "a remote folder; only single files are read remotely"
            raise KernelscopeError(what, where=url, try_this="copy it to this machine first")
        file = system.open(path, "rb", block_size=_BLOCK, cache_type="blockcache")
        seekable = bool(file.seekable())
    except KernelscopeError:
        raise
    except Exception as error:  # noqa: BLE001  every file system behind fsspec has exceptions of its own
        what = f"can't be opened: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise KernelscopeError(what, where=url, try_this="check the address and the credentials") from None
    if not seekable:
        file.close()
        what = "the server does not answer range requests"
        raise KernelscopeError(what, where=url, try_this="download the file first")
    return cast(BinaryIO, _OneErrorType(file))


class _OneErrorType:
    """Turns whatever a remote file system raises while reading into OSError."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        try:
            return self._file.read(size)
        except Exception as error:  # noqa: BLE001  as in open_remote
            raise OSError(f"reading failed: {type(error).__name__}: {error}") from None

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()
