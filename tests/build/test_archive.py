"""Packages are written member by member, byte for byte where nothing changes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kernelscope.build import Content, rewrite_archive
from kernelscope.errors import KernelscopeError
from tests.build.packages import FIXTURES, fixture
from tests.build.test_guard import comes_true


def only_cubin(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".cubin")]
    return name


@pytest.mark.parametrize("name", ["layernorm.unbounded", "layernorm.small"])
def test_an_unchanged_package_is_rewritten_byte_for_byte(name: str, tmp_path: Path) -> None:
    rewrite_archive(str(fixture(name)), str(tmp_path / "out.pt2"), {})
    assert (tmp_path / "out.pt2").read_bytes() == fixture(name).read_bytes()


@pytest.mark.parametrize("name", ["layernorm.unbounded", "layernorm.small"])
def test_only_the_named_members_change(name: str, tmp_path: Path) -> None:
    source, target = fixture(name), tmp_path / "out.pt2"
    cubin = only_cubin(source)
    large = tmp_path / "content"
    large.write_bytes(b"0123456789" * 1_000_001)
    rewrite_archive(str(source), str(target), {cubin: Content(large)}, {"x/extra/kernelscope.json": Content(b"{}")})
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target) as new:
        assert new.testzip() is None
        assert new.namelist() == [*old.namelist(), "x/extra/kernelscope.json"]
        for before, after in zip(old.infolist(), new.infolist(), strict=False):
            assert (before.date_time, before.compress_type) == (after.date_time, after.compress_type)
            expected = large.read_bytes() if before.filename == cubin else old.read(before)
            assert new.read(after) == expected


@pytest.mark.torch
def test_torch_s_own_archives_are_rewritten_byte_for_byte_and_stay_aligned(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    source, target = tmp_path / "in.pt2", tmp_path / "out.pt2"
    writer = torch._C.PyTorchFileWriter(str(source))
    for name, size in {"data/a.cubin": 1000, "data/b.so": 70001, "data/weights": 64, "empty": 0}.items():
        writer.write_record(name, bytes(range(256)) * (size // 256) + b"x" * (size % 256), size)
    writer.write_end_of_file()
    rewrite_archive(str(source), str(target), {})
    assert target.read_bytes() == source.read_bytes()
    rewrite_archive(str(source), str(target), {"in/data/a.cubin": Content(b"new" * 777)}, {"in/more": Content(b"m")})
    reader = torch._C.PyTorchFileReader(str(target))
    assert reader.get_record("data/a.cubin") == b"new" * 777
    assert reader.get_record("more") == b"m"
    for name in ("data/a.cubin", "data/b.so", "data/weights", "more"):
        assert reader.get_record_offset(name) % 64 == 0
    assert reader.get_record("data/b.so") == torch._C.PyTorchFileReader(str(source)).get_record("data/b.so")


def test_progress_grows_to_the_size_of_the_result(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    rewrite_archive(str(fixture("cat.unbounded")), str(tmp_path / "o"), {}, progress=lambda d, t: seen.append((d, t)))
    assert seen == sorted(seen) and seen[-1][0] > 0.9 * seen[-1][1]


def test_the_input_is_never_the_output(tmp_path: Path) -> None:
    path = tmp_path / "a.pt2"
    path.write_bytes(fixture("cat.small").read_bytes())
    (tmp_path / "link").symlink_to(path)
    for target in (path, tmp_path / "link"):
        with pytest.raises(KernelscopeError, match="the output is the input"):
            rewrite_archive(str(path), str(target), {})
    assert path.read_bytes() == fixture("cat.small").read_bytes()


def test_a_failure_leaves_the_old_output_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "out.pt2"
    target.write_text("old")

    def interrupt(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rewrite_archive(str(fixture("cat.unbounded")), str(target), {}, progress=interrupt)
    with pytest.raises(KernelscopeError, match="no member"):
        rewrite_archive(str(fixture("cat.unbounded")), str(target), {"nothing": Content(b"")})
    assert [path.name for path in tmp_path.iterdir()] == ["out.pt2"]
    assert target.read_text() == "old"


def test_a_folder_and_a_missing_folder_are_refused(tmp_path: Path) -> None:
    for target in (tmp_path, tmp_path / "none" / "out.pt2"):
        with pytest.raises(KernelscopeError):
            rewrite_archive(str(fixture("cat.small")), str(target), {})
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_clear_error_and_leaves_nothing(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000));"
        "from kernelscope.build import rewrite_archive; from kernelscope.errors import KernelscopeError\n"
        "try:\n    rewrite_archive(sys.argv[1], sys.argv[2], {})\n"
        "except KernelscopeError as error:\n    print(error.one_line())"
    )
    command = [sys.executable, "-c", code, str(fixture("cat.unbounded")), str(tmp_path / "out.pt2")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=FIXTURES.parent)
    assert "can't be written" in done.stdout and done.stdout.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_killed_process_leaves_nothing(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from kernelscope.build import rewrite_archive;"
        "rewrite_archive(sys.argv[1], sys.argv[2], {}, progress=lambda *a: os.kill(os.getpid(), signal.SIGKILL))"
    )
    command = [sys.executable, "-c", code, str(fixture("cat.unbounded")), str(tmp_path / "out.pt2")]
    done = subprocess.run(command, check=False, cwd=FIXTURES.parent)
    assert done.returncode == -signal.SIGKILL
    if hasattr(os, "O_TMPFILE"):
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", [lambda b: b[:2000], lambda b: b"", lambda b: b"\0" * 40 + b[40:]])
def test_a_damaged_package_is_refused(damage, tmp_path: Path) -> None:
    source = tmp_path / "in.pt2"
    source.write_bytes(damage(fixture("cat.small").read_bytes()))
    with pytest.raises(KernelscopeError):
        rewrite_archive(str(source), str(tmp_path / "out.pt2"), {})


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_large_weights_are_copied_without_being_held(tmp_path: Path) -> None:
    source, target = tmp_path / "in.pt2", tmp_path / "out.pt2"
    weights = tmp_path / "weights"
    with open(weights, "wb") as file:
        file.truncate(600 << 20)
    with zipfile.ZipFile(source, "w") as archive:
        archive.writestr("m/a.cubin", b"old")
        archive.write(weights, "m/weights")
    code = (
        "import sys; from kernelscope.build import Content, rewrite_archive;"
        "rewrite_archive(sys.argv[1], sys.argv[2], {'m/a.cubin': Content(b'new')});"
        "print(*[line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')])"
    )
    command = [sys.executable, "-c", code, str(source), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=FIXTURES.parent)
    assert int(done.stdout) < 100_000
    assert target.stat().st_size == source.stat().st_size


KILLED_AT = """
import os, signal, sys
from kernelscope.build import Content, rewrite_archive
real, seen = os.{call}, []
def killed(*arguments, **keywords):
    seen.append(arguments)
    {before}
    result = real(*arguments, **keywords)
    os.kill(os.getpid(), signal.SIGKILL)
