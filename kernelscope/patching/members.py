"""Members of a package as they are stored, beside what an audit reads of them."""

from __future__ import annotations

import os
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import BinaryIO

from kernelscope.artifact.contents import PATCH_RECORD, Model, SourceRole
from kernelscope.errors import KernelscopeError

_MOST_TEXT = 512 << 20


@dataclass(frozen=True, slots=True)
class ModelMembers:
    """Names of a model's members: its wrapper, the CPU kernels' source, its library, its folder."""

    wrapper: str
    kernel_source: str | None
    library: str | None
    folder: str


class PackageMembers:
    """Reads members of one package, which stays open: it may be deleted or replaced meanwhile."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self.file: BinaryIO = open(path, "rb")  # noqa: SIM115  closed with this
        except OSError as error:
            raise KernelscopeError(f"can't be read: {error.strerror or error}", where=path) from None
        self._state = _state(self.file)
        try:
            with zipfile.ZipFile(self.file) as archive:
                self.names = tuple(info.filename for info in archive.infolist())
        except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            self.file.close()
            raise KernelscopeError(
                f"not a package: {error}", where=path, try_this="give a .pt2 file that AOTInductor wrote"
            ) from None

    def __enter__(self) -> PackageMembers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.file.close()

    def check_unchanged(self) -> None:
        """KernelscopeError when the package was written to, or another one put in its place, since it was opened."""
        same = _state(self.file) == self._state
        with suppress(FileNotFoundError):
            same = same and os.path.samestat(os.stat(self.path), os.fstat(self.file.fileno()))
        if not same:
            raise KernelscopeError("was changed while it was being patched", where=self.path, try_this="patch it again")

    @property
    def record(self) -> str:
        """Where the record of a patch belongs."""
        root = self.names[0].partition("/")[0] if self.names else "package"
        return f"{root}/{PATCH_RECORD}"

    @property
    def is_patched(self) -> bool:
        return self.record in self.names

    def of(self, model: Model) -> ModelMembers:
        """Where the parts of a model are; KernelscopeError when it has no single C++ wrapper."""
        wrappers = [s.path for s in model.sources if s.role is SourceRole.CPP_WRAPPER and s.path in self.names]
        if len(wrappers) != 1:
            raise KernelscopeError(f"the model {model.name} has {len(wrappers)} C++ wrappers", where=self.path)
        folder = wrappers[0].rpartition("/")[0]
        inside = [n for n in self.names if n.rpartition("/")[0] == folder]
        kernels = [n for n in inside if n.endswith(".kernel.cpp")]
        libraries = [n for n in inside if n.endswith(".so")]
        return ModelMembers(
            wrappers[0], kernels[0] if len(kernels) == 1 else None, libraries[0] if len(libraries) == 1 else None,
            folder,
        )  # fmt: skip

    def text(self, name: str) -> str:
        """A source member, exactly; KernelscopeError where it is not UTF-8."""
        with self._reading(name), zipfile.ZipFile(self.file) as archive:
            if archive.getinfo(name).file_size > _MOST_TEXT:
                raise KernelscopeError("a source of absurd size", where=name)
            data = archive.read(name)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise KernelscopeError("the source is not UTF-8", where=name) from None

    def extract(self, name: str, target: Path) -> None:
        """Copies a member to a file in pieces."""
        with (
            self._reading(name), zipfile.ZipFile(self.file) as archive, archive.open(name) as member,
            target.open("wb") as file,
        ):  # fmt: skip
            shutil.copyfileobj(member, file, 4 << 20)

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            self.check_unchanged()
            raise KernelscopeError(f"{name} can't be read: {error}", where=self.path) from None


def _state(file: BinaryIO) -> tuple[int, int]:
    found = os.fstat(file.fileno())
    return found.st_size, found.st_mtime_ns


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    found = sha256()
    with path.open("rb") as file:
        while piece := file.read(4 << 20):
            found.update(piece)
    return found.hexdigest()


class DigestAhead:
    """The SHA-256 of an open file, computed while something else is done. Nobody waits for it who does not ask."""

    def __init__(self, file: BinaryIO) -> None:
        self._number = os.dup(file.fileno())
        self._result: str | OSError | None = None
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def result(self) -> str:
        """KernelscopeError where the file can't be read to its end."""
        self._thread.join()
        if not isinstance(self._result, str):
            raise KernelscopeError(f"the package can't be read: {self._result}")
        return self._result

    def _run(self) -> None:
        found = sha256()
        place = 0
        try:
            while piece := os.pread(self._number, 4 << 20, place):  # leaves the file's own position alone
                found.update(piece)
                place += len(piece)
            self._result = found.hexdigest()
        except OSError as error:
            self._result = error
        finally:
            os.close(self._number)
