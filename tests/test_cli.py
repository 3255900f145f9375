from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import kernelscope
from kernelscope import cli
from kernelscope.audit import DEFAULT_DEVICE_MEMORY
from kernelscope.audit.results import AuditResult, BoundsResult, Verdict
from kernelscope.commands.parameter_types import MemoryType, RangeType
from kernelscope.errors import InternalError, KernelscopeError
from tests.report import results

ROOT = Path(__file__).parents[1]
UNSAFE_PACKAGE = str(ROOT / "fixtures" / "layernorm.unbounded.pt2")
SAFE_PACKAGE = str(ROOT / "fixtures" / "layernorm.small.pt2")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, list(arguments))


def one_line(result: Result) -> str:
    assert result.exit_code == 2
    assert result.stderr.endswith("\n")
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    return lines[0]


def audited(monkeypatch: pytest.MonkeyPatch, result: AuditResult | Exception) -> None:
    def give(*_: object, **__: object) -> AuditResult:
        if isinstance(result, BaseException):
            raise result
        return result

    monkeypatch.setattr("kernelscope.audit.audit", give)


# -- usage ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Missing command"),
        (["audti"], "No such command 'audti'"),
        (["audit"], "Missing argument 'PATH...'"),
        (["audit", "--nonsense", "x"], "No such option"),
        (["audit", "x", "--format", "yaml"], "'yaml' is not one of 'text', 'json'"),
        (["audit", "x", "-j", "-1"], "-1 is not in the range"),
        (["audit", "x", "--range", "s10"], "write NAME=LO:HI"),
        (["audit", "x", "--range", "s10=5"], "write NAME=LO:HI"),
        (["audit", "x", "--range", "s10=a:b"], "its ends must be integers"),
        (["audit", "x", "--range", "s10=9:2"], "is empty"),
        (["audit", "x", "--range", f"s10=1:{'9' * 5000}"], "its ends must be integers"),
        (["audit", "x", "--range", "s10=1:2", "--range", "s10=1:3"], "given twice for s10"),
        (["audit", "x", "--device-memory", "lots"], "write 80GiB"),
        (["audit", "x", "--device-memory", "0"], "no memory at all"),
        (["audit", "x", "--launch", "missing.toml"], "does not exist"),
        (["bounds"], "Missing argument 'PATH'"),
        (["bounds", "x", "--fix", "s10"], "write NAME=VALUE"),
        (["bounds", "x", "--fix", "s10=1", "--fix", "s10=2"], "given twice for s10"),
        (["explain", "KS999"], "no such code"),
        (["show", "/nonexistent.pt2"], "/nonexistent.pt2"),
        (["bounds", "/nonexistent.pt2"], "/nonexistent.pt2"),
    ],
)
def test_wrong_usage_is_one_line_on_stderr_and_exit_status_2(arguments: list[str], words: str) -> None:
    result = run(*arguments)
    assert words in one_line(result)
    assert result.stdout == ""


def test_error_line_says_where_to_look() -> None:
    assert one_line(run("audit")).endswith("see `kernelscope audit --help`")


def test_error_line_holds_no_control_characters() -> None:
    line = one_line(run("audit", "a\x1b[2J\nb.pt2"))
    assert "\x1b" not in line


@pytest.mark.parametrize("command", [[], ["audit"], ["bounds"], ["show"], ["explain"]])
def test_every_command_has_help(command: list[str]) -> None:
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert "Usage: kernelscope" in result.stdout


def test_help_of_audit_tells_the_exit_status() -> None:
    assert "2 wrong usage or" in " ".join(run("audit", "--help").stdout.split())


def test_version_is_that_of_the_distribution() -> None:
    assert run("--version").stdout == f"kernelscope, version {kernelscope.__version__}\n"
    assert f'version = "{kernelscope.__version__}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("80GiB", 80 << 30),
        ("80gb", 80 * 10**9),
        ("1.5GiB", 3 << 29),
        ("1024", 1024),
        ("8 GiB", 8 << 30),
        ("none", None),
    ],
)
def test_memory_is_read_with_its_unit(text: str, amount: int | None) -> None:
    assert MemoryType().convert(text, None, None) == amount


