"""The `@triton.jit` functions of a source and which of them is the kernel."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from kernelscope.launches.kernel_metadata import KernelMetadata, read_metadata
from kernelscope.launches.launch import ConstexprValue
from kernelscope.python_syntax import parse_module


@dataclass(frozen=True, slots=True)
class KernelDeclaration:
    """A kernel's name, its parameters in order, and their constexpr marks and default values."""

    name: str
    parameters: tuple[str, ...]
    constexprs: frozenset[str]
    defaults: dict[str, ConstexprValue]
    metadata: KernelMetadata
    line: int

    @property
    def is_inductor(self) -> bool:
        return self.metadata.heuristic is not None


def kernel_declarations(source: str) -> tuple[KernelDeclaration, ...]:
    """The functions of `source` that a launch could name, in file order; raises SyntaxError where it is not Python.

    Jitted functions that another one calls or passes on are left out, unless they carry an Inductor decorator."""
    tree = parse_module(source)
    jitted = [n for n in tree.body if isinstance(n, ast.FunctionDef) and any(map(_is_jit, n.decorator_list))]
    called = {node.id for function in jitted for node in ast.walk(function) if isinstance(node, ast.Name)}
    decorated = [n for n in jitted if any("triton_heuristics" in ast.unparse(d) for d in n.decorator_list)]
    chosen = decorated or [n for n in jitted if n.name not in called] or jitted
    return tuple(_declaration(node, source, node in decorated) for node in chosen)


def _is_jit(decorator: ast.expr) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (isinstance(target, ast.Attribute) and target.attr == "jit") or (
        isinstance(target, ast.Name) and target.id == "jit"
    )


def _declaration(node: ast.FunctionDef, source: str, is_inductor: bool) -> KernelDeclaration:
    parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    constexprs = frozenset(p.arg for p in parameters if p.annotation and "constexpr" in ast.unparse(p.annotation))
    positional = [*node.args.posonlyargs, *node.args.args]
    pairs = list(zip(reversed(positional), reversed(node.args.defaults), strict=False))
    pairs += [(p, d) for p, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None]
    defaults = {
        parameter.arg: default.value
        for parameter, default in pairs
        if isinstance(default, ast.Constant) and isinstance(default.value, (int, float, str, type(None)))
    }
    metadata = KernelMetadata()
    if is_inductor:
        lines = source.splitlines(keepends=True)
        first = min(d.lineno for d in node.decorator_list)
        metadata = read_metadata("".join(lines[first - 1 : node.end_lineno]))
    return KernelDeclaration(
        node.name, tuple(p.arg for p in parameters), constexprs, defaults, metadata, node.lineno
    )