os.{call} = killed
rewrite_archive(sys.argv[1], sys.argv[2], {{}})
"""


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="needs Linux")
@pytest.mark.parametrize(
    ("call", "before", "is_new", "unnamed"),
    [
        ("link", "", False, True),  # it has its temporary name, which a file with a name needs not get
        *(
            (*moment, unnamed)
            for unnamed in (True, False)
            for moment in (
                ("fsync", "", False),  # all is written
                ("replace", "os.kill(os.getpid(), signal.SIGKILL)", False),  # right before the rename
                ("replace", "", True),  # right after it
            )
        ),
    ],
)
def test_killed_around_the_rename_the_old_or_the_new_file_is_there_and_no_other(
    call: str, before: str, is_new: bool, unnamed: bool, tmp_path: Path
) -> None:
    source, target = fixture("cat.small"), tmp_path / "out.pt2"
    target.write_text("old")
    code = KILLED_AT.format(call=call, before=before or "pass")
    if not unnamed:
        code = code.replace("import os,", "import os; del os.O_TMPFILE\nimport os,", 1)
    done = subprocess.run([sys.executable, "-c", code, str(source), str(target)], check=False, cwd=FIXTURES.parent)
    assert done.returncode == -signal.SIGKILL
    assert comes_true(lambda: [path.name for path in tmp_path.iterdir()] == ["out.pt2"])
    assert target.read_bytes() == (source.read_bytes() if is_new else b"old")


def test_a_link_is_followed_and_the_file_keeps_its_mode(tmp_path: Path) -> None:
    real, link, dangling = tmp_path / "real.pt2", tmp_path / "link.pt2", tmp_path / "dangling.pt2"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    dangling.symlink_to(tmp_path / "new.pt2")
    for target in (link, dangling):
        rewrite_archive(str(fixture("cat.small")), str(target), {})
        assert target.is_symlink() and target.read_bytes() == fixture("cat.small").read_bytes()
    assert real.stat().st_mode & 0o777 == 0o640


def test_a_complete_file_that_is_not_wanted_does_not_appear(tmp_path: Path) -> None:
    target = tmp_path / "out.pt2"
    target.write_text("old")
    seen: list[bytes] = []

    def wanted(path: str) -> bool:
        seen.append(Path(path).read_bytes())
        return False

    rewrite_archive(str(fixture("cat.small")), str(target), {}, wanted=wanted)
    assert seen == [fixture("cat.small").read_bytes()]
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]
