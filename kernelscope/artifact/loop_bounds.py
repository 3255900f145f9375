"""Up to which bounds the loops of a kernel run that step by a given constexpr."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kernelscope.python_syntax import parse_module

_SCRATCH = 2  # pointers that triton appends to the parameters, at most


@dataclass(frozen=True, slots=True)
class LoopBound:
    """A literal, or an argument: its name, its position among those that are no constexpr, and how many those are."""

    literal: int | None = None
    name: str | None = None
    position: int = -1
    arguments: int = 0

    def fits(self, parameters: int) -> bool:
        """Whether a PTX entry has a parameter for each argument, so that positions can be compared."""
        return self.arguments <= parameters <= self.arguments + _SCRATCH


def functions_of(source: str) -> tuple[ast.FunctionDef, ...]:
    """The functions at the top of a kernel's text; none where it is not Python."""
    try:
        tree = parse_module(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(node for node in tree.body if isinstance(node, ast.FunctionDef))


def loop_bounds(functions: Iterable[ast.FunctionDef], step: str) -> frozenset[LoopBound]:
    """The bounds of all `for … in range(_, BOUND, step)`; empty when one is neither a literal nor an argument."""
    found: set[LoopBound | None] = set()
    for function in functions:
        statements = tuple(_statements(function.body))
        bounds = tuple(_stepped(statements, step))
        if bounds:
            assigned = _assignments(statements)
            found.update(_bound(function, assigned, bound) for bound in bounds)
    return frozenset() if None in found else frozenset(bound for bound in found if bound is not None)


def _statements(body: Iterable[ast.AST]) -> Iterator[ast.stmt]:
    """Every statement of a body, at any depth."""
    for node in body:
        if isinstance(node, ast.stmt):
            yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, name, None)
            if isinstance(inner, list):
                yield from _statements(inner)


def _stepped(statements: Iterable[ast.stmt], step: str) -> Iterator[ast.expr]:
    for loop in statements:
        match loop:
            case ast.For(iter=ast.Call(func=called, args=[_, bound, ast.Name(id=name), *_])) if name == step:
                if ast.unparse(called).rpartition(".")[2] == "range":
                    yield bound


def _bound(function: ast.FunctionDef, assigned: dict[str, ast.expr | None], bound: ast.expr | None) -> LoopBound | None:
    """The bound with plain assignments followed (`rnumel = r0_numel`, `r0_numel = 4096`)."""
    for _ in range(8):
        match bound:
            case ast.Constant(value=int(value)):
                return LoopBound(literal=value)
            case ast.Name(id=name) if name in assigned:
                bound = assigned[name]
            case ast.Name(id=name):
                return _argument(function, name)
            case _:
                return None
    return None


def _argument(function: ast.FunctionDef, name: str) -> LoopBound | None:
    arguments = [argument.arg for argument in function.args.args if not _is_constexpr(argument)]
    if name not in arguments:
        return None
    return LoopBound(None, name, arguments.index(name), len(arguments))


def _is_constexpr(argument: ast.arg) -> bool:
    return argument.annotation is not None and ast.unparse(argument.annotation).rpartition(".")[2] == "constexpr"


def _assignments(statements: Iterable[ast.stmt]) -> dict[str, ast.expr | None]:
    """What each name is set to by the only statement that sets it; None where another one changes it."""
    values: dict[str, ast.expr | None] = {}
    for node in statements:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                values[name] = None if name in values else value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                values[name] = None if name in values else value
            case ast.AugAssign(target=ast.Name(id=name)) | ast.For(target=ast.Name(id=name)):
                values[name] = None
            case _:
                pass
    return values
