"""Work in other processes: artifacts side by side, and the kernels of one artifact."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from kernelscope.artifact import open_artifact
from kernelscope.artifact.contents import Artifact
from kernelscope.audit.artifact_audit import (
    ArtifactAuditor,
    AuditSettings,
    KernelVerdict,
    ModelFacts,
    WrapperPlace,
    read_model,
)
from kernelscope.collection import rare_collection
from kernelscope.errors import KernelscopeError

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor
    from types import TracebackType

_Result = TypeVar("_Result")

_CHUNKS = 8  # for each process: large enough to be worth sending, small enough to end together
_MOST_KERNELS = 32


class Processes:
    """Processes that are started when they are first needed; `jobs` 0: one for each processor that may be used."""

    def __init__(self, jobs: int) -> None:
        self.count = jobs or available_processors()
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def map(self, function: Callable[..., _Result], calls: Sequence[tuple[object, ...]]) -> Iterator[_Result]:
        """The results in the order of the calls. KernelscopeError when a process was killed."""
        from concurrent.futures.process import BrokenProcessPool

        try:
            yield from self._started().map(function, *zip(*calls, strict=True))
        except BrokenProcessPool:
            what = "a process of the audit was killed, as when memory ends"
            raise KernelscopeError(what, try_this="use fewer of them: -j 1") from None

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            from concurrent.futures import ProcessPoolExecutor
            from multiprocessing import get_context

            # forked processes would inherit the locks of threads, such as that of a progress bar
            self._pool = ProcessPoolExecutor(self.count, get_context("spawn"), _ignore_interrupts)
        return self._pool


def available_processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def _ignore_interrupts() -> None:
    """Ctrl-C reaches every process of the terminal; the first one ends the others."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


@dataclass(frozen=True, slots=True)
class KernelProcesses:
    """Judges the kernels of one artifact in other processes, each of which reads the artifact itself."""

    path: str
    settings: AuditSettings
    processes: Processes

    def verdicts(
        self, place: WrapperPlace, launchers: Sequence[str]
    ) -> Iterator[tuple[KernelVerdict, Iterable[str]]]:
        """In the order of `launchers`, with the rules used."""
        size = max(1, min(_MOST_KERNELS, len(launchers) // (_CHUNKS * self.processes.count)))
        chunks = [tuple(launchers[start : start + size]) for start in range(0, len(launchers), size)]
        calls = [(self.path, self.settings, place, chunk) for chunk in chunks]
        for verdicts, rules in self.processes.map(_judge, calls):
            yield from ((verdict, rules) for verdict in verdicts)


def _judge(
    path: str, settings: AuditSettings, place: WrapperPlace, launchers: Sequence[str]
) -> tuple[list[KernelVerdict], tuple[str, ...]]:
    with rare_collection():
        artifact, facts = _read(path, settings.launch_file, settings.only)
        auditor = ArtifactAuditor(artifact, settings)
        return auditor.some_of(facts, place, launchers), tuple(auditor.rules)


@lru_cache(maxsize=1)
def _read(path: str, launch_file: str | None, only: frozenset[str] | None) -> tuple[Artifact, list[ModelFacts]]:
    artifact = open_artifact(path)
    return artifact, [read_model(model, launch_file, only) for model in artifact.models]
