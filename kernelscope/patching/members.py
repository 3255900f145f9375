"""Members of a package as they are stored, beside what an audit reads of them."""

from __future__ import annotations

import shutil
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Thread

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
    """Reads members of one package."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            with zipfile.ZipFile(path) as archive:
                self.names = tuple(info.filename for info in archive.infolist())
        except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise KernelscopeError(
                f"not a package: {error}", where=path, try_this="give a .pt2 file that AOTInductor wrote"
            ) from None

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
        with zipfile.ZipFile(self.path) as archive:
            if archive.getinfo(name).file_size > _MOST_TEXT:
                raise KernelscopeError("a source of absurd size", where=name)
            data = archive.read(name)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise KernelscopeError("the source is not UTF-8", where=name) from None

    def extract(self, name: str, target: Path) -> None:
        """Copies a member to a file in pieces."""
        with zipfile.ZipFile(self.path) as archive, archive.open(name) as member, target.open("wb") as file:
            shutil.copyfileobj(member, file, 4 << 20)


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
    """The SHA-256 of a file, computed while something else is done. Nobody waits for it who does not ask."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: str | None = None
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def result(self) -> str:
        self._thread.join()
        return self._found if self._found is not None else file_digest(self._path)

    def _run(self) -> None:
        with suppress(OSError):
            self._found = file_digest(self._path)
