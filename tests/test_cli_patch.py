"""`kernelscope patch` and `kernelscope test`: exit status, one line for an error, and nothing written by halves."""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kernelscope import cli
from kernelscope.errors import KernelscopeError
from kernelscope.patching.report import PatchReport
from tests.report import patch_reports

ROOT = Path(__file__).parents[1]
UNSAFE_PACKAGE = str(ROOT / "fixtures" / "layernorm.unbounded.pt2")
SAFE_PACKAGE = str(ROOT / "fixtures" / "layernorm.small.pt2")
PATCH_FILE = ROOT / "patches" / "program_ids.py"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, list(arguments))


def one_line(result: Result) -> str:
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert result.stdout == ""
    return line


def gives(monkeypatch: pytest.MonkeyPatch, outcome: PatchReport | Exception) -> dict[str, object]:
    """Put a made-up run in the place of the real one; the options that it gets are returned."""
    options: dict[str, object] = {}

    def stand_in(path: str, output: str | None, **keywords: object) -> PatchReport:
        options.update(keywords, path=path, output=output)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr("kernelscope.patching.patch", stand_in)
    return options


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["patch"], "Missing argument 'IN.pt2'"),
        (["patch", SAFE_PACKAGE], "give -o OUT.pt2, or --dry-run"),
        (["patch", SAFE_PACKAGE, "-o", "x.pt2", "--strategy", "blanket"], "'blanket' is not one of"),
        (["patch", SAFE_PACKAGE, "-o", "/nonexistent/x.pt2"], "the folder does not exist"),
        (["patch", "/nonexistent.pt2", "--dry-run"], "/nonexistent.pt2"),
        (["patch", SAFE_PACKAGE, "--dry-run", "--patches", "/nonexistent"], "does not exist"),
        (["patch", SAFE_PACKAGE, "--dry-run", "--only", "nothing"], "no kernel is called nothing"),
        (["patch", str(PATCH_FILE), "--dry-run"], str(PATCH_FILE)),
        (["patch", SAFE_PACKAGE, "-o", ""], "an empty name"),
        (["patch", SAFE_PACKAGE, "-o", "-"], "not written to stdout"),
        (["patch", SAFE_PACKAGE, "-o", "new.pt2/"], "not the name of a file"),
        (["patch", SAFE_PACKAGE, "-o", f"{PATCH_FILE}/new.pt2"], "not a folder"),
        (["patch", SAFE_PACKAGE, "-o", f"{'n' * 300}.pt2"], "File name too long"),
        (["patch", SAFE_PACKAGE, "-o", "/dev/full"], "not a regular file"),
        (["patch", SAFE_PACKAGE, "--dry-run", "-o", "/nonexistent/x.pt2"], "the folder does not exist"),
        (["patch", SAFE_PACKAGE, "--dry-run", "-o", SAFE_PACKAGE], "is the input"),
        (["patch", SAFE_PACKAGE, "--dry-run", "--report", SAFE_PACKAGE], "the report would overwrite"),
        (["patch", SAFE_PACKAGE, "-o", "x.pt2", "--report", "./x.pt2"], "the report would overwrite"),
        (["patch", SAFE_PACKAGE, "--dry-run", "--check"], "leave out --dry-run"),
        (["patch", SAFE_PACKAGE, "--dry-run", "--narrow", "--strategy", "minimal"], "leave out --strategy"),
        (["patch", SAFE_PACKAGE, "--dry-run", "--range", "s99=1:2"], "no size is called s99; the sizes are s10"),
        (["patch", SAFE_PACKAGE, "--dry-run", "--jobs", "-1"], "-1 is not in the range"),
        (["test"], "Missing argument 'PATCH.py'"),
        (["test", "/nonexistent.py"], "does not exist"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_status_2(arguments: list[str], words: str) -> None:
    assert words in one_line(run(*arguments))


def test_the_input_is_never_the_output(tmp_path: Path) -> None:
    package = tmp_path / "p.pt2"
    package.write_bytes(Path(SAFE_PACKAGE).read_bytes())
    link = tmp_path / "q.pt2"
    link.symlink_to(package)
    for output in (package, link):
        assert "is the input" in one_line(run("patch", str(package), "-o", str(output)))
    assert package.read_bytes() == Path(SAFE_PACKAGE).read_bytes()


def test_a_link_that_leads_nowhere_and_a_pipe_are_refused(tmp_path: Path) -> None:
    loop, lost, pipe = (tmp_path / name for name in ("loop.pt2", "lost.pt2", "pipe.pt2"))
    loop.symlink_to(loop)
    lost.symlink_to(tmp_path / "none" / "x.pt2")
    os.mkfifo(pipe)
    for target, words in ((loop, "symbolic links"), (lost, "the folder does not exist"), (pipe, "not a regular file")):
        assert words in one_line(run("patch", SAFE_PACKAGE, "-o", str(target)))
    assert loop.is_symlink() and lost.is_symlink() and pipe.is_fifo()


def test_a_folder_without_patches_is_refused(tmp_path: Path) -> None:
    assert "no patch in this folder" in one_line(run("patch", UNSAFE_PACKAGE, "--dry-run", "--patches", str(tmp_path)))


@pytest.mark.parametrize(("written", "status"), [(False, 2), (True, 1)])
def test_what_kept_a_library_from_being_built_is_told_on_stderr(
    written: bool, status: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out = str(tmp_path / "out.pt2")
    made = replace(patch_reports.mixed(), tool_failure="g++: no", output=out if written else None)
    gives(monkeypatch, made)
    result = run("patch", "in.pt2", "-o", out)
    assert (result.exit_code, result.stderr) == (status, "" if written else f"kernelscope: {out}: not written: g++: no\n")
    assert "FAILED" in result.stdout


def test_a_missing_torch_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gives(monkeypatch, KernelscopeError("torch is not installed", try_this="pip install 'kernelscope[build]'"))
    line = one_line(run("patch", UNSAFE_PACKAGE, "-o", str(tmp_path / "out.pt2")))
    assert line.endswith("torch is not installed; pip install 'kernelscope[build]'")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "status"), [("cured", 0), ("mixed", 1), ("dry", 1)])
