"""The largest safe sizes of real packages are exact: all sizes up to them are proved safe, the next one fails."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from kernelscope import cli
from kernelscope.audit import audit, largest_safe_sizes
from kernelscope.audit.results import Verdict
from tests.audit.packages import EXPECTED, expected_sizes, only_model, others_fixed, package, unsafe_findings

SIZES = list(expected_sizes())
IDS = [f"{name} {symbol}" for name, symbol, _ in SIZES]
#: Packages small enough to be audited twice more for each of their sizes.
QUICK = [case for case in SIZES if EXPECTED[case[0]]["kernels"] <= 2]


@pytest.mark.parametrize(("name", "symbol", "largest"), SIZES, ids=IDS)
def test_largest_safe_size_is_the_expected_one(name: str, symbol: str, largest: int | None) -> None:
    result = largest_safe_sizes(package(name), fixed=others_fixed(name, symbol))
    assert (result.largest_safe, result.unknown) == ({symbol: largest}, {})


@pytest.mark.parametrize(("name", "symbol", "largest"), QUICK, ids=[f"{n} {s}" for n, s, _ in QUICK])
def test_audit_proves_everything_up_to_the_threshold_and_refutes_the_next_size(
    name: str, symbol: str, largest: int | None
) -> None:
    fixed = {other: (value, value) for other, value in others_fixed(name, symbol).items()}
    limit = (1 << 40) - 1 if largest is None else largest
    (below,) = audit([package(name)], ranges={**fixed, symbol: (2, limit)}, device_memory=None).artifacts
    assert below.verdict is Verdict.SAFE
    assert all(kernel.proofs for kernel in only_model(below).kernels)
    if largest is None:
        return
    (beyond,) = audit([package(name)], ranges={**fixed, symbol: (2, largest + 1)}, device_memory=None).artifacts
    assert beyond.verdict is Verdict.UNSAFE
    assert only_model(beyond).largest_safe[symbol] == largest
    for finding in unsafe_findings(beyond):
        assert finding.witness.symbols[symbol] == largest + 1


@pytest.mark.parametrize(("name", "entry"), EXPECTED.items(), ids=list(EXPECTED))
def test_every_kernel_and_launch_is_seen(name: str, entry: dict[str, int]) -> None:
    ranges = dict.fromkeys(EXPECTED[name]["largest_safe"], (2, 2))
    model = only_model(audit([package(name)], ranges=ranges).artifacts[0])
    launches = sum(len(kernel.launches) for kernel in model.kernels)
    assert (len(model.kernels), launches) == (entry["kernels"], entry["launches"])


@pytest.mark.parametrize(
    ("arguments", "largest"),
    [
        (["transpose.unbounded", "--fix", "s21=64", "--fix", "s25=64"], {"s10": 33554400}),
        (["transpose.unbounded", "--fix", "input0[1]=64", "--fix", "input0[2]=64"], {"s10": 33554400}),
        (["i64bound.huge"], {"s10": None}),
        (["layernorm.unbounded", "--device-memory", "8GiB"], {"s10": None}),
        (["layernorm.unbounded", "--fix", "s10=4"], {}),
    ],
)
def test_bounds_command_prints_them(arguments: list[str], largest: dict[str, int | None]) -> None:
    name, *options = arguments
    done = CliRunner().invoke(cli.main, ["bounds", package(name), *options, "--format", "json"])
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert (document["largest_safe"], document["schema"]) == (largest, 1)


def test_bounds_of_a_size_that_does_not_exist_are_refused() -> None:
    done = CliRunner().invoke(cli.main, ["bounds", package("layernorm.unbounded"), "--fix", "s99=64"])
    assert done.exit_code == 2
    assert "no size is called s99" in done.stderr
