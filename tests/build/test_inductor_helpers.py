"""Inductor's helpers come without the rest of torch, and with it where a torch's helpers need it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

_IMPORT = """
import json, sys
from kernelscope.build.inductor_helpers import import_helpers, torch_version
helpers = import_helpers()
loaded = [name for name in sys.modules if name.partition(".")[0] == "torch"]
print(json.dumps([helpers.__file__, torch_version(), hasattr(sys.modules["torch"], "marker"), sorted(loaded)]))
"""


def imported(*paths: Path) -> tuple[str, str, bool, list[str]]:
    """What a fresh process imports: the helpers' file, torch's version, whether torch's own code ran, torch's modules."""
    root = Path(__file__).parents[2]
    start = f"import sys; sys.path[:0] = {[str(p) for p in (*paths, root)]!r}\n"
    done = subprocess.run([sys.executable, "-c", start + _IMPORT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    file, version, marked, loaded = json.loads(done.stdout)
    return file, version, marked, loaded


def fake_torch(folder: Path, helpers: str) -> Path:
    runtime = folder / "torch" / "_inductor" / "runtime"
    runtime.mkdir(parents=True)
    (folder / "torch" / "__init__.py").write_text("marker = True\nneeded = 7\n")
    (folder / "torch" / "version.py").write_text("__version__ = '9.9'\n")
    (folder / "torch" / "_inductor" / "__init__.py").touch()
    (runtime / "__init__.py").touch()
    (runtime / "triton_helpers.py").write_text(helpers)
    return folder


@pytest.mark.torch
def test_the_helpers_come_without_the_rest_of_torch() -> None:
    file, version, _, loaded = imported()
    assert file.endswith("triton_helpers.py") and version
    assert "torch._C" not in loaded and "torch.cuda" not in loaded and len(loaded) < 20


def test_helpers_that_need_nothing_run_none_of_torchs_own_code(tmp_path: Path) -> None:
    file, version, marked, _ = imported(fake_torch(tmp_path, "import torch\n"))
    assert (file, version, marked) == (str(tmp_path / "torch/_inductor/runtime/triton_helpers.py"), "9.9", False)


def test_helpers_that_need_torch_get_all_of_it(tmp_path: Path) -> None:
    file, version, marked, _ = imported(fake_torch(tmp_path, "import torch\nassert torch.needed == 7\n"))
    assert (file, version, marked) == (str(tmp_path / "torch/_inductor/runtime/triton_helpers.py"), "9.9", True)
