"""Baselines, suppressions and settings: what counts, what does not, and what is refused."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kernelscope import cli
from kernelscope.audit import audit
from kernelscope.audit.results import Verdict
from kernelscope.errors import KernelscopeError
from kernelscope.gate import gate
from kernelscope.gate.baseline import Baseline, read_baseline
from kernelscope.gate.settings import find_settings, read_settings
from kernelscope.gate.suppression import read_suppression

FIXTURES = Path(__file__).parents[2] / "fixtures"
UNSAFE = str(FIXTURES / "layernorm.unbounded.pt2")
LIMITED = str(FIXTURES / "softmax2d.huge.pt2")  # one KS302


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, ["audit", *arguments])


def baseline_of(tmp_path: Path, *paths: str) -> str:
    target = str(tmp_path / "baseline.json")
    done = run(*paths, "--write-baseline", target, "--reason", "the batch is at most 4096")
    assert done.exit_code == 0, done.stderr
    return target


def test_accepted_findings_do_not_fail_and_stay_unsafe(tmp_path: Path) -> None:
    done = run(UNSAFE, "--baseline", baseline_of(tmp_path, UNSAFE))
    assert done.exit_code == 0 and done.stdout.startswith("UNSAFE")
    assert "3 findings accepted by the baseline: the batch is at most 4096" in done.stdout
    assert "what is accepted is not safe" in done.stdout


def test_a_new_finding_fails_beside_accepted_ones(tmp_path: Path) -> None:
    accepted = baseline_of(tmp_path, LIMITED)
    assert run(LIMITED, "--baseline", accepted).exit_code == 0
    assert run(LIMITED, UNSAFE, "--baseline", accepted).exit_code == 1


def test_a_baseline_of_one_line_of_a_kernel_does_not_accept_its_twin(tmp_path: Path) -> None:
    path = Path(baseline_of(tmp_path, UNSAFE))
    document = json.loads(path.read_text())
    document["accepted"].pop()
    path.write_text(json.dumps(document))
    done = run(UNSAFE, "--baseline", str(path), "--format", "json")
    assert done.exit_code == 1 and len(json.loads(done.stdout)["gate"]["passed"]) == 2


def test_findings_are_matched_by_content_not_by_line_or_name(tmp_path: Path) -> None:
    """The wrapper grows at its top, and Inductor numbers the kernel anew."""
    accepted = baseline_of(tmp_path, UNSAFE)
    moved = tmp_path / "moved.pt2"
    with zipfile.ZipFile(UNSAFE) as old, zipfile.ZipFile(moved, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename.endswith(".wrapper.cpp"):
                data = b"// a line more\n" * 7 + data.replace(b"_layer_norm_0", b"_layer_norm_11")
            new.writestr(entry.filename, data)
    assert run(str(moved), "--baseline", accepted).exit_code == 0


def test_a_changed_kernel_is_not_accepted(tmp_path: Path) -> None:
    accepted = baseline_of(tmp_path, UNSAFE)
    changed = tmp_path / "changed.pt2"
    with zipfile.ZipFile(UNSAFE) as old, zipfile.ZipFile(changed, "w") as new:
        for entry in old.infolist():
            new.writestr(entry.filename, old.read(entry).replace(b"4096*x0", b"8192*x0"))
    assert run(str(changed), "--baseline", accepted).exit_code == 1


def test_entries_that_no_longer_occur_are_reported(tmp_path: Path) -> None:
    done = run(str(FIXTURES / "cat.small.pt2"), "--baseline", baseline_of(tmp_path, LIMITED))
    assert done.exit_code == 0 and "no longer occurs" in done.stdout and "KS302" in done.stdout


def test_reasons_of_before_are_kept_when_a_baseline_is_written_anew(tmp_path: Path) -> None:
    target = baseline_of(tmp_path, LIMITED)
    done = run(LIMITED, UNSAFE, "--baseline", target, "--write-baseline", target, "--reason", "second")
    assert done.exit_code == 0
    reasons = {entry.code: entry.reason for entry in read_baseline(target).accepted}
    assert reasons == {"KS302": "the batch is at most 4096", "KS101": "second"}


@pytest.mark.parametrize(
    ("suppression", "status"),
    [("KS101", 0), ("ks1xx", 0), ("KS101:triton_red_*", 0), ("KS101:other_*", 1), ("KS3xx", 1)],
)
def test_suppressions_cover_a_code_and_a_kernel(suppression: str, status: int) -> None:
    assert run(UNSAFE, "--suppress", suppression).exit_code == status


def test_an_unreadable_package_never_passes(tmp_path: Path) -> None:
    broken = tmp_path / "broken.pt2"
    broken.write_bytes(b"PK\x03\x04")
    assert run(str(broken), LIMITED, "--suppress", "KS302").exit_code == 2
    assert gate(audit([str(broken)])).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("text", ["KS1", "everything", "KS101:", "KS101:a b", ""])
def test_what_is_no_suppression_is_refused(text: str) -> None:
    with pytest.raises(KernelscopeError, match="no suppression"):
        read_suppression(text)


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"schema": 2, "accepted": []}', '{"schema": 1, "accepted": [{"code": "KS101"}]}',
     '{"schema": 1, "accepted": 3}',
     '{"schema": 1, "accepted": [{"fingerprint": "a", "code": "KS101", "kernel": "k", "expression": "e", "reason": " "}]}'],
)  # fmt: skip
def test_what_is_no_baseline_is_refused_in_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text(text)
    done = run(UNSAFE, "--baseline", str(path))
    assert done.exit_code == 2 and done.stderr.count("\n") == 1 and "b.json" in done.stderr


def test_a_baseline_needs_its_reason() -> None:
    done = run(UNSAFE, "--write-baseline", "b.json")
    assert done.exit_code == 2 and "--reason" in done.stderr and not Path("b.json").exists()


def test_nothing_is_gated_without_being_asked() -> None:
    gated = gate(audit([UNSAFE]))
    assert not gated.is_gated and gated.verdict is Verdict.UNSAFE
    assert gate(audit([UNSAFE]), Baseline("b", ())).verdict is Verdict.UNSAFE


# -- settings ---------------------------------------------------------------------------------------------------------


def settings_file(folder: Path, text: str) -> Path:
    path = folder / "pyproject.toml"
    path.write_text(text)
    return path


def test_settings_of_the_nearest_project_are_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings_file(tmp_path, '[tool.kernelscope]\nsuppress = ["KS101"]\n[tool.kernelscope.range]\ns10 = [2, ""]\n')
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    shutil.copy(UNSAFE, inner / "package.pt2")
    monkeypatch.chdir(inner)
    assert run("package.pt2").exit_code == 0
    assert run("package.pt2", "--config", "none").exit_code == 1


def test_the_command_line_wins_over_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings_file(tmp_path, "[tool.kernelscope.range]\ns10 = [2, 4096]\n")
    monkeypatch.chdir(tmp_path)
    assert run(UNSAFE).exit_code == 0
    assert run(UNSAFE, "--range", "s10=2:524289").exit_code == 1


def test_a_range_in_the_settings_may_name_a_size_that_this_package_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings_file(tmp_path, "[tool.kernelscope.range]\ns999 = [2, 4096]\n")
    monkeypatch.chdir(tmp_path)
    assert run(str(FIXTURES / "cat.small.pt2")).exit_code == 0


def test_all_settings_are_read(tmp_path: Path) -> None:
    lines = ['device-memory = "80GiB"', "strict = true", 'baseline = "b.json"', 'suppress = ["KS302"]', "jobs = 3"]
    text = "\n".join([*lines, "[range]", '"input0[0]" = [2, 9]', ""])
    (tmp_path / "kernelscope.toml").write_text(text)
    settings = find_settings(tmp_path)
    assert (settings.device_memory, settings.strict, settings.jobs) == ("80GiB", True, 3)
    assert settings.baseline == str(tmp_path / "b.json")
    assert settings.suppress == ("KS302",) and settings.ranges == ("input0[0]=2:9",)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("devicememory = 3", "no setting is called devicememory"),
        ("strict = 1", "strict has a value of the wrong type"),
        ("jobs = true", "jobs has a value of the wrong type"),
        ("suppress = [3]", "suppress is a list of texts"),
        ("range = { s10 = 3 }", "the range of s10 is not two ends"),
        ("strict = ", "not TOML"),
    ],
)
def test_settings_that_are_wrong_are_refused_in_one_line(text: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "kernelscope.toml"
    path.write_text(text)
    with pytest.raises(KernelscopeError) as caught:
        read_settings(path)
    assert what in caught.value.one_line() and "kernelscope.toml" in caught.value.one_line()


def test_a_project_without_a_table_has_no_settings(tmp_path: Path) -> None:
    settings_file(tmp_path, "[project]\nname = 'x'\n")
    (tmp_path / ".git").mkdir()
    assert find_settings(tmp_path).path is None or not str(find_settings(tmp_path).path).startswith(str(tmp_path))
