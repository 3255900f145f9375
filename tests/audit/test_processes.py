"""Kernels judged in other processes: the same results in the same order, and a killed process is one line."""

from __future__ import annotations

import os
import signal

import pytest

from kernelscope import audit
from kernelscope.audit.processes import Processes
from kernelscope.errors import KernelscopeError
from tests.bench.synthetic import write_package


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("synthetic") / "p.pt2"
    write_package(path, 56)
    return str(path)


def test_two_processes_say_what_one_says(package: str) -> None:
    seen: list[tuple[int, int, str]] = []
    apart = audit(package, jobs=2, progress=lambda *step: seen.append(step))
    assert apart == audit(package, jobs=1)
    assert len(apart.artifacts[0].models[0].kernels) == 56
    assert [step[0] for step in seen[-56:]] == list(range(56))


def test_kernels_apart_keep_the_guards_and_the_choice_of_kernels(package: str) -> None:
    (model,) = audit(package).artifacts[0].models
    size = model.symbols[0].name
    some = frozenset(kernel.name for kernel in model.kernels[:50])
    options = {"guards": [f"{size} <= 1024"], "only": some}
    assert audit(package, jobs=2, **options) == audit(package, jobs=1, **options)  # type: ignore[arg-type]


def _die(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_process_is_one_clear_error() -> None:
    with Processes(1) as processes, pytest.raises(KernelscopeError) as caught:
        list(processes.map(_die, [(1,)]))
    assert caught.value.one_line() == "a process of the audit was killed, as when memory ends; use fewer of them: -j 1"
