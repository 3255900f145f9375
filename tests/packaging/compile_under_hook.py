"""Run under the virtual GPU by test_compilation_hook: compiles inside hooks and writes what they found as JSON."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import capture
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import Dim, export
from torch.fx.experimental.symbolic_shapes import ShapeEnv

import kernelscope
from kernelscope.audit.results import AuditResult, Note, UnsafeFinding

torch._inductor.config.joint_graph_constant_folding = False
torch._inductor.config.use_static_cuda_launcher = False


NO_DEVICE = (getattr(torch, "AcceleratorError", RuntimeError), RuntimeError)


def norm(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.layer_norm(torch.nn.functional.gelu(x), (4096,))


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2 + 1


def call(function: Callable[..., Any], **options: Any) -> None:
    """Compiles for a dynamic batch; the launch itself fails, as there is no GPU."""
    torch._dynamo.reset()
    with contextlib.suppress(*NO_DEVICE):
        torch.compile(lambda x: function(x.to("cuda")), dynamic=True, **options)(torch.zeros(64, 4096))


def told(result: AuditResult | None) -> list[dict[str, Any]]:
    assert result is not None
    return [
        {
            "path": artifact.path,
            "verdict": artifact.verdict.word,
            "kernels": [kernel.name for model in artifact.models for kernel in model.kernels],
            "unsafe": [f.code for m in artifact.models for k in m.kernels for f in k.findings if isinstance(f, UnsafeFinding)],
            "guarded": [
                [f.code, *f.guards] for m in artifact.models for k in m.kernels for f in k.findings
                if isinstance(f, Note) and f.guards
            ],
        }
        for artifact in result.artifacts
    ]  # fmt: skip


def cold_and_warm(found: dict[str, Any]) -> None:
    for name in ("cold", "warm"):
        with kernelscope.hook() as hook:
            call(norm)
        found[name] = told(hook.audit)


def workers(found: dict[str, Any]) -> None:
    with kernelscope.hook() as hook, torch._inductor.config.patch(compile_threads=2, fx_graph_cache=False):
        call(doubled)
    found["workers"] = told(hook.audit)


def ahead_of_time(found: dict[str, Any], path: str) -> None:
    with FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True):
        arguments = (torch.empty(64, 4096, device="cuda"),)
        program = export(capture.Wrapped(norm), arguments, dynamic_shapes={"args": (({0: Dim("batch", min=2)}),)})
    given: list[AuditResult] = []
    with kernelscope.hook(given.append) as hook:
        torch._inductor.aoti_compile_and_package(program, package_path=path, inductor_configs=dict(capture.OPTIONS))
    found["ahead of time"] = told(hook.audit)
    found["given"] = [result is hook.audit for result in given]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with kernelscope.hook():
            torch._inductor.aoti_compile_and_package(program, package_path=path, inductor_configs=dict(capture.OPTIONS))
    found["warned"] = [str(w.message) for w in caught if issubclass(w.category, kernelscope.UnsafeIndexWarning)]


def without_dynamo(found: dict[str, Any]) -> None:
    """Inductor called directly: nothing checks its guards."""
    with FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True):
        arguments = (torch.empty(64, 4096, device="cuda"),)
        program = export(capture.Wrapped(norm), arguments, dynamic_shapes={"args": (({0: Dim("batch", min=2)}),)})
    inputs = [node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"]
    with kernelscope.hook(lambda _: None) as hook:
        try:
            torch._inductor.compile_fx.compile_fx(program.module(), inputs)
        except Exception as error:  # noqa: BLE001  after the graph is compiled the launch has no device
            found["without dynamo stopped"] = type(error).__name__
    found["without dynamo"] = told(hook.audit)


def without_guards(found: dict[str, Any]) -> None:
    """Guards that a filter of the user's drops protect from nothing."""
    with kernelscope.hook(lambda _: None) as hook:
        call(norm, options={"guard_filter_fn": lambda guards: [False for _ in guards]})
    found["without guards"] = told(hook.audit)


def nested(found: dict[str, Any]) -> None:
    with kernelscope.hook() as outer:
        call(norm)
        with kernelscope.hook() as inner:
            call(doubled)
    found["outer"], found["inner"] = told(outer.audit), told(inner.audit)


def threads(found: dict[str, Any]) -> None:
    """A thread with a hook of its own keeps what it compiles; one without gives it to the hooks that are open."""
    own: list[Any] = []

    def with_own() -> None:
        with kernelscope.hook() as hook:
            call(norm)
        own.append(told(hook.audit))

    with kernelscope.hook() as hook:
        for target in (with_own, lambda: call(doubled)):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()
    found["thread"], found["process"] = own[0], told(hook.audit)


def decorated(found: dict[str, Any]) -> None:
    given: list[AuditResult] = []

    @kernelscope.hook(given.append)
    def compile_twice(function: Callable[..., Any]) -> str:
        call(function)
        call(function)
        return "returned"

    found["decorated"] = [compile_twice(norm), len(given)]
    try:
        with kernelscope.hook() as hook:
            call(norm)
            raise KeyError("the body's own")
    except KeyError:
        found["raised"] = hook.audit is None
    from torch._inductor.output_code import CompiledFxGraph

    found["restored"] = CompiledFxGraph.post_compile.__module__
    with kernelscope.hook() as hook:
        pass
    found["nothing"] = told(hook.audit)


def main(folder: str) -> None:
    found: dict[str, Any] = {}
    cold_and_warm(found)
    ahead_of_time(found, f"{folder}/norm.pt2")
    without_dynamo(found)
    without_guards(found)
    nested(found)
    threads(found)
    decorated(found)
    workers(found)
    with open(f"{folder}/found.json", "w") as file:
        json.dump(found, file, indent=1)


if __name__ == "__main__":
    main(sys.argv[1])
