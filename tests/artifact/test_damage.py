"""Hostile and damaged artifacts end in one error or in damage of the part that is bad, within bounds."""

from __future__ import annotations

import os
import stat
import struct
import time
import warnings
import zipfile
from pathlib import Path

import pytest

from kernelscope.artifact import open_artifact
from kernelscope.artifact.contents import Artifact
from kernelscope.artifact.limits import MIB, Limits
from kernelscope.artifact.opening import open_artifact as open_with_limits
from kernelscope.errors import KernelscopeError
from tests.artifact.packages import KERNEL, PREFIX, WRAPPER, write_package

GOOD = f"{PREFIX}good.wrapper.cpp"
BAD = f"{PREFIX}bad.wrapper.cpp"


def all_damage(artifact: Artifact) -> dict[str, str]:
    found = [*artifact.damaged, *(damage for model in artifact.models for damage in model.damaged)]
    return {damage.path: damage.what for damage in found}


def sources(artifact: Artifact) -> list[str]:
    return [source.path for model in artifact.models for source in model.sources]


def patch_central_entry(path: Path, name: str, offset: int, value: bytes) -> None:
    """Overwrites a field of a member's record in the zip's directory."""
    data = bytearray(path.read_bytes())
    record = data.rindex(name.encode()) - 46
    assert data[record : record + 4] == b"PK\x01\x02"
    data[record + offset : record + offset + len(value)] = value
    path.write_bytes(data)


@pytest.mark.parametrize("name", ["../../evil.py", "/etc/evil.py", "a/../../evil.cpp", "C:/evil.py", "a\\..\\evil.py"])
def test_names_that_lead_out_are_damage_and_never_written(tmp_path: Path, name: str) -> None:
    path = write_package(tmp_path / "a.pt2", {GOOD: WRAPPER, name: KERNEL})
    before = sorted(tmp_path.rglob("*"))
    artifact = open_artifact(str(path))
    assert "leads out" in " ".join(all_damage(artifact).values())
    assert sources(artifact) == [GOOD]
    assert sorted(tmp_path.rglob("*")) == before


def test_duplicate_members_are_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.pt2"
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as archive:
        warnings.simplefilter("ignore")
        archive.writestr(GOOD, WRAPPER)
        archive.writestr(BAD, WRAPPER)
        archive.writestr(BAD, WRAPPER + "//")
    artifact = open_artifact(str(path))
    assert "2 times" in all_damage(artifact)[BAD]
    assert sources(artifact) == [GOOD]


def test_encrypted_member_is_damage(tmp_path: Path) -> None:
    path = write_package(tmp_path / "a.pt2", {GOOD: WRAPPER, BAD: WRAPPER})
    patch_central_entry(path, BAD, 8, struct.pack("<H", 1))
    assert all_damage(open_artifact(str(path))) == {BAD: "encrypted"}


def test_unusual_compression_is_damage(tmp_path: Path) -> None:
    path = write_package(tmp_path / "a.pt2", {GOOD: WRAPPER, BAD: WRAPPER})
    patch_central_entry(path, BAD, 10, struct.pack("<H", 14))
    assert "method 14" in all_damage(open_artifact(str(path)))[BAD]


def test_bad_checksum_is_damage_of_that_member(tmp_path: Path) -> None:
    path = write_package(tmp_path / "a.pt2", {GOOD: WRAPPER, BAD: "// bad\n" + WRAPPER})
    data = path.read_bytes()
    path.write_bytes(data.replace(b"// bad", b"// BAD"))
    artifact = open_artifact(str(path))
    assert "CRC" in all_damage(artifact)[BAD]
    assert sources(artifact) == [GOOD]


def test_symbolic_link_in_a_zip_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.pt2"
    link = zipfile.ZipInfo(BAD)
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(GOOD, WRAPPER)
        archive.writestr(link, "/etc/passwd")
    assert "symbolic link" in all_damage(open_artifact(str(path)))[BAD]


@pytest.mark.parametrize("content", [b"\xff\xfe run_impl", b"run_impl\0", b""])
def test_source_that_is_no_text_is_damage(tmp_path: Path, content: bytes) -> None:
    artifact = open_artifact(str(write_package(tmp_path / "a.pt2", {GOOD: WRAPPER, BAD: content})))
    assert list(all_damage(artifact)) == [BAD]
    assert sources(artifact) == [GOOD]


@pytest.mark.parametrize("content", ["[" * 100_000, "{", "[1]", '{"a": 1' + "0" * 5000 + "}"])
def test_bad_metadata_is_damage_or_ignored(tmp_path: Path, content: str) -> None:
    name = f"{PREFIX}good.wrapper_metadata.json"
    artifact = open_artifact(str(write_package(tmp_path / "a.pt2", {GOOD: WRAPPER, name: content})))
    assert sources(artifact) == [GOOD]
    assert list(all_damage(artifact)) == [name]


def test_zip_bomb_is_stopped_by_its_declared_size(tmp_path: Path) -> None:
    path = write_package(tmp_path / "a.pt2", {GOOD: WRAPPER, BAD: bytes(64 * MIB)}, zipfile.ZIP_DEFLATED)
    artifact = open_artifact(str(path))
    assert "400 times" in all_damage(artifact)[BAD]
    assert sources(artifact) == [GOOD]


