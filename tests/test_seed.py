"""What the walk-through that started the project does by hand, section by section, one command each."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernelscope import cli
from kernelscope.advice import advise
from kernelscope.advice.options import DeclareRanges
from kernelscope.audit import audit
from kernelscope.audit.results import Verdict

FIXTURES = Path(__file__).parents[1] / "fixtures"
#: The reported defect itself: bounds of 64 bits were declared and torch 2.8 compiled 32-bit indices.
DEFECT = str(FIXTURES / "torch28" / "i64bound.huge.pt2")

#: Section four's model, packaged as its comment says, and saved as `isolate` and `advise --program` take it.
_PACKAGED = """
import sys
import torch
from torch.export import Dim, export, save

model = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.ReLU())
x = torch.randn(4, 16)
batch = Dim("batch", min=2, max=1024)
torch._inductor.aoti_compile_and_package(export(model, (x,)), package_path=sys.argv[1])
save(export(model, (x,), dynamic_shapes={"input": {0: batch}}), sys.argv[2])
loaded = torch._inductor.aoti_load_package(sys.argv[1])
torch.testing.assert_close(loaded(x), model(x))
"""

#: Section five as printed: its shapes are keyed `x`, and the argument of `Linear` is called `input`.
_AS_PRINTED = """
import torch
from torch.export import Dim

batch = Dim("batch", min=1, max=1024)
torch.export.export(torch.nn.Linear(16, 8), (torch.randn(4, 16),), dynamic_shapes={"x": {0: batch}})
"""


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli.main, list(words))
    return done.exit_code, " ".join(done.stdout.split())


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


# -- one: what it looks like; ten: is it the same one? ------------------------------------------------------------------


def test_doctor_names_the_defect_and_answers_the_four_questions() -> None:
    status, said = run("doctor", DEFECT)
    assert status == 0 or status == 1
    questions = (
        "Was it exported and compiled ahead of time? Yes",
        "Does it have int64 indices, or large dynamic dimensions? Yes",
        "Are results wrong, out of bounds, or does it crash only in the package? Yes",
        "Is it right under torch.compile? Yes",
    )
    assert all(question in said for question in questions)
    assert "defect range-ignored" in said


# -- three: why the upper bound matters ---------------------------------------------------------------------------------


def test_audit_finds_that_the_declared_bound_of_64_bits_was_lost_and_where_32_bits_end() -> None:
    (artifact,) = audit([DEFECT]).artifacts
    assert artifact.verdict is Verdict.UNSAFE
    assert [symbol.maximum for symbol in artifact.models[0].symbols] == [None]
    assert artifact.models[0].largest_safe == {"s10": 2**31 - 1}


# -- four: export and compile; seven and nine: torch.compile and aot_eager ----------------------------------------------


@pytest.mark.torch
@pytest.mark.slow
def test_the_smallest_flow_is_packaged_audited_and_isolated(tmp_path: Path) -> None:
    package, program = str(tmp_path / "model.pt2"), str(tmp_path / "program.pt2")
    made = python(_PACKAGED, package, program)
    assert made.returncode == 0, made.stderr[-2000:]
    status, said = run("audit", package)
    assert status == 0 and said.startswith("SAFE")
    assert "no Triton kernels" in said
    done = CliRunner().invoke(cli.main, ["isolate", program, package, "--size", "input0[0]=4", "--format", "json"])
    document = json.loads(done.stdout)
    stages = {stage["stage"]: stage["state"] for stage in document["stages"]}
    assert done.exit_code == 0 and document["first"] is None
    assert [stages[name] for name in ("eager", "dynamo", "aot_eager", "inductor", "package")] == ["same"] * 5


# -- five: declare ranges -----------------------------------------------------------------------------------------------


def test_advise_gives_ranges_that_are_safe_and_code_that_declares_them() -> None:
    ranges = advise(str(FIXTURES / "i64bound.unbounded.pt2")).models[0].ranges
    assert isinstance(ranges, DeclareRanges)
    assert re.search(r'^s10 = Dim\("s10", min=2, max=2147483647\)', ranges.code, re.MULTILINE)
    assert (ranges.verdict, ranges.one_more) == (Verdict.SAFE, Verdict.UNSAFE)


@pytest.mark.torch
def test_the_script_as_printed_fails_and_the_arguments_own_name_does_not() -> None:
    printed = python(_AS_PRINTED)
    assert printed.returncode != 0 and "dynamic_shapes" in printed.stderr
    assert python(_AS_PRINTED.replace('"x"', '"input"')).returncode == 0


# -- six: int32 where it fits -------------------------------------------------------------------------------------------


def test_advise_says_where_int32_indices_are_enough() -> None:
    _, said = run("advise", str(FIXTURES / "embedding.unbounded.pt2"))
    assert "Index with int32 tensors" in said and "input0" in said


# -- eight: a version in which it is fixed ------------------------------------------------------------------------------


def test_advise_says_which_version_obeys_the_bound_and_that_the_package_must_be_compiled_anew() -> None:
    status, said = run("advise", DEFECT)
    assert status == 1
    assert "seen in torch 2.8; fixed in torch 2.11" in said and "compile the package anew with torch 2.11 or newer" in said


@pytest.mark.parametrize("torch", ["torch211/i64bound.huge", "i64bound.huge"])
def test_the_same_bounds_are_safe_in_packages_of_the_versions_named(torch: str) -> None:
    assert audit([str(FIXTURES / f"{torch}.pt2")]).verdict is Verdict.SAFE
