"""What Inductor compiles and Dynamo guards, seen from outside: the private names of torch that this needs, all of them."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

from kernelscope.packaging.torch_names import unsupported, whole_end


@dataclass(slots=True, eq=False)
class CompiledGraph:
    """One graph that Inductor compiled, or took from its cache.

    path: where torch keeps the text, which may be gone. guards, minima: conditions on sizes, and least sizes, that Dynamo
    checks before each call; empty until it has built the guards, and where nothing does."""

    path: str
    text: str
    guards: tuple[str, ...] = ()
    minima: tuple[tuple[str, int], ...] = ()


Receive = Callable[[CompiledGraph], None]


def watch_compilations(receive: Receive) -> Callable[[], None]:
    """Calls `receive` for each graph from now on, cached ones too; what is returned undoes that.

    `OutputCode.post_compile` runs for cached graphs as well (torch/_inductor/output_code.py); Dynamo builds the guards of
    a frame after its backend has returned, in `CheckFunctionManager` (torch/_dynamo/guards.py), from the ShapeEnv that
    Inductor has added its own to. KernelscopeError for a torch without these names."""
    try:
        from torch._dynamo import guards
        from torch._inductor import output_code
    except ImportError:
        raise unsupported("torch._inductor.output_code") from None
    waiting = _Waiting()
    graph, library = (_member(output_code, name, "post_compile") for name in ("CompiledFxGraph", "CompiledAOTI"))
    manager = _member(guards, "CheckFunctionManager", "__init__")
    if "guard_filter_fn" not in inspect.signature(manager.__init__).parameters:
        raise unsupported("torch._dynamo.guards.CheckFunctionManager(guard_filter_fn=...)")
    originals = [(graph, "post_compile"), (library, "post_compile"), (manager, "__init__")]
    restores = [(kind, name, getattr(kind, name)) for kind, name in originals]
    graph.post_compile = _before(graph.post_compile, lambda made, inputs: _receive_graph(made, inputs, receive, waiting))
    library.post_compile = _before(library.post_compile, lambda made, _: _receive_library(made, receive))
    manager.__init__ = _after_guards(manager.__init__, waiting)

    def restore() -> None:
        for kind, name, original in restores:
            setattr(kind, name, original)

    return restore


def _member(module: Any, name: str, method: str) -> Any:  # noqa: ANN401  a class of torch
    kind = getattr(module, name, None)
    if not hasattr(kind, method):
        raise unsupported(f"{module.__name__}.{name}.{method}")
    return kind


def _before(original: Callable[..., Any], see: Callable[[Any, Any], None]) -> Callable[..., Any]:
    @wraps(original)
    def post_compile(self: Any, example_inputs: Any, *args: Any, **keywords: Any) -> Any:  # noqa: ANN401  torch's own
        see(self, example_inputs)
        return original(self, example_inputs, *args, **keywords)

    return post_compile


# -- graphs ------------------------------------------------------------------------------------------------------------


class _Waiting:
    """Graphs whose guards Dynamo has still to build, by their ShapeEnv."""

    def __init__(self) -> None:
        self._graphs: weakref.WeakKeyDictionary[Any, list[CompiledGraph]] = weakref.WeakKeyDictionary()

    def add(self, environment: Any, graph: CompiledGraph) -> None:  # noqa: ANN401  ShapeEnv
        self._graphs.setdefault(environment, []).append(graph)

    def take(self, environment: Any) -> Sequence[CompiledGraph]:  # noqa: ANN401  ShapeEnv
        return self._graphs.pop(environment, ())


def _receive_graph(made: Any, example_inputs: Any, receive: Receive, waiting: _Waiting) -> None:  # noqa: ANN401
    from torch._guards import detect_fake_mode

    text = getattr(made, "source_code", None)
    if not text:
        return
    graph = CompiledGraph(_cached_path(made), text)
    environment = getattr(detect_fake_mode(example_inputs), "shape_env", None)
    if environment is not None:
        waiting.add(environment, graph)
    receive(graph)


def _cached_path(made: Any) -> str:  # noqa: ANN401  CompiledFxGraph
    from torch._inductor import codecache

    key = str(getattr(made, "cache_key", "") or "output_code")
    get_path = getattr(codecache, "get_path", None)
    return str(get_path(key, "py")[2]) if get_path is not None else f"{key}.py"


def _receive_library(made: Any, receive: Receive) -> None:  # noqa: ANN401  CompiledAOTI
    """Wrappers among the files of an ahead-of-time build, else beside its library. Nothing guards these."""
    names = made.filename if isinstance(made.filename, list) else [made.filename]
    files = [Path(name) for name in names if isinstance(name, str)]
    wrappers = [file for file in files if file.name.endswith(".wrapper.cpp")]
    for file in files if not wrappers else ():
        if file.suffix == ".so":
            wrappers += sorted(file.parent.glob("*.wrapper.cpp"))
    for path in dict.fromkeys(wrappers):
        if path.is_file():
            receive(CompiledGraph(str(path), path.read_text(encoding="utf-8", errors="replace")))


# -- guards ------------------------------------------------------------------------------------------------------------


def _after_guards(original: Callable[..., None], waiting: _Waiting) -> Callable[..., None]:
    """Once the guards of a frame are built, the graphs of its ShapeEnv are under them, unless a `guard_filter_fn` of the
    user's had a say in which are kept."""
    signature = inspect.signature(original)

    @wraps(original)
    def init(self: Any, *args: Any, **keywords: Any) -> None:  # noqa: ANN401  torch's own
        original(self, *args, **keywords)
        given = signature.bind(self, *args, **keywords).arguments
        environment = getattr(given.get("output_graph"), "shape_env", None)
        if environment is None:
            return
        guards, minima = _conditions(environment)
        for graph in waiting.take(environment):
            if given.get("guard_filter_fn") is None:
                graph.guards, graph.minima = guards, minima

    return init


def _conditions(environment: Any) -> tuple[tuple[str, ...], tuple[tuple[str, int], ...]]:  # noqa: ANN401  ShapeEnv
    guards = [str(guard.expr) for guard in environment.guards]
    minima: list[tuple[str, int]] = []
    for symbol, interval in environment.var_to_range.items():
        low, high = whole_end(interval.lower), whole_end(interval.upper)
        if high is not None:
            guards.append(f"{symbol} <= {high}")
        if low is not None:
            minima.append((str(symbol), low))
    return tuple(guards), tuple(minima)
