"""One `kernel.run(…)` of a Python wrapper: which arguments it passes, and where its comment is."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernelscope.launches.host_expression import HostConstant, HostExpression, HostSymbol
from kernelscope.launches.kernel_metadata import KernelMetadata
from kernelscope.launches.launch import ConstexprValue

_COMMENT = re.compile(r"#.*Topologically Sorted Source Nodes: \[(.*?)\](?:, Original ATen: \[(.*?)\])?")


@dataclass(frozen=True, slots=True)
class PythonKernel:
    """A kernel that the module defines: the variable's name, the Triton function's and the metadata."""

    variable: str
    name: str
    metadata: KernelMetadata
    parameters: tuple[str, ...]


def call_parameters(kernel: PythonKernel, count: int) -> tuple[str, ...] | None:
    """Which parameters `count` positional arguments of `.run` stand for; torch versions differ in what they pass."""
    metadata = kernel.metadata
    tuned = {n for n in metadata.constexprs if n not in metadata.constants}
    every = [n for n in kernel.parameters if n not in tuned]
    undeclared = [n for n in every if n not in metadata.declared_constexprs]
    runtime = [n for n in every if metadata.signature.get(n) != "constexpr"]
    for names in (undeclared, every, runtime):
        full = (*names, *metadata.extra_launcher_args)
        if len(full) == count:
            return full
    return None


def is_run(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "run"
        and isinstance(node.func.value, ast.Name)
        and any(keyword.arg == "stream" for keyword in node.keywords)
    )


def constexprs_of(metadata: KernelMetadata, integers: Mapping[str, HostExpression]) -> dict[str, ConstexprValue]:
    constexprs: dict[str, ConstexprValue] = {}
    for name, value in integers.items():
        if name in metadata.constexprs and isinstance(value, HostConstant):
            constexprs[name] = value.value
    for name, constant in metadata.constants.items():
        if constant is None or isinstance(constant, (int, float, str)):
            constexprs[name] = constant
    return constexprs


def block_size(metadata: KernelMetadata, constexprs: Mapping[str, ConstexprValue], name: str) -> HostExpression:
    """A block size: a known constexpr, one where the kernel has no such parameter, else a symbol of its name."""
    value = constexprs.get(name)
    if isinstance(value, int):
        return HostConstant(value)
    return HostSymbol(name) if name in metadata.signature else HostConstant(1)


def operations_above(lines: Sequence[str], line: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(source nodes, ATen operations) from the nearest comment above a line."""
    for text in reversed(lines[max(0, line - 41) : line - 1]):
        match = _COMMENT.search(text)
        if match is not None:
            return _listed(match.group(1)), _listed(match.group(2))
    return (), ()


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip()) if text else ()
