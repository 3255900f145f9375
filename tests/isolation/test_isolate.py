"""Planted faults are found at the stage that has them; a model without one agrees everywhere."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernelscope import cli
from kernelscope.errors import KernelscopeError
from kernelscope.isolation import isolate
from kernelscope.isolation.results import Stage, StageState

SCRIPTS = Path(__file__).parent / "scripts"

pytestmark = [pytest.mark.torch, pytest.mark.slow]


def states(script: str, **options: object) -> tuple[dict[Stage, StageState], object]:
    isolation = isolate(str(SCRIPTS / f"{script}.py"), **options)  # type: ignore[arg-type]
    return {s.stage: s.state for s in isolation.stages}, isolation


def test_a_wrong_decomposition_begins_at_aot_eager_and_names_the_operator(tmp_path: Path) -> None:
    isolation = isolate(str(SCRIPTS / "wrong_decomposition.py"))
    assert isolation.first is not None and isolation.first.stage is Stage.AOT_EAGER
    assert isolation.first.state is StageState.DIFFERS
    assert (
        isolation.operator is not None and isolation.operator.name == "aten.silu.default" and isolation.operator.alone
    )
    assert "silu" in isolation.operator.source
    assert isolation.reproduction is not None
    script = tmp_path / "reproduction.py"
    plant = "import right, wrong_decomposition\nwrong_decomposition.get_model_and_inputs()\n"
    script.write_text(f"import sys\nsys.path.insert(0, {str(SCRIPTS)!r})\n{plant}" + isolation.reproduction)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "Tensor-likes are not close" in done.stderr
    clean = tmp_path / "clean.py"
    clean.write_text(isolation.reproduction)
    done = subprocess.run([sys.executable, str(clean)], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout == "no difference\n"


def test_a_wrong_kernel_begins_at_inductor() -> None:
    isolation = isolate(str(SCRIPTS / "wrong_kernel.py"))
    assert [s.state for s in isolation.stages][:4] == [StageState.SAME] * 3 + [StageState.DIFFERS]
    assert isolation.first is not None and isolation.first.stage is Stage.INDUCTOR
    assert isolation.operator is not None and isolation.operator.name == "aten.silu.default"  # the first with exp in it


def test_a_crash_and_a_hang_are_contained_and_told_where() -> None:
    found, crashed = states("crash", find_operator=False)
    assert found[Stage.INDUCTOR] is StageState.CRASHED and found[Stage.AOT_EAGER] is StageState.SAME
    assert crashed.first.stage is Stage.INDUCTOR and "SIGABRT" in crashed.first.detail  # type: ignore[attr-defined]
    assert "crash.py line" in crashed.first.detail  # type: ignore[attr-defined]
    found, hung = states("hang", find_operator=False, time_limit=25.0)
    assert found[Stage.INDUCTOR] is StageState.TIMED_OUT and found[Stage.AOT_EAGER] is StageState.SAME
    assert "hang.py line" in hung.first.detail  # type: ignore[attr-defined]


_OTHER_WEIGHTS = """
import sys
import torch
from right import get_model_and_inputs
from torch.export import Dim, export, save

def program():
    return export(model, args, dynamic_shapes=({0: Dim("batch", min=2, max=4096)},))

model, args = get_model_and_inputs()
save(program(), sys.argv[1])
torch.nn.init.ones_(model.first.weight)
torch._inductor.aoti_compile_and_package(program(), package_path=sys.argv[2])
"""


def test_a_package_built_from_other_weights_is_told_from_a_fault_of_the_compiler(tmp_path: Path) -> None:
    program, package = str(tmp_path / "program.pt2"), str(tmp_path / "package.pt2")
    subprocess.run(
        [sys.executable, "-c", _OTHER_WEIGHTS, program, package], cwd=SCRIPTS, check=True, capture_output=True
    )
    done = CliRunner().invoke(cli.main, ["isolate", program, package, "--size", "input0[0]=9", "--format", "json"])
    document = json.loads(done.stdout)
    assert done.exit_code == 1 and document["first"] == "package" and document["sizes"] == {"input0[0]": 9}
    assert {s["stage"]: s["state"] for s in document["stages"]} == {
        "eager": "same", "dynamo": "same", "aot_eager": "same", "inductor": "same", "package": "differs",
        "fresh_package": "same",
    }  # fmt: skip
    assert "other weights" in document["conclusion"]
    assert "9 elements" in document["stages"][4]["differences"][1]["detail"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("x = 1", "defines no get_model_and_inputs"),
        ("def get_model_and_inputs(): return 3", "must return"),
        ("def get_model_and_inputs(): raise RuntimeError('boom')", "boom"),
        ("def get_model_and_inputs(:", "SyntaxError"),
    ],
)
def test_a_script_that_gives_no_model_is_one_line(text: str, what: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(text)
    with pytest.raises(KernelscopeError) as caught:
        isolate(str(script))
    assert what in caught.value.one_line() and "\n" not in caught.value.one_line()


def test_a_package_in_place_of_a_program_is_one_line() -> None:
    with pytest.raises(KernelscopeError) as caught:
        isolate(str(SCRIPTS.parents[2] / "fixtures" / "cat.small.pt2"))
    assert "what torch.export.save wrote" in caught.value.one_line() and "\n" not in caught.value.one_line()


def test_a_file_that_is_not_there_is_refused() -> None:
    done = CliRunner().invoke(cli.main, ["isolate", "nowhere.py"])
    assert done.exit_code == 2 and done.stderr.count("\n") == 1
