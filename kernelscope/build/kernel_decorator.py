"""What the decorators of a kernel say about its compilation, read without running them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from kernelscope.build.compile_requests import DtypeValue
from kernelscope.build.restricted_module import chain_of
from kernelscope.python_syntax import parse_module


@dataclass(frozen=True, slots=True)
class Called:
    """A call in a decorator (`DeviceProperties(cc=90)`): its name, its keyword arguments, its first argument."""

    name: str
    keywords: Mapping[str, object]
    argument: object = None


@dataclass(frozen=True, slots=True)
class KernelDecorator:
    """Inductor's heuristic and its arguments; `heuristic` None: a plain `@triton.jit` kernel."""

    heuristic: str | None
    parameters: tuple[str, ...]
    constexprs: frozenset[str]
    triton_meta: Mapping[str, object] = field(default_factory=dict)
    inductor_meta: Mapping[str, object] = field(default_factory=dict)
    arguments: Mapping[str, object] = field(default_factory=dict)

    @property
    def signature(self) -> dict[str, str]:
        table = self.triton_meta.get("signature")
        return {str(name): str(kind) for name, kind in table.items()} if isinstance(table, Mapping) else {}

    @property
    def constants(self) -> dict[str, object]:
        table = self.triton_meta.get("constants")
        return {str(name): value for name, value in table.items()} if isinstance(table, Mapping) else {}

    @property
    def compute_capability(self) -> int | None:
        device = self.triton_meta.get("device")
        value = device.keywords.get("cc") if isinstance(device, Called) else None
        return value if isinstance(value, int) else None

    @property
    def attributes(self) -> tuple[tuple[tuple[int, ...], tuple[tuple[str, int], ...]], ...]:
        """`configs[0]`: what Triton may assume of each argument."""
        configs = self.triton_meta.get("configs")
        first = configs[0] if isinstance(configs, (list, tuple)) and configs else None
        if isinstance(first, Called):
            return _from_descriptor(first)
        if not isinstance(first, Mapping):
            return ()
        return tuple(
            (_path(path), tuple((str(name), int(value)) for name, value in facts)) for path, facts in first.items()
        )


def read_decorator(source: str, function: str) -> KernelDecorator | None:
    """The decorators of `function`; None where the source has no such function or does not parse."""
    try:
        tree = parse_module(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return _decorator(node)
    return None


def _decorator(node: ast.FunctionDef) -> KernelDecorator:
    parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    names = tuple(parameter.arg for parameter in parameters)
    constexprs = frozenset(p.arg for p in parameters if p.annotation and "constexpr" in ast.unparse(p.annotation))
    for decorator in node.decorator_list:
        chain = chain_of(decorator.func) if isinstance(decorator, ast.Call) else None
        if isinstance(decorator, ast.Call) and chain is not None and "triton_heuristics" in chain:
            found = {k.arg: plain_value(k.value) for k in decorator.keywords if k.arg is not None}
            tables = [found.get(name) for name in ("triton_meta", "inductor_meta")]
            triton_meta, inductor_meta = (table if isinstance(table, dict) else {} for table in tables)
            return KernelDecorator(chain[-1], names, constexprs, triton_meta, inductor_meta, found)
    return KernelDecorator(None, names, constexprs)


def plain_value(node: ast.expr) -> object:
    """Literals as they are, `tl.float32` as a DtypeValue, calls as `Called`, other names as their text."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Dict(keys=keys, values=values):
            return {
                _hashable(plain_value(key)): plain_value(value)
                for key, value in zip(keys, values, strict=True)
                if key is not None
            }
        case ast.List(elts=elements):
            return [plain_value(element) for element in elements]
        case ast.Tuple(elts=elements) | ast.Set(elts=elements):
            return tuple(plain_value(element) for element in elements)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value) | float(value))):
            return -value
        case ast.Call(func=called, args=arguments, keywords=keywords):
            name = (chain_of(called) or ("",))[-1]
            given = {k.arg: plain_value(k.value) for k in keywords if k.arg is not None}
            first = plain_value(arguments[0]) if arguments else None
            return first if name == "constexpr" else Called(name, given, first)
        case ast.Attribute():
            chain = chain_of(node)
            return DtypeValue(chain[-1]) if chain and chain[0] in ("tl", "torch") else ast.unparse(node)
        case _:
            return ast.unparse(node)


def _hashable(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _path(path: object) -> tuple[int, ...]:
    return tuple(int(part) for part in path) if isinstance(path, tuple) else (int(str(path)),)


def _from_descriptor(called: Called) -> tuple[tuple[tuple[int, ...], tuple[tuple[str, int], ...]], ...]:
    """Triton up to 3.2: `AttrsDescriptor(divisible_by_16=(0, 1), …)` or `AttrsDescriptor.from_dict({…})`."""
    table = called.argument.get("arg_properties") if isinstance(called.argument, dict) else None
    divisible = table.get("tt.divisibility") if isinstance(table, dict) else called.keywords.get("divisible_by_16")
    positions = divisible if isinstance(divisible, (tuple, list)) else ()
    return tuple(((int(position),), (("tt.divisibility", 16),)) for position in positions)