def test_zip_bomb_is_stopped_by_its_real_size(tmp_path: Path) -> None:
    path = write_package(tmp_path / "a.pt2", {GOOD: WRAPPER, BAD: bytes(64 * MIB)}, zipfile.ZIP_DEFLATED)
    patch_central_entry(path, BAD, 24, struct.pack("<I", 100))
    artifact = open_artifact(str(path))
    assert BAD in all_damage(artifact)
    assert sources(artifact) == [GOOD]


@pytest.mark.parametrize("size", [1 << 31, (1 << 32) - 2])
def test_absurd_declared_sizes_are_damage(tmp_path: Path, size: int) -> None:
    path = write_package(tmp_path / "a.pt2", {GOOD: WRAPPER, BAD: WRAPPER})
    patch_central_entry(path, BAD, 20, struct.pack("<II", size, size))
    assert BAD in all_damage(open_artifact(str(path)))


def test_total_size_is_limited(tmp_path: Path) -> None:
    path = write_package(tmp_path / "a.pt2", {GOOD: WRAPPER, BAD: WRAPPER + "/" * 1000})
    artifact = open_with_limits(str(path), Limits(total=500))
    assert "more than" in all_damage(artifact)[BAD]
    assert sources(artifact) == [GOOD]


def test_every_truncation_is_one_error(tmp_path: Path) -> None:
    whole = write_package(tmp_path / "whole.pt2").read_bytes()
    for length in range(0, len(whole) - 1, 7):
        path = tmp_path / "cut.pt2"
        path.write_bytes(whole[:length])
        with pytest.raises(KernelscopeError):
            open_artifact(str(path))


def test_flipped_bytes_never_raise_anything_else(tmp_path: Path) -> None:
    whole = write_package(tmp_path / "whole.pt2", method=zipfile.ZIP_DEFLATED).read_bytes()
    path = tmp_path / "flipped.pt2"
    outcomes: set[str] = set()
    for position in range(len(whole)):
        for flip in (0x01, 0x80, 0xFF):
            data = bytearray(whole)
            data[position] ^= flip
            path.write_bytes(data)
            try:
                outcomes.add("damage" if all_damage(open_artifact(str(path))) else "opened")
            except KernelscopeError:
                outcomes.add("error")
    assert outcomes == {"damage", "opened", "error"}


def test_zip64_opens(tmp_path: Path) -> None:
    path = tmp_path / "a.pt2"
    with zipfile.ZipFile(path, "w") as archive, archive.open(GOOD, "w", force_zip64=True) as stream:
        stream.write(WRAPPER.encode())
    assert sources(open_artifact(str(path))) == [GOOD]


def test_directory_of_a_zip_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "a.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(3000):
            archive.writestr(f"{PREFIX}{number:0200}.cubin", b"")
    with pytest.raises(KernelscopeError, match="at a time"):
        open_with_limits(str(path), Limits(directory=MIB >> 4))


def test_huge_sparse_file_that_is_no_zip_is_refused_at_once(tmp_path: Path) -> None:
    for name in ("a.py", "a.wrapper.cpp", "a.pt2", "a.bin"):
        path = tmp_path / name
        with path.open("wb") as file:
            file.truncate(1 << 40)
        started = time.monotonic()
        with pytest.raises(KernelscopeError):
            open_artifact(str(path))
        assert time.monotonic() - started < 5


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null"])
def test_devices_are_refused(path: str) -> None:
    with pytest.raises(KernelscopeError, match="character device"):
        open_artifact(path)


def test_named_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "kernel.py").write_text(KERNEL)
    with pytest.raises(KernelscopeError, match="named pipe"):
        open_artifact(str(tmp_path / "pipe.py"))
    assert "named pipe" in " ".join(all_damage(open_artifact(str(tmp_path))).values())


def test_folder_with_loops_and_links_out_of_it(tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text(KERNEL)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "kernel.py").write_text(KERNEL)
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    (folder / "out.py").symlink_to(outside)
    (folder / "self.py").symlink_to(folder / "self.py")
    (folder / "dangling.cpp").symlink_to(folder / "nowhere.cpp")
    artifact = open_artifact(str(folder))
    assert sources(artifact) == [str(folder / "kernel.py")]
    assert "out of the folder" in all_damage(artifact)[str(folder / "out.py")]
    assert {Path(path).name for path in all_damage(artifact)} == {"out.py", "self.py", "dangling.cpp"}


def test_folder_is_bounded_in_entries_and_depth(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number}.py").write_text(KERNEL + f"# {number}")
    artifact = open_with_limits(str(tmp_path), Limits(entries=10))
    assert len(sources(artifact)) == 10
    assert "more than 10 files" in all_damage(artifact)[str(tmp_path)]
    deep = tmp_path / "/".join("d" for _ in range(10))
    deep.mkdir(parents=True)
    (deep / "k.py").write_text(KERNEL)
    assert "nested deeper" in " ".join(all_damage(open_with_limits(str(tmp_path), Limits(depth=5))).values())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file_is_damage(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "locked.py").write_text(KERNEL)
    (tmp_path / "locked.py").chmod(0)
    assert "permission denied" in all_damage(open_artifact(str(tmp_path)))[str(tmp_path / "locked.py")]


def test_model_without_a_wrapper_is_damage(tmp_path: Path) -> None:
    path = write_package(tmp_path / "a.pt2", {f"{PREFIX}a.wrapper.so": b"\x7fELF", f"{PREFIX}a.cubin": b"\x7fELF"})
    assert all_damage(open_artifact(str(path))) == {"model": "the package holds no wrapper source for this model"}
