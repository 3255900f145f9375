"""Kernel declarations: parameters, constexprs, and what Inductor's decorators say, read without executing anything."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kernelscope.errors import KernelscopeError

_HEURISTICS = ("triton_heuristics",)
_JIT_NAMES = ("jit", "jit_with_noinline", "jit_helper")
_DEFAULT_ALIASES = {
    "tl": "triton.language",
    "triton": "triton",
    "triton_helpers": "triton_helpers",
    "libdevice": "libdevice",
    "tl_math": "triton.language.math",
}


@dataclass(frozen=True, slots=True, eq=False)
class SourceModule:
    """A parsed kernel text: its functions, imported names and module-level constants."""

    text: str
    functions: Mapping[str, ast.FunctionDef]
    aliases: Mapping[str, str]
    constants: Mapping[str, ast.expr]


@dataclass(frozen=True, slots=True, eq=False)
class KernelDeclaration:
    """One kernel entry. `signature` maps parameters to signature types (`*fp32`, `i32`, `constexpr`) where Inductor's
    decorator tells them; `constants` holds constexpr values from it; `defaults` those of the parameter list."""

    name: str
    parameters: tuple[str, ...]
    constexpr_parameters: tuple[str, ...]
    signature: Mapping[str, str]
    constants: Mapping[str, object]
    defaults: Mapping[str, object]
    inductor_meta: Mapping[str, object]
    size_hints: Mapping[str, object]
    heuristic: str | None
    function: ast.FunctionDef
    module: SourceModule


def read_declarations(text: str) -> tuple[KernelDeclaration, ...]:
    """Every kernel entry in a text: functions under one of Inductor's heuristics decorators, else the jitted functions
    that no other one calls. Raises KernelscopeError where the text is not Python."""
    tree = _parse(text)
    module = _module(tree, text)
    jitted = [f for f in module.functions.values() if _is_jitted(f)]
    entries = [f for f in jitted if _heuristic(f) is not None]
    if not entries:
        called = {name for f in jitted for name in _called_names(f) if name != f.name}
        entries = [f for f in jitted if f.name not in called] or jitted
    return tuple(_declaration(f, module) for f in entries)


def _parse(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise KernelscopeError(
            f"the kernel is not valid Python: {error.msg}", where=f"line {error.lineno or 1}",
            try_this="the source is damaged or truncated",
        ) from error  # fmt: skip
    except (ValueError, RecursionError, MemoryError) as error:
        raise KernelscopeError(f"the kernel cannot be parsed: {type(error).__name__}", where="line 1") from error


def _module(tree: ast.Module, text: str) -> SourceModule:
    functions: dict[str, ast.FunctionDef] = {}
    aliases = dict(_DEFAULT_ALIASES)
    constants: dict[str, ast.expr] = {}
    for statement in tree.body:
        match statement:
            case ast.FunctionDef(name=name):
                functions[name] = statement
            case ast.Import(names=names):
                for item in names:
                    aliases[item.asname or item.name.split(".")[0]] = item.name if item.asname else item.name.split(".")[0]
            case ast.ImportFrom(module=source, names=names):
                for item in names:
                    aliases[item.asname or item.name] = _short(f"{source or ''}.{item.name}")
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                constants[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                constants[name] = value
            case _:
                pass
    return SourceModule(text, functions, aliases, constants)


def _short(path: str) -> str:
    """Canonical names: what Inductor's helper modules export keeps its short name."""
    for ending, short in (
        ("runtime.triton_helpers.libdevice", "libdevice"),
        ("runtime.triton_helpers.math", "triton.language.math"),
        ("runtime.triton_helpers", "triton_helpers"),
        ("extra.cuda.libdevice", "libdevice"),
        ("extra.libdevice", "libdevice"),
        ("extra.cuda.libdevice", "libdevice"),
    ):
        if path.endswith(ending):
            return short
    return path


def _is_jitted(function: ast.FunctionDef) -> bool:
    return any(_decorator_name(d).rpartition(".")[2] in _JIT_NAMES for d in function.decorator_list)


def _decorator_name(node: ast.expr) -> str:
    return dotted_name(node.func if isinstance(node, ast.Call) else node) or ""


def dotted_name(node: ast.expr) -> str | None:
    """`a.b.c` of a name or attribute chain, else None."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))


def _heuristic(function: ast.FunctionDef) -> ast.Call | None:
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and _decorator_name(decorator).split(".")[0] in _HEURISTICS:
            return decorator
    return None


def _called_names(function: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id
        elif isinstance(node, ast.Call):
            yield from (a.id for a in node.args if isinstance(a, ast.Name))


def _declaration(function: ast.FunctionDef, module: SourceModule) -> KernelDeclaration:
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    names = tuple(a.arg for a in arguments)
    heuristic = _heuristic(function)
    keywords = {k.arg: k.value for k in heuristic.keywords if k.arg} if heuristic is not None else {}
    meta = _dictionary(keywords.get("triton_meta"))
    signature = {str(k): str(v) for k, v in _mapping(meta.get("signature")).items()}
    constexprs = tuple(
        a.arg for a in arguments if _is_constexpr(a.annotation) or signature.get(a.arg) == "constexpr"
    )
    constants = {_parameter_name(k, names): v for k, v in _mapping(meta.get("constants")).items()}
    return KernelDeclaration(
        function.name, names, constexprs, MappingProxyType(signature), MappingProxyType(constants),
        MappingProxyType(_defaults(function)), MappingProxyType(_dictionary(keywords.get("inductor_meta"))),
        MappingProxyType(_dictionary(keywords.get("size_hints"))),
        _decorator_name(heuristic).rpartition(".")[2] if heuristic is not None else None, function, module,
    )  # fmt: skip


def _parameter_name(key: object, names: tuple[str, ...]) -> str:
    if isinstance(key, tuple) and len(key) == 1:
        key = key[0]
    return names[key] if isinstance(key, int) and 0 <= key < len(names) else str(key)


def _is_constexpr(annotation: ast.expr | None) -> bool:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value.rpartition(".")[2] == "constexpr"
    return annotation is not None and (dotted_name(annotation) or "").rpartition(".")[2] == "constexpr"


def _defaults(function: ast.FunctionDef) -> dict[str, object]:
    positional = [*function.args.posonlyargs, *function.args.args]
    pairs = list(zip(positional[len(positional) - len(function.args.defaults) :], function.args.defaults, strict=True))
    pairs += [(a, d) for a, d in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True) if d is not None]
    return {a.arg: d.value for a, d in pairs if isinstance(d, ast.Constant)}


def _mapping(value: object) -> dict[object, object]:
    return value if isinstance(value, dict) else {}


def _dictionary(node: ast.expr | None) -> dict[str, object]:
    """A dict display with its literal parts; a part that is a call (DeviceProperties(…)) is left out."""
    if not isinstance(node, ast.Dict):
        return {}
    result: dict[str, object] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant):
            try:
                result[str(key.value)] = ast.literal_eval(value)
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                continue
    return result
