"""The child in which Triton's interpreter runs: requests as lines of JSON in, answers out."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from kernelscope.replay.interpretation import run_sides  # first: it sets TRITON_INTERPRET

import numpy as np  # isort: skip
import triton  # isort: skip
import triton.language as tl  # isort: skip
from triton.language.extra import libdevice  # isort: skip
from triton.runtime import interpreter  # isort: skip

from kernelscope.build.inductor_helpers import import_helpers
from kernelscope.build.resolution import check_names
from kernelscope.build.restricted_module import restricted_module
from kernelscope.replay.full_run import run_programs
from kernelscope.replay.libdevice import supply


def run(request: Mapping[str, Any]) -> dict[str, Any]:
    """What both sides did; the kernel's module is rebuilt from its functions first.

    With `source` the witness of a finding; with `sources` whole programs of two texts that should be equivalent."""
    if "sources" in request:
        modules = [restricted_module(source) for source in request["sources"]]
        for one in modules:
            check_names(one)
        return run_programs(request, [one.text for one in modules])
    module = restricted_module(request["source"])
    check_names(module)
    return run_sides(module.text, request)


@triton.jit
def _no_barrier(sem):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    return


def _give_semantic() -> None:
    """Inductor's own builtins want the `_semantic` that the interpreter gives only to Triton's."""
    triton_helpers: Any = import_helpers()
    for name in ("constexpr_next_power_of_2", "if_mask"):
        function = getattr(triton_helpers, name, None)
        if function is not None:
            setattr(triton_helpers, name, _with_semantic(function))
    if hasattr(triton_helpers, "x_grid_barrier"):  # one program alone waits for no other
        triton_helpers.x_grid_barrier = _no_barrier


def _with_semantic(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def called(*arguments: Any, **keywords: Any) -> Any:  # noqa: ANN401
        plain = (tl.constexpr(a) if isinstance(a, int) else a for a in arguments)
        return function(*plain, **{**keywords, "_semantic": interpreter.interpreter_semantic})

    return called


def main() -> None:
    """Requests as lines of JSON in, answers out, until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # the interpreter prints
    np.seterr(all="ignore")
    supply(libdevice)
    _give_semantic()
    for line in sys.stdin:
        try:
            answer = run(json.loads(line))
        except Exception as error:  # noqa: BLE001  whatever the interpreter cannot do is the answer
            answer = {"failure": f"{type(error).__name__}: {error}".splitlines()[0][:400]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
