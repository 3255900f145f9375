"""URLs are read in ranges, through fsspec."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from kernelscope.artifact import open_artifact, remote_file
from kernelscope.errors import KernelscopeError
from tests.artifact.packages import PREFIX, WRAPPER, write_package

fsspec = pytest.importorskip("fsspec")
from fsspec.spec import AbstractBufferedFile, AbstractFileSystem  # noqa: E402


class CountingFile(AbstractBufferedFile):  # type: ignore[misc]
    fetched = 0

    def _fetch_range(self, start: int, end: int) -> bytes:
        CountingFile.fetched += end - start
        data = Path(self.path).read_bytes()
        return data[start:end]


class CountingFileSystem(AbstractFileSystem):  # type: ignore[misc]
    protocol = "counting"

    def _open(self, path: str, mode: str = "rb", **options: object) -> CountingFile:
        return CountingFile(self, path, mode, size=Path(path).stat().st_size, **options)

    def isdir(self, path: str) -> bool:
        return Path(path).is_dir()

    def info(self, path: str, **options: object) -> dict[str, object]:
        return {"name": path, "size": Path(path).stat().st_size, "type": "file"}


@pytest.fixture
def counting() -> type[CountingFile]:
    fsspec.register_implementation("counting", CountingFileSystem, clobber=True)
    CountingFile.fetched = 0
    return CountingFile


def test_package_in_memory_file_system_opens(tmp_path: Path) -> None:
    path = write_package(tmp_path / "a.pt2")
    fsspec.filesystem("memory").pipe("/a.pt2", path.read_bytes())
    (model,) = open_artifact("memory://a.pt2").models
    assert model.sources[0].text == WRAPPER


def test_only_the_blocks_with_sources_are_fetched(tmp_path: Path, counting: type[CountingFile]) -> None:
    members: dict[str, str | bytes] = {f"{PREFIX}a.wrapper.so": bytes(32 << 20), f"{PREFIX}a.wrapper.cpp": WRAPPER}
    path = write_package(tmp_path / "a.pt2", members, zipfile.ZIP_STORED)
    (model,) = open_artifact(f"counting://{path}").models
    assert model.sources[0].text == WRAPPER
    assert 0 < counting.fetched < 2 << 20


def test_missing_remote_file_is_one_error(counting: type[CountingFile]) -> None:
    with pytest.raises(KernelscopeError, match="can't be opened"):
        open_artifact("memory://absent.pt2")
    with pytest.raises(KernelscopeError, match="can't be opened"):
        open_artifact("nonsense://absent.pt2")


def test_without_fsspec_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_file, "find_spec", lambda name: None)
    with pytest.raises(KernelscopeError) as caught:
        open_artifact("s3://bucket/a.pt2")
    assert "pip install" in caught.value.one_line()
