"""A patch run that is killed, interrupted or out of space loses nothing and leaves no half-written package."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from kernelscope.audit import audit
from kernelscope.audit.results import Verdict
from kernelscope.patching import package, patch

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "fixtures" / "layernorm.unbounded.pt2"
DIGEST = sha256(PACKAGE.read_bytes()).hexdigest()

pytestmark = [pytest.mark.torch, pytest.mark.slow]


def started(output: Path, *words: str) -> subprocess.Popen[str]:
    command = [*words, sys.executable, "-m", "kernelscope", "patch", str(PACKAGE), "-o", str(output)]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def is_compiling(process: int) -> bool:
    """Whether the process that compiles kernels runs."""
    return bool(Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split())


def is_whole_or_absent(output: Path) -> bool:
    if not output.exists():
        return True
    with zipfile.ZipFile(output) as archive:
        return archive.testzip() is None and audit([str(output)]).verdict is Verdict.SAFE


@pytest.mark.parametrize("seconds", [0.5, 1.0, 1.5, 3.0])
def test_killed_at_any_moment_it_leaves_a_whole_package_or_none(seconds: float, tmp_path: Path) -> None:
    output = tmp_path / "out.pt2"
    output.write_bytes(PACKAGE.read_bytes())
    child = started(output)
    time.sleep(seconds)
    os.killpg(child.pid, signal.SIGKILL)
    child.communicate()
    assert sha256(PACKAGE.read_bytes()).hexdigest() == DIGEST
    assert sha256(output.read_bytes()).hexdigest() == DIGEST or is_whole_or_absent(output)


def test_interrupted_it_says_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    child = started(tmp_path / "out.pt2")
    while not is_compiling(child.pid):
        assert child.poll() is None
        time.sleep(0.01)
    time.sleep(0.3)
    os.kill(child.pid, signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == 130 and "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []


def test_out_of_space_it_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    """A limit on the size of files stands for a full disk; the package is larger than it."""
    blocks = PACKAGE.stat().st_size // 1024 // 2
    child = started(tmp_path / "out.pt2", "bash", "-c", f'ulimit -f {blocks}; exec "$@"', "-")
    _, errors = child.communicate(timeout=120)
    assert child.returncode == 2 and errors.count("\n") == 1 and "Traceback" not in errors, errors
    assert list(tmp_path.iterdir()) == []
    assert sha256(PACKAGE.read_bytes()).hexdigest() == DIGEST


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
