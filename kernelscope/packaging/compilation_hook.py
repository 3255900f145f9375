"""`hook()`: audits whatever Inductor compiles inside a `with`, ahead of time or for `torch.compile`."""

from __future__ import annotations

import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ContextDecorator, contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from kernelscope.audit.results import ArtifactResult, Assumptions, AuditResult, UsedBound, Verdict
from kernelscope.audit.run import DEFAULT_DEVICE_MEMORY, audit
from kernelscope.launches.launch import BoundOrigin
from kernelscope.packaging.compile_and_package import UnsafeIndexWarning
from kernelscope.packaging.torch_compilations import CompiledGraph, watch_compilations
from kernelscope.packaging.unsafe_text import what_breaks

OnUnsafe = Callable[[AuditResult], object]


class hook(ContextDecorator):  # noqa: N801  used as a function is
    """A context manager, and a decorator, around any compilation by Inductor.

    Every graph that is compiled inside, or taken from Inductor's cache, is audited at the end; one that `torch.compile`
    guards is judged under its guards, and what they rule out is told as guarded. `on_unsafe` is called with the audit when
    something unsafe is left; without it there is an UnsafeIndexWarning. `device_memory`: bytes that the tensors of one
    launch fit into (None: no assumption).

    A compilation belongs to the hooks that its own thread has open; where it has none, to every open hook. When the body
    raises, nothing is audited. Raises KernelscopeError for a torch that cannot be watched."""

    def __init__(
        self, on_unsafe: OnUnsafe | None = None, *, device_memory: int | None = DEFAULT_DEVICE_MEMORY
    ) -> None:
        self._on_unsafe = on_unsafe
        self._device_memory = device_memory
        self._graphs: list[CompiledGraph] = []
        self._audit: AuditResult | None = None

    def _recreate_cm(self) -> hook:
        """A decorated function is hooked anew at each call."""
        return hook(self._on_unsafe, device_memory=self._device_memory)

    def __enter__(self) -> hook:
        _WATCH.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _WATCH.remove(self)
        if error is not None:
            return
        different = {(graph.text, graph.guards, graph.minima): graph for graph in reversed(self._graphs)}
        self._audit = _audited(tuple(reversed(different.values())), self._device_memory)
        if self._audit.artifacts and self._audit.verdict is Verdict.UNSAFE:
            if self._on_unsafe is not None:
                self._on_unsafe(self._audit)
            else:
                warnings.warn(what_breaks(self._audit), UnsafeIndexWarning, stacklevel=2)

    @property
    def audit(self) -> AuditResult | None:
        """The audit of what was compiled, an artifact a graph; None before the end."""
        return self._audit

    def receive(self, graph: CompiledGraph) -> None:
        """Takes one graph in."""
        self._graphs.append(graph)


class _Watch:
    """The open hooks of the process, and torch watched while there are any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: list[tuple[int, hook]] = []
        self._restore: Callable[[], None] | None = None

    def add(self, one: hook) -> None:
        with self._lock:
            if self._restore is None:
                self._restore = watch_compilations(self._receive)
            self._open.append((threading.get_ident(), one))

    def remove(self, one: hook) -> None:
        with self._lock:
            self._open = [(thread, other) for thread, other in self._open if other is not one]
            if not self._open and self._restore is not None:
                self._restore()
                self._restore = None

    def _receive(self, graph: CompiledGraph) -> None:
        with self._lock:
            own = [one for thread, one in self._open if thread == threading.get_ident()]
            for one in own or [one for _, one in self._open]:
                one.receive(graph)


_WATCH = _Watch()


def _audited(graphs: tuple[CompiledGraph, ...], device_memory: int | None) -> AuditResult:
    results = [_audit_one(one, device_memory) for one in graphs]
    bounds: dict[UsedBound, None] = dict.fromkeys(b for r in results for b in r.assumptions.bounds)
    rules = sorted({rule for result in results for rule in result.assumptions.rules})
    artifacts = tuple(artifact for result in results for artifact in result.artifacts)
    return AuditResult(artifacts, Assumptions(device_memory, tuple(bounds), tuple(rules)))


def _audit_one(graph: CompiledGraph, device_memory: int | None) -> AuditResult:
    with _on_disk(graph) as path:
        result = audit(
            path, device_memory=device_memory, guards=graph.guards, range_origin=BoundOrigin.GUARD,
            ranges={name: (low, None) for name, low in graph.minima},
        )  # fmt: skip
    return replace(result, artifacts=tuple(_named(a, path, graph.path) for a in result.artifacts))


def _named(artifact: ArtifactResult, read: str, kept: str) -> ArtifactResult:
    return replace(artifact, path=kept) if artifact.path == read else artifact


@contextmanager
def _on_disk(graph: CompiledGraph) -> Iterator[str]:
    """Where the text can be read: torch's own file, or one made for the purpose if that is gone or another."""
    kept = Path(graph.path)
    try:
        same = kept.read_text(encoding="utf-8", errors="replace") == graph.text
    except OSError:
        same = False
    if same:
        yield str(kept)
        return
    with tempfile.TemporaryDirectory(prefix="kernelscope-") as folder:
        path = Path(folder) / kept.name
        path.write_text(graph.text, encoding="utf-8")
        yield str(path)
