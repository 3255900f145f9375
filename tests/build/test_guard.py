"""What a process held is cleared away however it ends, tools that it ran included."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kernelscope.build.programs import ToolCall, run_programs, why_it_failed
from kernelscope.build.scratch import Scratch
from kernelscope.errors import KernelscopeError
from tests.build.packages import FIXTURES

HOLDING = """
import os, signal, sys
from pathlib import Path
from kernelscope.build.guard import Kind, hold, release
from kernelscope.build.programs import ToolCall, run_programs
from kernelscope.build.scratch import Scratch
out = Path(sys.argv[1])
(out / "draft").write_text("half")
hold(Kind.PATH, str(out / "draft"))
(out / "kept").write_text("whole")
hold(Kind.PATH, str(out / "kept"))
release(Kind.PATH, str(out / "kept"))
folder = Scratch().path
(folder / "inside").mkdir()
ending = {"exit": lambda: os._exit(3), "kill": lambda: os.kill(os.getpid(), signal.SIGKILL), "error": lambda: 1 / 0}
if sys.argv[2] == "tool":
    words = ["sh", "-c", f"sleep 600 & echo $! > {out / 'sleeping'}; wait"]
    run_programs([ToolCall(words, None, "sleeping")])
ending[sys.argv[2]]()
"""


def comes_true(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def runs(process: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{process}/stat").read_text(encoding="ascii")
    except OSError:
        return False


def holding(out: Path, ending: str) -> subprocess.Popen[bytes]:
    (out / "tmp").mkdir()
    return subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(out), ending], cwd=FIXTURES.parent, stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(out / "tmp")},
    )  # fmt: skip


@pytest.mark.parametrize("ending", ["exit", "kill", "error"])
def test_files_and_folders_go_and_what_was_released_stays(ending: str, tmp_path: Path) -> None:
    assert holding(tmp_path, ending).wait() != 0
    assert comes_true(lambda: not (tmp_path / "draft").exists() and not any((tmp_path / "tmp").iterdir()))
    assert (tmp_path / "kept").read_text() == "whole"


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_killed_process_s_tools_end_with_the_processes_that_they_started(tmp_path: Path) -> None:
    process = holding(tmp_path, "tool")
    written = tmp_path / "sleeping"
    assert comes_true(lambda: written.exists() and written.read_text().endswith("\n"))
    sleeping = int(written.read_text())
    assert runs(sleeping)
    process.kill()
    process.wait()
    assert comes_true(lambda: not runs(sleeping) and not any((tmp_path / "tmp").iterdir()))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer")
def test_an_exception_while_waiting_ends_the_tools_at_once(tmp_path: Path) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    started = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            run_programs([ToolCall(["sleep", "600"], tmp_path, "sleeping")] * 2)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - started < 5


def test_tools_run_side_by_side_and_tell_how_they_ended() -> None:
    words = (["sh", "-c", "echo out; echo err >&2"], ["sh", "-c", "exit 3"], ["sh", "-c", "kill -SEGV $$"])
    results = run_programs([ToolCall(command, None, "testing") for command in words])
    assert (results[0].output, results[0].errors, results[0].status) == ("out\n", "err\n", 0)
    assert [why_it_failed(result) for result in results[1:]] == ["failed (status 3)", "crashed (SIGSEGV)"]
    with pytest.raises(KernelscopeError, match="testing: can't be run: No such file"):
        run_programs([ToolCall(["sleep", "600"], None, "sleeping"), ToolCall(["/nonexistent"], None, "testing")])


def test_a_full_disk_within_a_scratch_folder_says_where_and_what_to_do() -> None:
    with pytest.raises(KernelscopeError) as caught, Scratch() as folder:
        raise OSError(28, "No space left on device")
    line = caught.value.one_line()
    assert line.startswith(str(folder.parent)) and "No space left on device" in line and "TMPDIR" in line
    assert not folder.exists()
