"""Names that a module binds at its top level, as far as their values are certain once the module has run."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class ModuleNames:
    """Functions, constants and imports by name. A name that a branch, a loop, a tuple, `+=` or `global` may bind is in
    none of them, nor is what was computed from a name that is bound more than once."""

    functions: Mapping[str, ast.FunctionDef]
    constants: Mapping[str, ast.expr]
    imports: Mapping[str, str]

    def followed_by(self, other: ModuleNames) -> ModuleNames:
        """The module whose text is the one's and then the other's."""
        return ModuleNames(
            {**self.functions, **other.functions}, {**self.constants, **other.constants},
            {**self.imports, **other.imports},
        )  # fmt: skip


def read_module(tree: ast.Module) -> ModuleNames:
    """What a module binds. Of several plain bindings of a name the last one counts, as it does when a kernel compiles."""
    bound: dict[str, ast.FunctionDef | ast.expr | str] = {}
    times: Counter[str] = Counter()
    uncertain: set[str] = set()
    for statement in tree.body:
        plain = dict(_plain_bindings(statement))
        bound.update(plain)
        times.update(list(plain))
        uncertain.update(_possible_bindings(statement))
    again = {name for name, count in times.items() if count > 1} | uncertain
    certain = {name: v for name, v in bound.items() if name not in uncertain and not (again and _reads(v, again))}
    return ModuleNames(
        {name: value for name, value in certain.items() if isinstance(value, ast.FunctionDef)},
        {name: value for name, value in certain.items() if isinstance(value, ast.expr)},
        {name: value for name, value in certain.items() if isinstance(value, str)},
    )


def _plain_bindings(statement: ast.stmt) -> Iterator[tuple[str, ast.FunctionDef | ast.expr | str]]:
    match statement:
        case ast.FunctionDef(name=name):
            yield name, statement
        case ast.Assign(targets=targets, value=value) if all(isinstance(target, ast.Name) for target in targets):
            yield from ((target.id, value) for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value
        case ast.Import(names=aliases):
            for alias in aliases:
                top = alias.name.partition(".")[0]
                yield (alias.asname, alias.name) if alias.asname else (top, top)
        case ast.ImportFrom(module=str(source), names=aliases):
            yield from ((alias.asname or alias.name, f"{source}.{alias.name}") for alias in aliases)


def _possible_bindings(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement may bind in another way than plainly."""
    match statement:
        case ast.FunctionDef(decorator_list=decorators) if decorators:
            return  # a kernel binds no global
        case ast.FunctionDef() | ast.ClassDef():
            shared = {name for node in ast.walk(statement) if isinstance(node, ast.Global) for name in node.names}
            yield from shared
        case ast.Import() | ast.ImportFrom():
            return
        case ast.Assign(targets=[ast.Name()]) | ast.AnnAssign(target=ast.Name()) | ast.Expr():
            inner = getattr(statement, "value", None)
            if inner is not None:
                yield from (node.target.id for node in ast.walk(inner) if isinstance(node, ast.NamedExpr))
        case ast.Assign(targets=targets) if all(isinstance(target, ast.Name) for target in targets):
            return
        case _:
            for node in ast.walk(statement):
                match node:
                    case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.FunctionDef(name=name):
                        yield name
                    case ast.Import(names=aliases) | ast.ImportFrom(names=aliases) if not _is_import_guard(statement):
                        yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)


def _is_import_guard(statement: ast.stmt) -> bool:
    """`try: import x` gives the name that it says or none."""
    return isinstance(statement, ast.Try)


def _reads(value: ast.FunctionDef | ast.expr | str, names: set[str]) -> bool:
    """Does a value depend on what these names were when its statement ran (a function: through its defaults)?"""
    if isinstance(value, str):
        return False
    at_once = [value] if isinstance(value, ast.expr) else [*value.args.defaults, *filter(None, value.args.kw_defaults)]
    return any(isinstance(n, ast.Name) and n.id in names for part in at_once for n in ast.walk(part))
