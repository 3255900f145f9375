from __future__ import annotations

import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from kernelscope.errors import KernelscopeError
from kernelscope.report import output
from kernelscope.report.output import check_writable, write_file

ROOT = Path(__file__).parents[2]


def test_a_file_is_replaced_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("old")
    target.chmod(0o640)
    write_file(str(target), "new\n")
    assert target.read_text() == "new\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [target]


def test_a_failing_write_leaves_the_old_report_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "report.json"
    target.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(output.os, "replace", fail)
    with pytest.raises(KernelscopeError, match="No space left"):
        write_file(str(target), "new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    link.symlink_to(real)
    write_file(str(link), "new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_a_device_is_written_to_and_not_replaced() -> None:
    write_file(os.devnull, "text")
    assert not stat.S_ISREG(os.stat(os.devnull).st_mode)


@pytest.mark.parametrize("place", ["missing/report.txt", "."])
def test_a_place_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path, place: str) -> None:
    with pytest.raises(KernelscopeError):
        check_writable(str(tmp_path / place))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux")
@pytest.mark.parametrize(("redirection", "said"), [("> /dev/full", "No space left on device"), (">&-", "is closed")])
def test_a_stdout_that_takes_nothing_is_one_line(redirection: str, said: str) -> None:
    words = f"{shlex.quote(sys.executable)} -m kernelscope explain KS101 {redirection}"
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("kernelscope: stdout: ") and said in done.stderr
