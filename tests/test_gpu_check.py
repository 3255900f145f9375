"""`make gpu-check`, as far as it goes without a GPU: sizes, comparison, processes that die, the page, packages built."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.gpu_check.harness import Checked, Failed, NotRun, Timed, outcomes
from tests.gpu_check.page import CHECKS, Row, is_as_told, page
from tests.gpu_check.planning import chunks, planned

ROOT = Path(__file__).parents[1]
RIGHT = Checked(0, None)
FAULT = Failed("CUDA error: an illegal memory access")
ROW = Row(
    "layernorm", 524288, 1024, dict(zip(CHECKS, (RIGHT, FAULT, RIGHT, RIGHT), strict=True)), {"original": Timed(1.5)}, ""
)


def test_a_size_that_memory_does_not_hold_is_left_out_with_its_reason() -> None:
    assert planned(100, 1 << 20, 0, 1 << 30).beyond == 101
    small = planned(100, 1 << 20, 0, 50 << 20)
    assert (small.safe, small.beyond, small.timed) == (None, None, 45) and small.reason.startswith("101 needs")
    assert chunks(10, 4) == [(0, 4), (4, 8), (8, 10)]


def test_a_process_that_dies_loses_only_its_own_steps() -> None:
    code = "import os; print('{\"differing\": 0, \"first_row\": null}', flush=True); os.abort()"
    found = outcomes([sys.executable, "-c", code], 3, 60, ROOT)
    assert found[0] == Checked(0, None) and isinstance(found[1], Failed) and "SIGABRT" in str(found[1])
    assert isinstance(found[2], NotRun) and not found[1].is_device_fault
    assert outcomes([sys.executable, "-c", "import time; time.sleep(60)"], 1, 0.5, ROOT)[0] == Failed("not done within 0 s")


def test_only_the_original_may_fail_and_only_beyond_its_limit() -> None:
    assert is_as_told(ROW)
    for name, outcome in (
        (CHECKS[0], Checked(3, 7)), (CHECKS[1], Checked(0, None)), (CHECKS[1], Failed("not done within 9 s")),
        (CHECKS[3], Checked(1, 0)), (CHECKS[2], Failed("exit status 1")),
    ):  # fmt: skip
        assert not is_as_told(replace(ROW, checks={**ROW.checks, name: outcome}))
    text = page([ROW], {"device": "some GPU"})
    assert "some GPU" in text and "| layernorm | 524288 | right | failed: CUDA error" in text and "1.500 ms" in text


def test_without_a_gpu_it_is_skipped_with_one_line() -> None:
    done = subprocess.run([sys.executable, "-m", "tests.gpu_check"], cwd=ROOT, capture_output=True, text=True, check=False,
                          env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})  # fmt: skip
    assert done.returncode == 0
    assert done.stdout.startswith("gpu-check skipped: ") and done.stdout.count("\n") == 1


@pytest.mark.torch
def test_a_wrong_row_is_found_in_its_chunk() -> None:
    import torch

    from tests.gpu_check.comparison import difference

    x = torch.arange(40.0).reshape(10, 4)
    result = x * 2
    result[7, 2] += 1
    found = difference(result, lambda rows: rows * 2, [x], 4, 0.0)
    assert (found.elements, found.first_row) == (1, 7)
    assert difference(x * 2, lambda rows: rows * 2, [x], 3, 1e-6).elements == 0


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_the_packages_are_built_and_patched_each_way(tmp_path: Path) -> None:
    code = "import virtual_gpu; virtual_gpu.install(); from tests.gpu_check.building import main; main()"
    command = [str(ROOT / "fixtures/capture/run"), sys.executable, "-c", code, str(tmp_path), "layernorm"]
    environment = {**os.environ, "VIRTUAL_GPU_DIR": str(tmp_path / "gpu"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    built = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    assert built["largest_safe"] == 524288
    assert {"original", "minimal", "inductor-style", "blanket", "patched"} == set(built["packages"])
