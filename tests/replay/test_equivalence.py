"""Patched and original kernels give the same bits on small inputs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernelscope import cli
from kernelscope.artifact import open_artifact
from kernelscope.audit import audit
from kernelscope.audit.results import Verdict
from kernelscope.audit.run import DEFAULT_DEVICE_MEMORY, read_model
from kernelscope.launches.launch import EmbeddedKernel
from kernelscope.patching.targets import targets_of
from kernelscope.replay.equivalence import Equivalence, EquivalenceState, compare_kernels
from kernelscope.replay.interpreter_process import Interpreter
from kernelscope.replay.patched_kernels import PatchedKernels

FIXTURES = Path(__file__).parents[2] / "fixtures"

pytestmark = [pytest.mark.torch, pytest.mark.slow]
#: Pointwise, tiled, reduction, online softmax, scan, gather, scatter and atomic, user kernel.
NAMES = ["i64bound.unbounded", "transpose.huge", "layernorm.unbounded", "softmax2d.unbounded", "cumsum.unbounded",
         "embedding.unbounded", "cat.unbounded", "upsample.unbounded", "userkernel.huge", "resnet18.unbounded",
         "extra/scatterreduce.unbounded"]  # fmt: skip


@pytest.fixture(scope="module")
def interpreter() -> Iterator[Interpreter]:
    with Interpreter() as running:
        yield running


def compared(name: str, interpreter: Interpreter, spoilt: bool = False) -> list[Equivalence]:
    """Every patched kernel of a fixture beside its original; `spoilt`: the patched one stores something else."""
    artifact = open_artifact(str(FIXTURES / f"{name}.pt2"))
    facts = [read_model(model, None) for model in artifact.models]
    patches = PatchedKernels(DEFAULT_DEVICE_MEMORY)
    found = []
    for target in targets_of(artifact, facts, audit([FIXTURES / f"{name}.pt2"]), frozenset()):
        assert target.kernel is not None
        launch = target.launches[0]
        patched = patches.of(target.model, target.wrapper, target.kernel, launch)
        if not isinstance(patched, str):
            after: EmbeddedKernel = patched.kernel
            if spoilt:
                text = re.sub(r"(tl\.store\(.*, tmp\d+)(, \w+\))", r"\1 * 2\2", after.source)
                after = replace(after, source=text, layout=None)
                assert after.source != patched.kernel.source
            pair = (target.kernel, launch), (after, patched.launch)
            found.append(compare_kernels(target.model, target.wrapper.symbols, *pair, interpreter))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_patched_kernel_gives_the_same_bits(name: str, interpreter: Interpreter) -> None:
    found = compared(name, interpreter)
    assert found
    for one in found:
        assert one.state is EquivalenceState.EQUAL and one.programs > 0, one


def test_another_result_is_seen(interpreter: Interpreter) -> None:
    (one,) = compared("i64bound.unbounded", interpreter, spoilt=True)
    assert one.state is EquivalenceState.DIFFERENT and one.detail


def test_patch_checks_what_it_wrote(tmp_path: Path) -> None:
    package, output = str(FIXTURES / "layernorm.unbounded.pt2"), str(tmp_path / "patched.pt2")
    done = CliRunner().invoke(cli.main, ["patch", package, "-o", output, "--check", "--format", "json"])
    assert done.exit_code == 0
    (check,) = json.loads(done.stdout)["checks"]
    assert (check["state"], check["programs"], check["grid"], check["sizes"]) == ("equal", 5, 5, {"s10": 5})
    assert audit(output).verdict is Verdict.SAFE


def test_a_dry_run_has_nothing_to_check() -> None:
    done = CliRunner().invoke(cli.main, ["patch", str(FIXTURES / "layernorm.unbounded.pt2"), "--dry-run", "--check"])
    assert done.exit_code == 2 and "leave out --dry-run" in done.stderr
