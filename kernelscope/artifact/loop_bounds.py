"""Up to which bounds the loops of a kernel run that step by a given constexpr."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

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


def loop_bounds(source: str, step: str) -> frozenset[LoopBound]:
    """The bounds of all `for … in range(_, BOUND, step)`; empty when one is neither a literal nor an argument."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    found: set[LoopBound | None] = set()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            found.update(_bound(function, bound) for bound in _stepped(function, step))
    return frozenset() if None in found else frozenset(bound for bound in found if bound is not None)


def _stepped(function: ast.FunctionDef, step: str) -> Iterator[ast.expr]:
    for loop in ast.walk(function):
        match loop:
            case ast.For(iter=ast.Call(func=called, args=[_, bound, ast.Name(id=name), *_])) if name == step:
                if ast.unparse(called).rpartition(".")[2] == "range":
                    yield bound


def _bound(function: ast.FunctionDef, bound: ast.expr) -> LoopBound | None:
    """The bound with plain assignments followed (`rnumel = r0_numel`, `r0_numel = 4096`)."""
    assigned = _assignments(function)
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


def _assignments(function: ast.FunctionDef) -> dict[str, ast.expr]:
    """Names that are assigned exactly once in the whole function."""
    values: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                values.setdefault(name, []).append(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                values.setdefault(name, []).append(value)
    return {name: found[0] for name, found in values.items() if len(found) == 1}
