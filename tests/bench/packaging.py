"""Time that the audit adds to torch's own packaging call, within the same calls. Needs torch, g++, the CUDA headers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
_MEASURE = """
import json, os, sys, time
import capture, torch
import kernelscope
from tests.packaging.compile_policies import program

torchs = []
original = torch._inductor.aoti_compile_and_package

def timed(*args, **keywords):
    start = time.perf_counter()
    try:
        return original(*args, **keywords)
    finally:
        torchs.append(time.perf_counter() - start)

torch._inductor.aoti_compile_and_package = timed
shares = []
for number, name in enumerate(sys.argv[2:]):
    made = program(name, 1024)
    start = time.perf_counter()
    path, options = os.path.join(sys.argv[1], f"{number}.pt2"), dict(capture.OPTIONS)
    kernelscope.aoti_compile_and_package(made, package_path=path, inductor_configs=options)
    shares.append((time.perf_counter() - start - torchs[-1]) / torchs[-1])
print(json.dumps(shares))
"""


def added_shares(folder: Path, models: tuple[str, ...]) -> list[float]:
    """For each model with ranges that fit, what Kernelscope adds as a share of torch's own call."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "VIRTUAL_GPU_DIR": str(folder / "virtual_gpu")}
    command = [str(ROOT / "fixtures" / "capture" / "run"), sys.executable, "-c", _MEASURE, str(folder), *models]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    shares: list[float] = json.loads(done.stdout.splitlines()[-1])
    return shares
