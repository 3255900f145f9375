"""Rebuilds a kernel's module from its parsed functions, so that nothing of a package runs as found.

Kept are jitted functions (under a plain `@triton.jit`), imports of Triton and of Inductor's helper functions, and
constants. Everything else (heuristics, benchmarks, calls at module level) is left out. Lines stay where they were."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass

from kernelscope.python_syntax import parse_module

#: Modules whose members a kernel may name; a name that leads to any other module is refused when it is resolved.
KERNEL_MODULES = (
    "triton",
    "triton.language",
    "torch._inductor.runtime.triton_helpers",
    "torch._inductor.runtime.triton_compat",
)
_UNUSED_IMPORTS = frozenset({"triton_heuristics", "AutotuneHint", "ReductionHint", "TileHint", "DeviceProperties",
                             "AttrsDescriptor", "grid", "split_scan_grid", "rand_strided", "annotations"})  # fmt: skip
_BUILTINS = frozenset(
    {"range", "min", "max", "len", "float", "int", "bool", "abs", "isinstance", "tuple", "list", "print", "hasattr"}
)
_JIT_OPTIONS = frozenset({"noinline", "do_not_specialize", "do_not_specialize_on_alignment"})


class RestrictionError(Exception):
    """A part of a kernel that can't be taken over; the text says what and where."""


@dataclass(frozen=True, slots=True)
class RestrictedModule:
    """`text` may be executed once every chain in `chains` was resolved to something harmless."""

    text: str
    imports: tuple[tuple[str, str | None, str], ...]  # (module, member or None, name it gets)
    chains: frozenset[tuple[str, ...]]  # `tl.math.exp` as ("tl", "math", "exp")
    functions: tuple[str, ...]


