"""Witnesses run in Triton's interpreter: the lane goes where the audit says, on both sides."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernelscope import cli
from kernelscope.audit import audit
from kernelscope.audit.results import Consequence, UnsafeFinding
from kernelscope.errors import KernelscopeError
from kernelscope.replay.interpreter_process import Interpreter
from kernelscope.replay.replaying import replay, replay_all
from kernelscope.replay.results import PatchedState, ReplayState

FIXTURES = Path(__file__).parents[2] / "fixtures"
CASES = Path(__file__).parents[1] / "cases"

pytestmark = [pytest.mark.torch, pytest.mark.slow]


def path(name: str) -> str:
    return str(FIXTURES / f"{name}.pt2")


@pytest.fixture(scope="module")
def interpreter() -> Iterator[Interpreter]:
    with Interpreter() as running:
        yield running


PACKAGES = sorted(
    str(p.relative_to(FIXTURES)) for folder in ("", "torch28", "torch211") for p in (FIXTURES / folder).glob("*.pt2")
)
#: Findings about a grid that CUDA refuses: the launch is shown to fail, and no rewrite of a kernel cures it.
REFUSED = {"KS302", "KS304"}


@pytest.mark.parametrize("name", PACKAGES)
def test_every_witness_of_the_fixtures_is_reproduced_and_none_after_the_patch(name: str, interpreter: Interpreter) -> None:
    package = str(FIXTURES / name)
    result = audit([package])
    replays = replay_all(package, result, interpreter=interpreter)
    unsafe = [f for m in result.artifacts[0].models for k in m.kernels for f in k.findings if isinstance(f, UnsafeFinding)]
    assert [one.finding for one in replays] == unsafe
    for one in replays:
        assert one.state is ReplayState.REPRODUCED, (one.finding.id, one.detail)
        assert one.patched is not None
        cure = PatchedState.NO_PATCH if one.finding.code in REFUSED else PatchedState.SETTLED
        assert one.patched.state is cure, (one.finding.id, one.patched.detail)
        wrong = [a for a in one.accesses if not a.agrees]
        if one.finding.consequence is Consequence.OUT_OF_BOUNDS:
            assert any(a.beyond is None or a.beyond != 0 for a in wrong if a.hardware is not None), one.finding.id


def test_every_unsafe_case_is_reproduced_and_settled_where_it_has_a_cure(interpreter: Interpreter) -> None:
    states: Counter[tuple[ReplayState, PatchedState | None]] = Counter()
    for kernel in sorted(CASES.glob("*.py")):
        launch = kernel.with_suffix(".toml")
        if not launch.exists():
            continue
        result = audit([kernel], launch_file=launch)
        for one in replay_all(str(kernel), result, launch_file=str(launch), interpreter=interpreter):
            states[one.state, one.patched.state if one.patched is not None else None] += 1
            if one.finding.consequence is Consequence.DOES_NOT_COMPILE:
                assert one.state is ReplayState.NOT_REPLAYABLE and "does not compile" in one.detail
            else:
                assert one.state is ReplayState.REPRODUCED, (kernel.name, one.detail)
                refused = one.finding.code in REFUSED
                assert one.patched is not None and (one.patched.state is PatchedState.SETTLED) is not refused, kernel.name
    assert states[ReplayState.REPRODUCED, PatchedState.SETTLED] >= 12 and states[ReplayState.NOT_REPLAYABLE, None] == 1


@pytest.mark.parametrize("name", ["cooperative", "dropout", "bmm", "descriptor", "userstrided"])
def test_what_the_interpreter_lacks_is_stood_in_for(name: str, interpreter: Interpreter) -> None:
    package = str(FIXTURES / "extra" / f"{name}.unbounded.pt2")
    replays = replay_all(package, audit([package]), patched=False, interpreter=interpreter)
    assert sum(one.state is ReplayState.REPRODUCED for one in replays) >= len(replays) - 4
    assert any(one.state is ReplayState.REPRODUCED and one.accesses for one in replays)


def test_the_offsets_are_those_of_the_witness() -> None:
    one = replay(path("i64bound.unbounded"), "KS201")
    witness = one.finding.witness
    first = one.accesses[0]
    assert (first.exact, first.hardware, first.beyond) == (witness.exact, witness.wrapped, witness.wrapped)
    assert one.arguments["xnumel"][0] == witness.symbols["s10"]


def test_a_narrowed_argument_arrives_wrapped() -> None:
    one = replay(path("i64bound.unbounded"), "KS301")
    assert one.arguments["xnumel"] == (2**31, -(2**31))
    masked_off = [a for a in one.accesses if not a.agrees]
    assert masked_off and all(a.exact is not None and a.hardware is None for a in masked_off)


def test_a_kernel_that_stands_alone_is_replayed_by_its_launch_file() -> None:
    name = "06_gemm_row_offset_sum_first"
    kernel, launch = str(CASES / f"{name}.py"), str(CASES / f"{name}.toml")
    done = CliRunner().invoke(cli.main, ["replay", kernel, "--launch", launch])
    assert done.exit_code == 1 and done.stdout.startswith("REPRODUCED")
    assert "2147483648 elements before the buffer" in " ".join(done.stdout.split())


def test_a_refused_launch_shows_the_grid_that_is_refused() -> None:
    done = CliRunner().invoke(cli.main, ["replay", path("softmax2d.huge")])
    assert done.exit_code == 1 and done.stdout.startswith("REPRODUCED")
    assert "grid of (2147483648, 1, 1), and CUDA allows (2147483647, 65535, 65535)" in " ".join(done.stdout.split())


def test_a_safe_package_has_nothing_to_replay() -> None:
    done = CliRunner().invoke(cli.main, ["replay", path("cat.small")])
    assert done.exit_code == 0 and done.stdout == "no unsafe finding to replay\n"


def test_a_finding_that_is_not_there_is_one_line() -> None:
    with pytest.raises(KernelscopeError, match="no unsafe finding KS999"):
        replay(path("i64bound.unbounded"), "KS999")


def test_json_has_both_offsets() -> None:
    done = CliRunner().invoke(
        cli.main, ["replay", path("i64bound.unbounded"), "--finding", "KS201", "--format", "json"]
    )
    (one,) = json.loads(done.stdout)["replays"]
    assert one["state"] == "reproduced" and one["accesses"][0]["hardware"] == -(2**31)
    assert one["patched"]["state"] == "settled" and one["patched"]["accesses"][0]["hardware"] == 2**31


def test_a_loop_that_never_ends_is_shown_by_its_counter(interpreter: Interpreter) -> None:
    package = path("softmax2d.unbounded")
    replays = replay_all(package, audit([package]), patched=False, interpreter=interpreter)
    endless = [one for one in replays if one.finding.consequence is Consequence.ENDLESS_LOOP]
    assert len(endless) == 3
    for one in endless:
        witness = one.finding.witness
        assert f"the counter becomes {witness.wrapped}, which is below" in one.detail and witness.exact == 2**31


def test_the_script_of_a_reproduction_runs_by_itself(tmp_path: Path) -> None:
    script = tmp_path / "reproduce.py"
    found = ["replay", path("layernorm.unbounded"), "--finding", "KS101", "--script", str(script)]
    assert CliRunner().invoke(cli.main, found).exit_code == 1
    text = script.read_text()
    assert "import kernelscope" not in text and "from kernelscope" not in text
    done = subprocess.run([sys.executable, "-I", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "reproduced"
    assert done.stdout.count("2147483648            -2147483648  outside of the buffer") == 3


def test_a_script_wants_a_finding_and_one_of_a_kernel(tmp_path: Path) -> None:
    script = str(tmp_path / "reproduce.py")
    alone = CliRunner().invoke(cli.main, ["replay", path("i64bound.unbounded"), "--script", script])
    assert alone.exit_code == 2 and "--script is for one finding" in alone.stderr
    refused = CliRunner().invoke(cli.main, ["replay", path("softmax2d.huge"), "--finding", "KS302", "--script", script])
    assert refused.exit_code == 2 and "no program of the kernel is at fault" in refused.stderr
    assert not Path(script).exists()


def test_an_audit_marks_what_it_reproduced() -> None:
    run = CliRunner().invoke(cli.main, ["audit", path("i64bound.unbounded"), path("cat.small"), "--replay"])
    assert run.exit_code == 1 and run.stdout.count("replay      reproduced") == 2
    run = CliRunner().invoke(cli.main, ["audit", path("i64bound.unbounded"), "--replay", "--format", "json"])
    findings = json.loads(run.stdout)["artifacts"][0]["models"][0]["kernels"][0]["findings"]
    assert [f["replay"] for f in findings] == ["reproduced"] * 2
    run = CliRunner().invoke(cli.main, ["audit", path("i64bound.unbounded"), "--replay", "--format", "sarif"])
    assert {r["properties"]["replay"] for r in json.loads(run.stdout)["runs"][0]["results"]} == {"reproduced"}


def test_a_loop_counter_of_a_witness_is_the_counters_value(interpreter: Interpreter) -> None:
    package = str(FIXTURES / "extra" / "splitsum.unbounded.pt2")
    replays = replay_all(package, audit([package]), patched=False, interpreter=interpreter)
    far = [one for one in replays if one.finding.witness.loop.get("r0_offset", 0) > 0]
    assert far and all(one.state is ReplayState.REPRODUCED for one in far)
