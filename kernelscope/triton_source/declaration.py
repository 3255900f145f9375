"""What a kernel's text declares: its parameters, its decorator's facts, the functions and constants around it."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from kernelscope.errors import KernelscopeError
from kernelscope.launches.kernel_layout import KernelLayout, layout_of
from kernelscope.python_syntax import parse_module
from kernelscope.triton_source.interpreter.spans import SpanMap
from kernelscope.triton_source.literals import by_parameter, read_table
from kernelscope.triton_source.module_names import ModuleNames, read_module

_PARSE_FAILURES = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)


@dataclass(frozen=True, slots=True, eq=False)
class KernelDeclaration:
    """One kernel of a text. `signature` and `constants` are the decorator's, by parameter. `function` may lack
    Inductor's decorator, which is read apart from it."""

    name: str
    parameters: tuple[str, ...]
    constexpr_parameters: frozenset[str]
    defaults: Mapping[str, ast.expr]
    heuristic: str | None
    signature: Mapping[str, str]
    constants: Mapping[str, object]
    line: int
    function: ast.FunctionDef
    functions: Mapping[str, ast.FunctionDef]
    module_constants: Mapping[str, ast.expr]
    imports: Mapping[str, str]
    spans: SpanMap

    @property
    def parameter_nodes(self) -> Iterator[tuple[str, ast.arg]]:
        """Each parameter with its place."""
        return ((node.arg, node) for node in _arguments(self.function))


def read_declarations(text: str, layout: KernelLayout | None = None) -> tuple[KernelDeclaration, ...]:
    """The kernels of a text, in order: those under one of Inductor's decorators, else every jitted function that no
    other one calls. `layout`: the text's parts where they were read already. Nothing is executed. Raises
    KernelscopeError where the text is not Python."""
    laid_out = _read_layout(text, layout_of(text, layout))
    if laid_out is not None:
        return laid_out
    tree, indent, parsed = _parsed(text)
    module, spans = read_module(tree), SpanMap(parsed, indent)
    jitted = [f for f in module.functions.values() if any(map(_is_jit, f.decorator_list))]
    entries = [f for f in jitted if _heuristic(f) is not None] or _not_called(jitted)
    return tuple(_declaration(f, module, spans, *_decorator_facts(_heuristic(f))) for f in entries)


def _read_layout(text: str, layout: KernelLayout | None) -> tuple[KernelDeclaration] | None:
    """The one kernel of a text that is laid out as Inductor's are; None where it is not, or is not Python."""
    preamble = None if layout is None else _preamble(layout.preamble)
    if layout is None or preamble is None:
        return None
    try:
        tree = parse_module("\n" * (layout.function_line - 1) + layout.function)
    except _PARSE_FAILURES:
        return None
    function = tree.body[0]
    if not isinstance(function, ast.FunctionDef):
        return None
    meta = layout.tables.get("triton_meta", {})
    module = preamble.followed_by(read_module(tree))
    if module.functions[function.name] is not function:
        return None
    return (_declaration(function, module, SpanMap(text), layout.heuristic, meta),)


@lru_cache(maxsize=32)
def _preamble(text: str) -> ModuleNames | None:
    """What precedes a kernel, which most kernels of a package have in common; None where it is not Python by itself."""
    try:
        return read_module(parse_module(text))
    except _PARSE_FAILURES:
        return None


def _parsed(text: str) -> tuple[ast.Module, int, str]:
    indent = 0
    first = next((line for line in text.split("\n") if line.strip()), "")
    if first[:1] in (" ", "\t"):
        dedented = textwrap.dedent(text)
        kept = next((line for line in dedented.split("\n") if line.strip()), "")
        text, indent = dedented, len(first) - len(kept)
    try:
        return parse_module(text), indent, text
    except _PARSE_FAILURES as error:
        line = error.lineno if isinstance(error, SyntaxError) and error.lineno else 1
        reason = error.msg if isinstance(error, SyntaxError) else str(error) or type(error).__name__
        raise KernelscopeError(
            f"not valid Python: {reason}", where=f"line {line}", try_this="the source is damaged or truncated"
        ) from None


def _arguments(function: ast.FunctionDef) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def _is_jit(decorator: ast.expr) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""
    return name == "jit"


def _heuristic(function: ast.FunctionDef) -> ast.Call | None:
    """Inductor's decorator, which marks a kernel's entry."""
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="triton_heuristics"))):
                return decorator
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="triton_heuristics"))):
                return decorator
            case _:
                pass
    return None


def _not_called(jitted: list[ast.FunctionDef]) -> list[ast.FunctionDef]:
    """The functions that no other one calls; all of them where each is called."""
    called = set(_called_names(jitted))
    return [f for f in jitted if f.name not in called] or jitted


def _called_names(functions: list[ast.FunctionDef]) -> Iterator[str]:
    """Names that a function uses in its body, other than its own."""
    for function in functions:
        for statement in function.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id != function.name:
                    yield node.id


def _decorator_facts(decorator: ast.Call | None) -> tuple[str | None, Mapping[str, object]]:
    """The name of an Inductor decorator and its `triton_meta`."""
    if decorator is None:
        return None, {}
    heuristic = decorator.func.attr if isinstance(decorator.func, ast.Attribute) else None
    return heuristic, read_table(next((k.value for k in decorator.keywords if k.arg == "triton_meta"), None))


def _declaration(
    function: ast.FunctionDef, module: ModuleNames, spans: SpanMap, heuristic: str | None, meta: Mapping[str, object]
) -> KernelDeclaration:
    arguments = _arguments(function)
    names = tuple(argument.arg for argument in arguments)
    signature = {name: str(kind) for name, kind in by_parameter(meta.get("signature"), names).items()}
    constexprs = {a.arg for a in arguments if a.annotation is not None and _names_constexpr(a.annotation)}
    constexprs |= {name for name, kind in signature.items() if kind == "constexpr"}
    return KernelDeclaration(
        function.name, names, frozenset(constexprs), _defaults(function), heuristic, signature,
        by_parameter(meta.get("constants"), names), function.lineno, function, module.functions, module.constants,
        module.imports, spans,
    )  # fmt: skip


def _names_constexpr(annotation: ast.expr) -> bool:
    match annotation:
        case ast.Attribute(attr="constexpr") | ast.Name(id="constexpr"):
            return True
        case ast.Constant(value=str(text)):
            return text.rpartition(".")[2] == "constexpr"
        case _:
            return False


def _defaults(function: ast.FunctionDef) -> dict[str, ast.expr]:
    positional = [*function.args.posonlyargs, *function.args.args]
    count = len(function.args.defaults)
    found = {a.arg: d for a, d in zip(positional[len(positional) - count :], function.args.defaults, strict=True)}
    for argument, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        if default is not None:
            found[argument.arg] = default
    return found
