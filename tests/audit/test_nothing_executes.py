"""An audit reads and parses. It runs nothing of what it is given, and needs none of the heavy packages."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.audit import plants
from tests.audit.packages import FIXTURES, package

ROOT = FIXTURES.parent


class _Bomb:
    def __init__(self, statement: str) -> None:
        self.statement = statement

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return exec, (self.statement,)


def _bomb(marker: Path) -> str:
    return f"__import__('pathlib').Path({str(marker)!r}).touch()"


def _run(*arguments: str) -> Any:
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("planted")
    marker = folder / "marker"
    bomb = _bomb(marker)
    plants.write(folder / "harmless", "0", "0", b"0")
    plants.write(folder / "planted", bomb, bomb, pickle.dumps(_Bomb(bomb)))
    seen = _run("-m", "tests.audit.watched_audit", str(folder / "harmless"), str(folder / "planted"))
    seen["marker"] = marker.exists()
    return seen


def test_nothing_planted_is_run(watched: Any) -> None:
    assert watched["marker"] is False
    assert watched["events"] == []


def test_what_is_planted_would_run_if_it_were_executed(tmp_path: Path) -> None:
    """Else the test above could not fail."""
    marker = tmp_path / "marker"
    plants.write(tmp_path / "planted", _bomb(marker), _bomb(marker), pickle.dumps(_Bomb(_bomb(marker))))
    subprocess.run([sys.executable, "-c", "import planted_module"], cwd=tmp_path / "planted", check=True)
    assert marker.exists()
    marker.unlink()
    (data,) = (tmp_path / "planted" / "unpacked").rglob("data.pkl")
    pickle.loads(data.read_bytes())
    assert marker.exists()


def test_the_planted_inputs_were_read_to_the_end(watched: Any) -> None:
    assert set(watched["planted"]) == set(watched["harmless"]) >= {"kernel.py", "output_code.py", "package.pt2", "unpacked"}
    assert watched["harmless"]["package.pt2"] == watched["harmless"]["unpacked"] == "safe"
    assert watched["planted"]["package.pt2"] in ("safe", "unknown")
    for name in ("kernel.py", "output_code.py"):
        assert watched["planted"][name] in ("safe", "unknown", "unsafe"), watched["planted"][name]


@pytest.mark.parametrize("name", ["grid.py", "argument.py", "constant.py", "type.py"])
def test_code_in_a_launch_file_proves_nothing(watched: Any, name: str) -> None:
    assert watched["planted"][name] not in ("safe", "unsafe")


def test_an_audit_imports_nothing_heavy(watched: Any) -> None:
    assert watched["heavy"] == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("audit", package("resnet18.unbounded")),
        ("audit", package("layernorm.unbounded"), "--format", "json"),
        ("audit", str(FIXTURES / "extra" / "flex.unbounded.py")),
        ("bounds", package("embedding.unbounded")),
        ("show", package("layernorm.unbounded")),
        ("show", package("layernorm.unbounded"), "layer_norm"),
        ("explain", "KS101"),
    ],
    ids=" ".join,
)
def test_commands_work_where_torch_triton_libcst_and_z3_are_missing(arguments: tuple[str, ...]) -> None:
    code = (
        "import sys\n"
        "for name in ('torch', 'triton', 'libcst', 'z3', 'fsspec', 'numpy', 'sympy'):\n"
        "    sys.modules[name] = None\n"  # importing it raises ImportError
        "from kernelscope.cli import main\n"
        f"main({list(arguments)!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    assert done.stderr == ""
    assert len(done.stdout) > 100
