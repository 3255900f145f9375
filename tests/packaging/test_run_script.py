"""Scripts that cannot be edited get a policy from the environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernelscope import cli
from kernelscope.errors import KernelscopeError
from kernelscope.packaging.run_script import policy_of_environment

ROOT = Path(__file__).parents[2]
CAPTURE = ROOT / "fixtures" / "capture"

_PACKAGES = """
import sys, capture, torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

program = capture.exported(capture.EXTRA["swiglu"], sys.argv[1])
print(torch._inductor.aoti_compile_and_package(program, package_path=sys.argv[2], inductor_configs=dict(capture.OPTIONS)))
sys.exit(7)
"""


def test_a_policy_that_there_is_not_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELSCOPE", "yes")
    with pytest.raises(KernelscopeError, match="KERNELSCOPE=yes is no policy"):
        policy_of_environment()


def test_the_policy_is_audit_unless_it_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KERNELSCOPE", raising=False)
    assert policy_of_environment().value == "audit"


def test_a_script_that_is_not_there_is_one_line() -> None:
    done = CliRunner().invoke(cli.main, ["run", "nowhere.py"])
    assert done.exit_code == 2 and done.stderr.count("\n") == 1


@pytest.mark.torch
def test_an_error_of_the_script_is_shown_as_python_shows_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("def f():\n    raise ValueError('mine')\n\nf()\n")
    done = CliRunner().invoke(cli.main, ["run", str(script)])
    lines = done.stderr.splitlines()
    assert done.exit_code == 1 and lines[0].startswith("Traceback") and lines[-1] == "ValueError: mine"
    assert lines[1].strip() == f'File "{script}", line 4, in <module>' and "kernelscope" not in done.stderr


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize(("policy", "kind", "status"), [("error", "unbounded", 1), ("error", "small", 7)])
def test_a_script_runs_under_the_policy_and_keeps_its_status(
    policy: str, kind: str, status: int, tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text(_PACKAGES)
    package = tmp_path / "p.pt2"
    environment = {
        **os.environ,
        "VIRTUAL_GPU_DIR": str(tmp_path / "gpu"),
        "PYTHONPATH": str(ROOT),
        "KERNELSCOPE": policy,
    }
    command = [str(CAPTURE / "run"), sys.executable, "-m", "kernelscope", "run", str(script), kind, str(package)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr[-2000:]
    assert package.exists() == (status == 7)
    assert (str(package) in done.stdout) == (status == 7)
    assert ("at s33 = 524289" in done.stderr) == (status == 1)
