"""The first operators of a model's exported graph as a function of their own. Runs in a child."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from kernelscope.isolation.subject import Subject


@dataclass
class GraphPrefix:
    """`function(*args)` gives the value of the operator at `position`; `total` is how many there are."""

    function: Callable[..., object]
    args: tuple[Any, ...]
    operator: str
    source: str
    position: int
    total: int
    code: str


def prefix_of(subject: Subject, position: int | None, alone: bool) -> GraphPrefix:
    """The graph up to the operator at `position` (None: the last one); with `alone` that operator only, on the values
    that eager gives it."""
    program = subject.program or torch.export.export(subject.model, subject.args, subject.kwargs)  # type: ignore[arg-type, unused-ignore]
    flat = _lifted_arguments(program, subject)
    graph = copy.deepcopy(program.graph)
    calls = [n for n in graph.nodes if n.op == "call_function" and _gives_tensor(n)]
    place = len(calls) if position is None else position
    node = calls[place - 1]
    name, source = str(node.target), _source_line(node)
    if alone:
        module, args = _single(graph, node, flat)
    else:
        module, args = _cut(graph, node), flat
    return GraphPrefix(module, args, name, source, place, len(calls), module.code)


def _lifted_arguments(program: torch.export.ExportedProgram, subject: Subject) -> tuple[Any, ...]:
    """A value for each placeholder of the exported graph: parameters, buffers, constants, then the user's inputs."""
    inputs = iter(torch.utils._pytree.tree_leaves((subject.args, subject.kwargs)))
    values = []
    for spec in program.graph_signature.input_specs:
        if spec.target is None:
            values.append(next(inputs))
        elif spec.target in program.state_dict:
            values.append(program.state_dict[spec.target])
        else:
            values.append(program.constants[spec.target])
    return tuple(values)


def _gives_tensor(node: torch.fx.Node) -> bool:
    value = node.meta.get("val")
    return any(isinstance(leaf, torch.Tensor) for leaf in torch.utils._pytree.tree_leaves(value))


def _source_line(node: torch.fx.Node) -> str:
    lines = [line.strip() for line in str(node.meta.get("stack_trace", "")).splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _cut(graph: torch.fx.Graph, node: torch.fx.Node) -> torch.fx.GraphModule:
    """The graph up to `node`; its outputs are what later operators, or the caller, would take from it."""
    (end,) = graph.find_nodes(op="output")
    order = {one: place for place, one in enumerate(graph.nodes)}
    inside = [one for one in graph.nodes if one.op == "call_function" and order[one] <= order[node]]
    live = [one for one in inside if _gives_tensor(one) and any(order[user] > order[node] for user in one.users)]
    end.args = (tuple(dict.fromkeys([*live, node])),)
    graph.eliminate_dead_code()
    return torch.fx.GraphModule({}, graph)


def _single(
    graph: torch.fx.Graph, node: torch.fx.Node, flat: tuple[Any, ...]
) -> tuple[torch.fx.GraphModule, tuple[Any, ...]]:
    """Only `node`, its inputs computed by eager."""
    needed = list(node.all_input_nodes)
    (end,) = graph.find_nodes(op="output")
    end.args = (tuple(needed),)
    values = torch.fx.GraphModule({}, copy.deepcopy(graph))(*flat)
    alone = torch.fx.Graph()
    places = {old: alone.placeholder(f"x{number}") for number, old in enumerate(needed)}
    made = alone.call_function(
        node.target,  # type: ignore[arg-type, unused-ignore]
        *torch.fx.node.map_arg((node.args, dict(node.kwargs)), lambda old: places[old]),
    )
    alone.output(made)
    return torch.fx.GraphModule({}, alone), tuple(values)