def test_default_memory_of_the_command_is_that_of_the_library() -> None:
    assert MemoryType().convert("288GiB", None, None) == DEFAULT_DEVICE_MEMORY


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("s10=2:4096", ("s10", 2, 4096)),
        ("input0[0]=2:", ("input0[0]", 2, None)),
        ("s10=:8_192", ("s10", None, 8192)),
        ("u0=-1:5", ("u0", -1, 5)),
    ],
)
def test_ranges_are_read_with_open_ends(text: str, value: tuple[str, int | None, int | None]) -> None:
    assert RangeType().convert(text, None, None) == value


# -- audit ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdict", "arguments", "status"),
    [
        (Verdict.SAFE, [], 0),
        (Verdict.SAFE, ["--strict"], 0),
        (Verdict.UNKNOWN, [], 0),
        (Verdict.UNKNOWN, ["--strict"], 1),
        (Verdict.UNSAFE, [], 1),
    ],
)
def test_exit_status_follows_the_verdict(
    monkeypatch: pytest.MonkeyPatch, verdict: Verdict, arguments: list[str], status: int
) -> None:
    finding = {Verdict.UNSAFE: [results.UNSAFE], Verdict.UNKNOWN: [results.UNKNOWN], Verdict.SAFE: []}[verdict]
    kernel = results.kernel("k", *finding, verdict=verdict)
    audited(monkeypatch, results.audit_result(results.artifact(results.model(kernel))))
    result = run("audit", "x.pt2", *arguments)
    assert result.exit_code == status
    assert result.stdout.startswith(verdict.name)
    assert result.stderr == ""


def test_one_unreadable_artifact_of_several_leaves_the_others_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    audited(monkeypatch, results.several())
    result = run("audit", "small.pt2", "layernorm.unbounded.pt2", "torn.pt2")
    assert "torn.pt2: the zip directory is missing" in one_line(result)
    assert result.stdout.startswith("SAFE  small.pt2")
    assert "UNSAFE  layernorm.unbounded.pt2" in result.stdout


def test_nothing_readable_leaves_stdout_empty() -> None:
    result = run("audit", "/nonexistent.pt2")
    assert one_line(result).startswith("kernelscope: /nonexistent.pt2: ")
    assert result.stdout == ""


def test_json_tells_an_unreadable_artifact_too() -> None:
    result = run("audit", "--format", "json", "/nonexistent.pt2")
    one_line(result)
    assert json.loads(result.stdout)["artifacts"][0]["error"].startswith("/nonexistent.pt2")


def test_a_real_unsafe_package_is_unsafe_and_a_bounded_one_safe() -> None:
    unsafe, safe = run("audit", UNSAFE_PACKAGE), run("audit", SAFE_PACKAGE)
    assert (unsafe.exit_code, safe.exit_code) == (1, 0)
    assert "safe up to s10 (input0[0]) = 524288; 524289" in " ".join(unsafe.stdout.split())


def test_a_range_makes_an_unsafe_package_safe() -> None:
    assert run("audit", UNSAFE_PACKAGE, "--range", "input0[0]=2:524288").exit_code == 0
    assert run("audit", UNSAFE_PACKAGE, "--range", "s10=2:524289").exit_code == 1


def test_a_range_for_a_size_that_does_not_exist_is_refused() -> None:
    line = one_line(run("audit", UNSAFE_PACKAGE, "--range", "s99=1:2"))
    assert "no size is called s99; the sizes are s10 (input0[0])" in line


