"""A patch run that is killed, stopped or out of space loses nothing and leaves nothing: no half-written package, no temporary
folder, no compiler that goes on running."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest

from kernelscope.audit import audit
from kernelscope.audit.results import Verdict
from kernelscope.errors import KernelscopeError
from kernelscope.patching import package, patch
from tests.build.test_guard import comes_true, runs

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "fixtures" / "layernorm.unbounded.pt2"
REBUILT = ROOT / "fixtures" / "i64bound.unbounded.pt2"  # its wrapper is compiled again
DIGESTS = {path: sha256(path.read_bytes()).hexdigest() for path in (PACKAGE, REBUILT)}

pytestmark = [pytest.mark.torch, pytest.mark.slow]


def started(
    output: Path, *words: str, source: Path = PACKAGE, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """A run whose temporary files are in a folder beside that of the output."""
    command = [*words, sys.executable, "-m", "kernelscope", "patch", str(source), "-o", str(output)]
    folder = scratch(output)
    folder.mkdir(exist_ok=True)
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder), **(environment or {})},
    )  # fmt: skip


def scratch(output: Path) -> Path:
    return output.parent.with_name(f"{output.parent.name}-tmp")


def is_left_alone(output: Path, content: str | None = None) -> bool:
    """Whether the inputs are as they were, the output's folder holds what it held, and there are no temporary files."""
    there = {path.name: path.read_text() for path in output.parent.iterdir()}
    return (
        there == ({} if content is None else {output.name: content})
        and comes_true(lambda: not any(scratch(output).iterdir()))
        and all(sha256(path.read_bytes()).hexdigest() == digest for path, digest in DIGESTS.items())
    )


