"""`make gpu-check`: packages on this machine's GPU, before and after the patch. Writes docs/gpu-results.md.

Exit status: 0 as the audit told, or no GPU; 1 otherwise."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.gpu_check.harness import NotRun, Outcome, outcomes
from tests.gpu_check.page import CHECKS, TIMES, Row, is_as_told, page
from tests.gpu_check.planning import Planned, planned

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "gpu-results.md"
SECONDS = 290.0
_LEAST = 20.0
_FIXED_BYTES = 1 << 30  # the chunk that eager works on, a few times


def missing_gpu() -> str | None:
    """Why there is no GPU to use; None where there is one."""
    for name in ("torch", "triton"):
        if importlib.util.find_spec(name) is None:
            return f"{name} is not installed"
    import torch

    return None if torch.cuda.is_available() else "no CUDA device that torch can use"


def machine() -> dict[str, str]:
    """Device, driver and versions, as the page names them."""
    import torch
    import triton

    import kernelscope

    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0].strip()
    except (OSError, subprocess.CalledProcessError, IndexError):
        driver = "unknown"
    memory = torch.cuda.get_device_properties(0).total_memory / 2**30
    return {
        "device": f"{torch.cuda.get_device_name(0)} ({memory:.0f} GiB)", "driver": driver, "CUDA": str(torch.version.cuda),
        "torch": torch.__version__, "triton": triton.__version__, "kernelscope": kernelscope.__version__,
    }  # fmt: skip


def requests(built: Mapping[str, Any], plan: Planned) -> list[tuple[list[str], list[dict[str, Any]]]]:
    """What runs, a process each: names of the outcomes, and steps. What should fail runs last, alone."""
    packages = built["packages"]
    safe: list[tuple[str, dict[str, Any]]] = []
    beyond: list[tuple[str, dict[str, Any]]] = []
    if plan.safe is not None:
        sizes = {CHECKS[0]: ("original", plan.safe), CHECKS[2]: ("patched", plan.safe), CHECKS[3]: ("patched", plan.beyond)}
        safe += [
            (name, {"kind": "check", "package": packages[way], "size": size})
            for name, (way, size) in sizes.items() if way in packages
        ]  # fmt: skip
        beyond = [(CHECKS[1], {"kind": "check", "package": packages["original"], "size": plan.beyond})]
    safe += [(way, {"kind": "time", "package": packages[way], "size": plan.timed}) for way in TIMES if way in packages]
    return [([n for n, _ in part], [step for _, step in part]) for part in (safe, beyond) if part]


def row(built: Mapping[str, Any], plan: Planned, folder: Path, end: float) -> Row:
    """Everything about one case, within the time that is left."""
    found: dict[str, Outcome] = {}
    for names, steps in requests(built, plan):
        left = end - time.monotonic()
        if left < _LEAST:
            found |= {name: NotRun("no time was left") for name in names}
            continue
        request = folder / "request.json"
        request.write_text(json.dumps({"case": built["name"], "device": "cuda", "steps": steps}), encoding="utf-8")
        command = [sys.executable, "-m", "tests.gpu_check.steps", str(request)]
        found |= zip(names, outcomes(command, len(steps), left, ROOT), strict=True)
    checks = {name: found[name] for name in CHECKS if name in found}
    times = {name: found[name] for name in TIMES if name in found}
    return Row(built["name"], built["largest_safe"], plan.timed, checks, times, plan.reason)


def main() -> int:
    reason = missing_gpu()
    if reason is not None:
        print(f"gpu-check skipped: {reason}")
        return 0
    import torch

    from tests.gpu_check.models import CASES

    end = time.monotonic() + SECONDS
    free = torch.cuda.mem_get_info()[0]
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, "-m", "tests.gpu_check.building", name]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False, timeout=SECONDS)
        for line in (line for line in done.stdout.splitlines() if line.startswith("{")):
            built = json.loads(line)
            plan = planned(built["largest_safe"], CASES[built["name"]].bytes_each, _FIXED_BYTES, free)
            rows.append(row(built, plan, folder, end))
            print(f"{built['name']}: {'as told' if is_as_told(rows[-1]) else 'NOT as told'} {plan.reason}", flush=True)
    missing = sorted(CASES.keys() - {r.case for r in rows})
    if missing:
        print(f"not built: {', '.join(missing)} (exit status {done.returncode})")
    if rows:
        text = page(rows, machine())
        PAGE.write_text(text, encoding="utf-8")
        print(text)
    return 0 if not missing and all(map(is_as_told, rows)) else 1


if __name__ == "__main__":
    sys.exit(main())