def test_output_file_holds_the_report_and_stdout_nothing(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    result = run("audit", UNSAFE_PACKAGE, "--format", "json", "-o", str(target))
    assert (result.exit_code, result.stdout) == (1, "")
    assert json.loads(target.read_text(encoding="utf-8"))["totals"] == {"safe": 0, "unsafe": 1, "unknown": 0}
    assert list(tmp_path.iterdir()) == [target]


def test_an_output_file_that_cannot_be_written_is_refused_before_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    audited(monkeypatch, AssertionError("audited"))
    assert "the folder does not exist" in one_line(run("audit", "x.pt2", "-o", "/nonexistent/report.txt"))


# -- errors of our own ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ValueError("five"), InternalError("five"), RecursionError("five")])
def test_a_defect_is_one_line_that_asks_for_a_report(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    audited(monkeypatch, error)
    line = one_line(run("audit", "x.pt2"))
    assert "internal error" in line and "five" in line and "report" in line


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    audited(monkeypatch, ValueError("five"))
    for arguments in (["--debug", "audit", "x.pt2"], ["audit", "x.pt2", "--debug"]):
        result = run(*arguments)
        assert isinstance(result.exception, ValueError)


def test_an_error_of_the_input_is_told_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    audited(monkeypatch, KernelscopeError("torn", where="x.pt2", try_this="copy it again"))
    assert one_line(run("audit", "x.pt2")) == "kernelscope: x.pt2: torn; copy it again"


def test_an_interrupt_ends_with_130_and_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kernelscope.audit.audit", interrupt)
    result = run("audit", "x.pt2")
    assert result.exit_code == 130
    assert result.stderr.strip() == ""


def test_a_real_interrupt_leaves_no_traceback() -> None:
    paths = [str(path) for path in sorted((ROOT / "fixtures").glob("*.pt2"))] * 5
    process = subprocess.Popen(
        [sys.executable, "-m", "kernelscope", "audit", *paths],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # a job in the background ignores it
    )  # fmt: skip
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors


def test_a_reader_that_goes_away_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "kernelscope", "explain", "KS101"],
            cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


# -- other commands ---------------------------------------------------------------------------------------------------


def test_bounds_gives_every_free_size(monkeypatch: pytest.MonkeyPatch) -> None:
    result = BoundsResult({"s25": 64}, {"s10": 524288, "s21": None, "s7": None}, {"s7": "not modelled: f"})
    monkeypatch.setattr("kernelscope.audit.largest_safe_sizes", lambda *_, **__: result)
    text = run("bounds", "x.pt2", "--fix", "s25=64")
    assert text.exit_code == 0
    assert [line.split() for line in text.stdout.splitlines()[1:4]] == [
        ["s10", "524288"],
        ["s21", "no", "limit", "below", "2**40"],
        ["s7", "unknown"],
    ]
    assert "s7: not modelled: f" in text.stdout


def test_bounds_of_a_real_package_in_json() -> None:
    document = json.loads(run("bounds", UNSAFE_PACKAGE, "--format", "json").stdout)
    assert document["largest_safe"] == {"s10": 524288}


def test_show_lists_launches_and_a_kernel_with_its_source() -> None:
    everything = run("show", UNSAFE_PACKAGE)
    assert "grid" in everything.stdout and "s10 (input0[0])" in everything.stdout
    name = next(word for word in everything.stdout.split() if word.startswith("triton_"))
    assert f"def {name}(" in run("show", UNSAFE_PACKAGE, name).stdout


def test_show_of_a_kernel_that_does_not_exist_names_those_that_do() -> None:
    assert "there are triton_" in one_line(run("show", UNSAFE_PACKAGE, "nonsense"))


def test_show_takes_a_part_of_a_name_that_no_other_kernel_has() -> None:
    package = str(ROOT / "fixtures" / "resnet18.unbounded.pt2")
    assert "_max_pool2d_with_indices_relu_1(" in run("show", package, "max_pool").stdout.replace("\n     |         ", "")
    several = one_line(run("show", package, "convolution"))
    assert re.search(r"\d+ kernels have convolution in their name.* there are triton_", several)


def test_show_of_a_kernel_heeds_ranges_and_refuses_sizes_that_are_not_there() -> None:
    narrowed = run("show", UNSAFE_PACKAGE, "layer_norm", "--range", "s10=2:100", "--format", "json")
    (kernel,) = json.loads(narrowed.stdout)["kernels"]
    assert kernel["verdict"] == "safe"
    assert next(e["maximum"] for e in kernel["expressions"] if e["text"] == "4096*x0") == 99 * 4096
    assert "no size is called s77" in one_line(run("show", UNSAFE_PACKAGE, "layer_norm", "--range", "s77=2:100"))
    assert "name one" in one_line(run("show", UNSAFE_PACKAGE, "--range", "s10=2:100"))


def test_show_of_a_package_in_json_has_sizes_and_launches() -> None:
    (model,) = json.loads(run("show", UNSAFE_PACKAGE, "--format", "json").stdout)["models"]
    assert model["symbols"]["s10"]["source"] == "input0[0]" and model["launches"][0]["grid"] == ["s10", "1", "1"]


def test_show_of_a_kernel_without_launch_facts_says_what_is_missing() -> None:
    alone = str(ROOT / "tests" / "cases" / "06_gemm_row_offset_sum_first.py")
    shown = run("show", alone, alone)
    assert "no launch facts: give them with" in " ".join(shown.stdout.split()) and "def gemm_store(" in shown.stdout


def test_explain_lists_all_checks_and_tells_about_one() -> None:
    assert "KS101" in run("explain").stdout and "KS904" in run("explain").stdout
    text = run("explain", "ks101").stdout
    assert text.startswith("KS101  index arithmetic wraps")
    assert "@triton.jit" in text and "rows = 524288" in text


# -- start ------------------------------------------------------------------------------------------------------------


def _best(code: str) -> float:
    times = []
    for _ in range(5):
        started = time.perf_counter()
        subprocess.run([sys.executable, *code.split("|")], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - started)
    return min(times)


def test_version_is_told_at_once() -> None:
    """The bound is on what Kernelscope adds to an interpreter that starts; twice the goal, for a busy machine."""
    assert _best("-m|kernelscope|--version") - _best("-c|pass") < 0.3


def test_the_package_imports_at_once_and_loads_nothing() -> None:
    code = "import sys, kernelscope; print([m for m in sys.modules if m.startswith(('kernelscope.', 'click', 'rich'))])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_public_functions_can_be_called_by_the_names_of_their_stages() -> None:
    code = (
        "import kernelscope\n"
        f"print(kernelscope.audit([{UNSAFE_PACKAGE!r}]).verdict.word)\n"
        f"print(dict(kernelscope.bounds({UNSAFE_PACKAGE!r}).largest_safe))\n"
        "import kernelscope.audit.results\n"
        "print(kernelscope.audit.results.Verdict.SAFE.word, kernelscope.KernelscopeError.__name__)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:3] == ["unsafe", "{'s10': 524288}", "safe KernelscopeError"]


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        kernelscope.nonsense  # noqa: B018


@pytest.mark.parametrize("arguments", [["audit", UNSAFE_PACKAGE], ["diff", UNSAFE_PACKAGE, SAFE_PACKAGE]])
def test_a_page_of_html_goes_to_the_file_that_is_named(arguments: list[str], tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    result = run(*arguments, "--format", "html", "-o", str(page))
    assert result.exit_code == 1 and result.stdout == ""
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_functions_take_paths_as_pathlib_has_them_and_one_alone() -> None:
    package = Path(SAFE_PACKAGE)
    alone = kernelscope.audit(package)
    assert alone.verdict is Verdict.SAFE
    assert alone == kernelscope.audit([package]) == kernelscope.audit(SAFE_PACKAGE)
    assert kernelscope.bounds(package, fixed={"s10": 64}) == kernelscope.bounds(SAFE_PACKAGE, fixed={"s10": 64})


@pytest.mark.parametrize("command", ["audit", "bounds", "show", "doctor", "advise"])
def test_no_report_takes_the_place_of_what_was_read(command: str, tmp_path: Path) -> None:
    source, link = tmp_path / "in.pt2", tmp_path / "link.json"
    source.write_bytes((ROOT / "fixtures" / "layernorm.small.pt2").read_bytes())
    link.symlink_to(source)
    before = source.read_bytes()
    for target in (source, link):
        result = CliRunner().invoke(cli.main, [command, str(source), "--format", "json", "-o", str(target)])
        assert result.exit_code == 2 and "the report would overwrite" in result.stderr
    assert source.read_bytes() == before