def is_compiling(process: int) -> bool:
    """Whether the process that compiles kernels runs."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
    return any(b"compile_child" in Path(f"/proc/{child}/cmdline").read_bytes() for child in children)


def is_whole(output: Path) -> bool:
    with zipfile.ZipFile(output) as archive:
        return archive.testzip() is None and audit([str(output)]).verdict is Verdict.SAFE


def slow_compiler(folder: Path) -> tuple[Path, Path]:
    """A compiler that never ends, and the file in which it tells the process that it started."""
    program, told = folder / "slow-c++", folder / "started"
    program.write_text(f"#!/bin/sh\nsleep 600 &\necho $! > {told}\nwait\n")
    program.chmod(0o755)
    return program, told


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "out.pt2"


@pytest.mark.parametrize("seconds", [0.5, 1.0, 1.5, 3.0])
def test_killed_at_any_moment_it_leaves_a_whole_package_or_the_older_one(seconds: float, out: Path) -> None:
    out.write_text("older")
    child = started(out)
    time.sleep(seconds)
    os.killpg(child.pid, signal.SIGKILL)
    child.communicate()
    if out.read_bytes() != b"older":
        assert is_whole(out)
        out.write_text("older")
    assert is_left_alone(out, "older")


@pytest.mark.parametrize(
    ("number", "status", "said"),
    [
        (signal.SIGTERM, 143, "kernelscope: stopped by SIGTERM"),
        (signal.SIGHUP, 129, "kernelscope: stopped by SIGHUP"),
        (signal.SIGINT, 130, ""),
        (signal.SIGKILL, -9, ""),
    ],
)
def test_stopped_while_the_wrapper_is_compiled_it_ends_at_once_and_so_does_the_compiler(
    number: signal.Signals, status: int, said: str, out: Path, tmp_path: Path
) -> None:
    out.write_text("older")
    program, told = slow_compiler(tmp_path)
    child = started(out, source=REBUILT, environment={"CXX": str(program)})
    assert comes_true(lambda: told.exists() and told.read_text().endswith("\n"), 60)
    os.kill(child.pid, number)
    _, errors = child.communicate(timeout=10)
    assert (child.returncode, errors.strip()) == (status, said)
    assert comes_true(lambda: not runs(int(told.read_text())))
    assert is_left_alone(out, "older")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_while_kernels_are_compiled_it_leaves_nothing(
    number: signal.Signals, status: int, out: Path
) -> None:
    child = started(out)
    while not is_compiling(child.pid):
        assert child.poll() is None
        time.sleep(0.01)
    time.sleep(0.3)
    os.kill(child.pid, number)
    _, errors = child.communicate(timeout=10)
    assert child.returncode == status and "Traceback" not in errors
    assert is_left_alone(out)


def test_out_of_space_it_is_one_line_and_leaves_nothing(out: Path) -> None:
    """A limit on the size of files stands for a full disk; the package is larger than it."""
    blocks = PACKAGE.stat().st_size // 1024 // 2
    child = started(out, "bash", "-c", f'ulimit -f {blocks}; exec "$@"', "-")
    _, errors = child.communicate(timeout=120)
    assert child.returncode == 2 and errors.count("\n") == 1 and "Traceback" not in errors, errors
    assert is_left_alone(out)


@cache
def may_mount() -> bool:
    """Whether a file system of one's own may be mounted, as root or in a user's name space."""
    words = ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"]
    return shutil.which("unshare") is not None and subprocess.run(words, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("source", "full", "kibibytes", "said"),
    [
        (PACKAGE, "out", 400, "out.pt2: can't be written: No space left on device; free space there"),
        (PACKAGE, "tmp", 100, "temporary files can't be written: No space left on device; free space there, or set TMPDIR"),
        (REBUILT, "tmp", 1200, "temporary files can't be written: No space left on device; free space there, or set TMPDIR"),
    ],
)
def test_on_a_full_disk_it_says_which_and_what_to_do(
    source: Path, full: str, kibibytes: int, said: str, out: Path
) -> None:
    if not may_mount():
        pytest.skip("may not mount a file system")
    place = out.parent if full == "out" else scratch(out)
    script = f'mount -t tmpfs -o size={kibibytes}k none {place}; "$@"; status=$?; ls -A {place}; exit $status'
    child = started(out, "unshare", "-rm", "bash", "-c", script, "-", source=source)
    printed, errors = child.communicate(timeout=120)
    assert child.returncode == 2 and errors.count("\n") == 1 and said in errors, errors
    assert printed == "" and is_left_alone(out)


def test_a_folder_that_is_read_only_is_refused_before_the_work(out: Path) -> None:
    if not may_mount():
        pytest.skip("may not mount a file system")
    out.write_text("older")
    script = f'mount --bind {out.parent} {out.parent}; mount -o remount,ro,bind {out.parent}; exec "$@"'
    child = started(out, "unshare", "-rm", "bash", "-c", script, "-")
    _, errors = child.communicate(timeout=60)
    assert child.returncode == 2 and errors.count("\n") == 1 and f"{out}: is not writable" in errors, errors
    assert is_left_alone(out, "older")


def test_without_a_working_compiler_it_says_so_and_writes_nothing(out: Path) -> None:
    child = started(out, source=REBUILT, environment={"CXX": "/bin/false"})
    printed, errors = child.communicate(timeout=120)
    assert child.returncode == 2 and errors.count("\n") == 1, errors
    assert f"{out}: not written: /bin/false: compiling the wrapper failed" in errors and "FAILED" in printed
    assert is_left_alone(out)


def test_the_input_may_be_deleted_meanwhile(out: Path, tmp_path: Path) -> None:
    source = tmp_path / "in.pt2"
    source.write_bytes(PACKAGE.read_bytes())

    def delete(what: str, _done: int, _total: int) -> None:
        if what == "compiling":
            source.unlink(missing_ok=True)

    assert patch(str(source), str(out), progress=delete).ok and is_whole(out)


@pytest.mark.parametrize("replaced", [True, False])
def test_an_input_that_changes_meanwhile_is_not_patched(replaced: bool, out: Path, tmp_path: Path) -> None:
    """A patched binary in another package than it was made for would be wrong."""
    source, other = tmp_path / "in.pt2", tmp_path / "other.pt2"
    source.write_bytes(PACKAGE.read_bytes())
    out.write_text("older")

    def change(what: str, _done: int, _total: int) -> None:
        if what != "compiling":
            return
        if replaced:
            other.write_bytes(REBUILT.read_bytes())
            os.replace(other, source)
        else:
            with source.open("r+b") as file:
                file.write(b"P")
            os.utime(source, (0, 0))

    with pytest.raises(KernelscopeError, match="was changed while it was being patched"):
        patch(str(source), str(out), progress=change)
    assert out.read_text() == "older"


def test_a_dry_run_of_one_kernel_is_as_ok_as_the_real_run() -> None:
    source = str(ROOT / "fixtures" / "resnet18.unbounded.pt2")
    kernels = [k for m in audit([source]).artifacts[0].models for k in m.kernels]
    name = kernels[0].name
    report = patch(source, None, only=[name], dry_run=True)
    assert not report.ok and report.summary.startswith("1 of 1 named kernels")
    safe = next(k.name for k in kernels if k.verdict is Verdict.SAFE)
    report = patch(source, None, only=[safe], dry_run=True)
    assert not report.ok and report.summary.startswith("nothing to patch: the named kernels are safe")


def test_strict_keeps_an_older_output_when_something_stays_unsafe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "out.pt2"
    output.write_text("older")
    monkeypatch.setattr(package, "_unsafe", lambda result: ["something"])
    report = patch(str(PACKAGE), str(output), strict=True)
    assert report.output is None and output.read_text() == "older" and list(tmp_path.iterdir()) == [output]
    monkeypatch.undo()
    report = patch(str(PACKAGE), str(output), strict=True)
    assert report.output == str(output) and report.after is not None
    assert report.after.artifacts[0].path == str(output) and audit([str(output)]).verdict is Verdict.SAFE
    assert list(tmp_path.iterdir()) == [output]