def restricted_module(source: str) -> RestrictedModule:
    """The module that may be compiled in place of `source`; RestrictionError where a part is not on the lists."""
    source = re.sub(r"\r\n?", "\n", source)
    try:
        tree = parse_module(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise RestrictionError(f"not valid Python: {error}") from None
    try:
        return _Rebuilder(source, tree).run()
    except RecursionError:
        raise RestrictionError("nested too deeply") from None


class _Rebuilder:
    def __init__(self, source: str, tree: ast.Module) -> None:
        self._lines = source.split("\n")
        self._tree = tree
        self._kept: dict[int, list[str]] = {}
        self._imports: list[tuple[str, str | None, str]] = []
        self._chains: set[tuple[str, ...]] = set()
        self._functions: dict[str, ast.FunctionDef] = {}
        self._constants: set[str] = set()

    def run(self) -> RestrictedModule:
        for node in self._tree.body:
            self._statement(node)
        if not self._functions:
            raise RestrictionError("no function marked @triton.jit")
        known = {name for _, _, name in self._imports} | self._constants | set(self._functions)
        for function in self._functions.values():
            self._check_function(function, known)
        if "triton" not in known:
            self._imports.append(("triton", None, "triton"))
            self._keep(1, "import triton")
        text = "\n".join(self._text()) + "\n"
        return RestrictedModule(text, tuple(self._imports), frozenset(self._chains), tuple(self._functions))

    def _text(self) -> Iterator[str]:
        for number in range(1, len(self._lines) + 1):
            yield "; ".join(self._kept.get(number, []))

    def _keep(self, line: int, text: str) -> None:
        self._kept.setdefault(line, []).append(text)

    # module level

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    self._import(node, alias.name, None, alias.asname)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                for alias in names:
                    if alias.name not in _UNUSED_IMPORTS:
                        self._import(node, module, alias.name, alias.asname)
            case ast.FunctionDef() if any(map(_is_jit, node.decorator_list)):
                self._function(node)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._constant(node, name, value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self._constant(node, name, value)
            case _:
                return

    def _import(self, node: ast.stmt, module: str, member: str | None, alias: str | None) -> None:
        full = module if member is None else f"{module}.{member}"
        if not is_kernel_module(module) and not is_kernel_module(full):
            return  # a function that needs it is refused, since the name is unknown then
        if member == "*":
            raise RestrictionError(f"line {node.lineno}: `from {module} import *`")
        if member is None and alias is None:
            alias = module.partition(".")[0]
        name = alias or str(member)
        self._imports.append((module, member, name))
        clause = f" as {alias}" if alias and alias not in (module, module.partition(".")[0], member) else ""
        statement = f"import {module}{clause}" if member is None else f"from {module} import {member}{clause}"
        self._keep(node.lineno, statement)

    def _constant(self, node: ast.stmt, name: str, value: ast.expr) -> None:
        """`NAME = 16`, `NAME = tl.constexpr(16)`, `NAME = tl.float32`; other assignments are left out."""
        inner = value
        if isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords:
            if (chain := chain_of(value.func)) is None or chain[-1] != "constexpr":
                return
            self._chains.add(chain)
            inner = value.args[0]
        if chain := chain_of(inner):
            if chain[0] not in {imported for _, _, imported in self._imports} | self._constants:
                return
            self._chains.add(chain)
        elif not _is_literal(inner):
            return
        self._constants.add(name)
        self._keep(node.lineno, f"{name} = {ast.unparse(value)}")

    def _function(self, node: ast.FunctionDef) -> None:
        if node.name in self._functions:
            raise RestrictionError(f"line {node.lineno}: a second function named {node.name}")
        self._functions[node.name] = node
        first = node.decorator_list[0].lineno
        if first == node.lineno:
            raise RestrictionError(f"line {node.lineno}: a decorator on the line of its function")
        self._keep(node.lineno - 1, _jit_text(node))
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
            self._keep(number, self._lines[number - 1])

    # functions

    def _check_function(self, function: ast.FunctionDef, known: set[str]) -> None:
        arguments = function.args
        parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        parameters += [extra for extra in (arguments.vararg, arguments.kwarg) if extra is not None]
        annotations = [p.annotation for p in parameters] + [function.returns]
        for evaluated in [*arguments.defaults, *arguments.kw_defaults, *annotations]:
            self._check_evaluated(evaluated)
        local = {p.arg for p in parameters} | _assigned(function)
        parts: list[ast.AST] = [arguments, *function.body]
        for part in parts if function.returns is None else [*parts, function.returns]:
            for node in ast.walk(part):
                self._check_node(node, local, known)

    def _check_evaluated(self, node: ast.expr | None) -> None:
        """Defaults and annotations run when the function is defined: literals and dotted names only."""
        if node is None or _is_literal(node):
            return
        chain = chain_of(node)
        if chain is None:
            raise RestrictionError(f"line {node.lineno}: `{ast.unparse(node)[:80]}` would be run")

    def _check_node(self, node: ast.AST, local: set[str], known: set[str]) -> None:
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Global() | ast.Nonlocal() | ast.ClassDef() | ast.Await():
                raise RestrictionError(f"line {node.lineno}: `{ast.unparse(node)[:80]}` in a kernel")
            case ast.Attribute(attr=attr) if attr.startswith("_") and not _is_helper(node):
                raise RestrictionError(f"line {node.lineno}: the private attribute {attr}")
            case ast.Attribute():
                chain = chain_of(node)
                if chain is not None and chain[0] in known - local:
                    self._chains.add(chain)
            case ast.Name(id=name) if name in known:
                self._chains.add((name,))
            case ast.Name(id=name) if name not in local and _is_dangerous(name):
                raise RestrictionError(f"line {node.lineno}: the name {name} is not known to be harmless")
            case _:
                return


def _is_dangerous(name: str) -> bool:
    """A name that leads somewhere though the module does not define it. Any other does not exist when it is reached:
    Inductor's templates have such names in branches that are never taken."""
    return name.startswith("__") or hasattr(builtins, name) and name not in _BUILTINS


def is_kernel_module(name: str) -> bool:
    """Whether kernels may use the members of a module."""
    return name in KERNEL_MODULES or name.startswith("triton.language.")


def chain_of(node: ast.AST) -> tuple[str, ...] | None:
    """The names of `a.b.c`, None for anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id, *reversed(names)) if isinstance(node, ast.Name) else None


def _is_jit(decorator: ast.expr) -> bool:
    chain = chain_of(decorator.func if isinstance(decorator, ast.Call) else decorator)
    return chain is not None and chain[-1] == "jit"


def _is_helper(node: ast.Attribute) -> bool:
    """`triton_helpers._name`: Inductor calls some helpers by private names; each is looked at when resolved."""
    return isinstance(node.value, ast.Name) and node.value.id == "triton_helpers" and not node.attr.startswith("__")


def _jit_text(node: ast.FunctionDef) -> str:
    for decorator in node.decorator_list:
        if _is_jit(decorator) and isinstance(decorator, ast.Call):
            options = [k for k in decorator.keywords if k.arg in _JIT_OPTIONS and _is_literal(k.value)]
            return f"@triton.jit({', '.join(f'{k.arg}={ast.unparse(k.value)}' for k in options)})"
    return "@triton.jit"


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError, SyntaxError):
        return False
    return True


def _assigned(function: ast.FunctionDef) -> set[str]:
    names = (node for node in ast.walk(function) if isinstance(node, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, (ast.Store, ast.Del))}