def test_exit_status_is_1_when_something_stays_unsafe(
    name: str, status: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gives(monkeypatch, getattr(patch_reports, name)())
    result = run("patch", "in.pt2", "-o", str(tmp_path / "out.pt2"))
    assert (result.exit_code, result.stderr) == (status, "")
    assert "PATCHED" in result.stdout


def test_options_reach_the_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    options = gives(monkeypatch, patch_reports.cured())
    run(
        "patch", "in.pt2", "--dry-run", "--only", "a", "--only", "b", "--strict", "--trust-source", "--patches",
        str(tmp_path), "--device-memory", "none", "--strategy", "inductor", "--jobs", "3", "--any-torch",
    )  # fmt: skip
    assert options["only"] == ("a", "b") and options["patch_folders"] == (str(tmp_path),)
    assert options["dry_run"] and options["strict"] and options["trust_source"]
    assert options["device_memory"] is None and options["output"] is None
    assert options["strategy"].value == "inductor" and options["jobs"] == 3 and options["any_torch"]


def test_json_goes_to_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    gives(monkeypatch, patch_reports.mixed())
    document = json.loads(run("patch", "in.pt2", "--dry-run", "--format", "json").stdout)
    assert (document["schema"], document["ok"]) == (1, False)


def test_a_safe_package_is_left_alone(tmp_path: Path) -> None:
    result = run("patch", SAFE_PACKAGE, "-o", str(tmp_path / "out.pt2"))
    assert result.exit_code == 0
    assert "already safe: there is nothing to patch" in " ".join(result.stdout.split())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.torch
@pytest.mark.slow
def test_layernorm_is_patched_from_the_command_line(tmp_path: Path) -> None:
    out = tmp_path / "out.pt2"
    result = run("patch", UNSAFE_PACKAGE, "-o", str(out), "--strategy", "minimal")
    assert result.exit_code == 0, result.stderr
    shown = " ".join(result.stdout.split())
    assert "+ xoffset = tl.program_id(0).to(tl.int64) * XBLOCK" in shown
    assert "the library is the old one" in shown and "Audit of the result: SAFE" in shown
    with zipfile.ZipFile(UNSAFE_PACKAGE) as old, zipfile.ZipFile(out) as new:
        library = next(name for name in old.namelist() if name.endswith(".so"))
        assert new.getinfo(library).CRC == old.getinfo(library).CRC
    assert run("audit", str(out)).exit_code == 0


# -- kernelscope test -------------------------------------------------------------------------------------------------


def test_examples_of_a_patch_are_run() -> None:
    result = run("test", str(PATCH_FILE))
    assert (result.exit_code, result.stderr) == (0, "")
    assert "passed  example 1" in result.stdout


def test_an_example_that_fails_shows_both_texts(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    text = PATCH_FILE.read_text(encoding="utf-8")
    broken.write_text(text.replace("offset = tl.program_id(0).to(tl.int64)", "offset = 1"), encoding="utf-8")
    result = run("test", str(broken))
    assert result.exit_code == 1
    assert "FAILED  example 1" in result.stdout and "offset = 1 * BLOCK" in result.stdout


def test_a_file_that_is_no_patch_is_one_line(tmp_path: Path) -> None:
    empty = tmp_path / "empty.py"
    empty.write_text("", encoding="utf-8")
    assert "not a patch" in one_line(run("test", str(empty)))
