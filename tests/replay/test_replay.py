"""Witnesses run in Triton's interpreter: the lane goes where the audit says, on both sides."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernelscope import cli
from kernelscope.audit import audit
from kernelscope.audit.results import Consequence
from kernelscope.errors import KernelscopeError
from kernelscope.replay import replay
from kernelscope.replay.replaying import replay_all
from kernelscope.replay.results import ReplayState

FIXTURES = Path(__file__).parents[2] / "fixtures"
CASES = Path(__file__).parents[1] / "cases"

pytestmark = [pytest.mark.torch, pytest.mark.slow]


def path(name: str) -> str:
    return str(FIXTURES / f"{name}.pt2")


@pytest.mark.parametrize(
    "name", ["i64bound.unbounded", "embedding.unbounded", "cat.unbounded", "userkernel.huge", "transpose.huge",
             "upsample.unbounded", "torch28/transpose.huge", "torch211/upsample.huge"],
)  # fmt: skip
def test_every_witness_of_an_access_is_reproduced(name: str) -> None:
    replays = replay_all(path(name), audit([path(name)]))
    assert replays
    for one in replays:
        if one.finding.code.startswith("KS30") and one.finding.code != "KS301":
            assert one.state is ReplayState.NOT_REPLAYABLE and one.detail
            continue
        assert one.state is ReplayState.REPRODUCED, (one.finding.id, one.detail)
        wrong = [a for a in one.accesses if not a.agrees]
        if one.finding.consequence is Consequence.OUT_OF_BOUNDS:
            assert any(a.beyond is None or a.beyond != 0 for a in wrong if a.hardware is not None), one.finding.id


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


def test_a_refused_launch_says_why_it_is_not_replayed() -> None:
    done = CliRunner().invoke(cli.main, ["replay", path("softmax2d.huge")])
    assert done.exit_code == 0 and "NOT REPLAYABLE" in done.stdout and "no program runs" in done.stdout


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
