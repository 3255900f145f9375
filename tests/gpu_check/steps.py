"""Runs packages on the GPU in a process of its own. usage: python -m tests.gpu_check.steps REQUEST.json

The request: the name of a case, the device and a list of steps, each a package with a size to check or to time. A line
of JSON is printed after each step, so that after a device fault it is known which step it was."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
import torch._inductor

from tests.gpu_check.comparison import difference
from tests.gpu_check.models import CASES, Case

_ROUNDS = 30


def done(step: Mapping[str, Any], case: Case, model: Callable[..., torch.Tensor], device: str) -> dict[str, Any]:
    inputs = case.inputs(step["size"], device)
    if step["kind"] == "time":
        return {"milliseconds": median_milliseconds(lambda: model(*inputs))}
    found = difference(model(*inputs), case.eager, inputs, case.chunk, case.tolerance)
    return {"differing": found.elements, "first_row": found.first_row}


def median_milliseconds(call: Callable[[], object]) -> float:
    """The median of 30 calls by CUDA events, after three to warm up."""
    for _ in range(3):
        call()
    times = []
    for _ in range(_ROUNDS):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def loaded(package: str) -> Callable[..., torch.Tensor]:
    model = torch._inductor.aoti_load_package(package)

    def call(*inputs: torch.Tensor) -> torch.Tensor:
        result = model(*inputs)
        return result[0] if isinstance(result, (list, tuple)) else result

    return call


def main() -> None:
    torch.set_grad_enabled(False)
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    case = CASES[request["case"]]
    for step in request["steps"]:
        answer = done(step, case, loaded(step["package"]), request["device"])
        print(json.dumps(answer), flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
