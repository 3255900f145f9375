"""A model and its inputs, from a script or an exported program. Runs in a child, since it executes what it is given."""

from __future__ import annotations

import os
import re
import runpy
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

FUNCTION = "get_model_and_inputs"
_DIMENSION = re.compile(r"input(\d+)\[(\d+)\]")
_SEED = 0


@dataclass
class Subject:
    """`model(*args, **kwargs)` is what every stage runs; `program` is the exported one where there is one."""

    model: Callable[..., object]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    program: torch.export.ExportedProgram | None


class SubjectError(Exception):
    """The script or program does not give a model with inputs: why."""


def load_subject(path: str, sizes: Mapping[str, int], device: str | None) -> Subject:
    """The model and inputs in `path`, the sizes of a program's inputs as given; SubjectError when there are none."""
    torch.manual_seed(_SEED)
    subject = _from_script(path) if path.endswith(".py") else _from_program(path, sizes)
    if path.endswith(".py") and sizes:
        raise SubjectError("sizes are for exported programs; a script makes its own inputs")
    if device is not None:
        if isinstance(subject.model, torch.nn.Module):
            subject.model.to(device)
        subject.args, subject.kwargs = _moved(subject.args, device), _moved(subject.kwargs, device)
    return subject


def _moved(value: Any, device: str) -> Any:  # noqa: ANN401  any nesting of tensors
    return torch.utils._pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.to(device), value)


def _from_script(path: str) -> Subject:
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))  # as `python SCRIPT` would
    function = runpy.run_path(path, run_name="kernelscope_subject").get(FUNCTION)
    if not callable(function):
        raise SubjectError(f"the script defines no {FUNCTION}()")
    made = function()
    if not isinstance(made, tuple) or not 2 <= len(made) <= 3 or not callable(made[0]):
        raise SubjectError(f"{FUNCTION}() must return (model, args) or (model, args, kwargs)")
    args = made[1] if isinstance(made[1], tuple | list) else (made[1],)
    return Subject(made[0], tuple(args), dict(made[2]) if len(made) == 3 else {}, None)


def _from_program(path: str, sizes: Mapping[str, int]) -> Subject:
    try:
        program = torch.export.load(path)
    except Exception as error:  # noqa: BLE001  torch raises whatever it stumbles over
        first = str(error).strip().splitlines() or [type(error).__name__]
        raise SubjectError(f"neither a script (.py) nor what torch.export.save wrote ({first[0][:160]})") from None
    if program.example_inputs is None:
        raise SubjectError("the exported program holds no example inputs")
    args, kwargs = program.example_inputs
    flat, nesting = torch.utils._pytree.tree_flatten((args, kwargs))
    resized = _resized(program, flat, sizes) if sizes else flat
    args, kwargs = torch.utils._pytree.tree_unflatten(resized, nesting)
    return Subject(program.module(), tuple(args), dict(kwargs), program)


def _resized(program: torch.export.ExportedProgram, flat: list[Any], sizes: Mapping[str, int]) -> list[Any]:
    """The example inputs at other sizes; a tensor whose sizes stay keeps its values."""
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    shapes = [
        tuple(nodes[name].meta["val"].shape) if name in nodes else () for name in program.graph_signature.user_inputs
    ]
    values = _values(flat, shapes, sizes)
    made = []
    for tensor, shape in zip(flat, shapes, strict=True):
        wanted = tuple(_evaluated(size, values) for size in shape)
        made.append(
            tensor if not isinstance(tensor, torch.Tensor) or wanted == tuple(tensor.shape) else _random(tensor, wanted)
        )
    return made


def _values(flat: list[Any], shapes: list[tuple[Any, ...]], sizes: Mapping[str, int]) -> dict[str, int]:
    """The value of every symbol: as given, else as in the example."""
    values: dict[str, int] = {}
    known = set()
    for number, (tensor, shape) in enumerate(zip(flat, shapes, strict=True)):
        for axis, size in enumerate(shape):
            if isinstance(size, torch.SymInt):
                name = str(size.node.expr)
                values.setdefault(name, tensor.shape[axis])
                known |= {name, f"input{number}[{axis}]"}
                given = sizes.get(name, sizes.get(f"input{number}[{axis}]"))
                if given is not None:
                    values[name] = given
    for name in sizes:
        if name not in known:
            raise SubjectError(f"no dynamic size is called {name}; there are {', '.join(sorted(known)) or 'none'}")
    return values


def _evaluated(size: Any, values: Mapping[str, int]) -> int:  # noqa: ANN401  int or torch.SymInt
    if not isinstance(size, torch.SymInt):
        return int(size)
    expression = size.node.expr
    if str(expression) in values:
        return values[str(expression)]
    return int(expression.subs({s: values[str(s)] for s in expression.free_symbols}))


def _random(example: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """Values of the example's kind: integers within its range, floats from a normal distribution."""
    if example.dtype.is_floating_point or example.dtype.is_complex:
        return torch.randn(shape, dtype=example.dtype, device=example.device)
    if example.dtype is torch.bool:
        return torch.rand(shape, device=example.device) < 0.5
    low, high = (int(example.min()), int(example.max())) if example.numel() else (0, 1)
    return torch.randint(low, high + 1, shape, dtype=example.dtype, device=example.device)
