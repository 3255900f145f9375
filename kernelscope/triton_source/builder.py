"""A kernel under one set of argument types and compile-time values, as an index program."""

from __future__ import annotations

from collections.abc import Mapping

from kernelscope.errors import KernelscopeError
from kernelscope.triton_source.declaration import KernelDeclaration
from kernelscope.triton_source.index_program import Argument, IndexProgram
from kernelscope.triton_source.interpreter.expressions import evaluate
from kernelscope.triton_source.interpreter.names import usual_names
from kernelscope.triton_source.interpreter.state import Frame, State
from kernelscope.triton_source.interpreter.statements import call_function, run_block
from kernelscope.triton_source.interpreter.values import JitFunction, MissingParameter, Unknown, Value
from kernelscope.triton_source.scalar_types import BY_NAME, ValueType


def build_index_program(
    declaration: KernelDeclaration, types: Mapping[str, ValueType], constexprs: Mapping[str, object]
) -> IndexProgram:
    """The index program of a kernel. Raises MissingConstexpr where a compile-time parameter that is read has no value,
    KernelscopeError where the kernel is too large or too deeply nested."""
    s = State(declaration.spans, _globals(declaration))
    s.call = call_function
    try:
        s.scope = _parameters(s, declaration, types, constexprs)
        s.frames.append(Frame(declaration.name, 0, 0, []))
        run_block(s, declaration.function.body)
    except RecursionError:
        raise KernelscopeError("the kernel is too deeply nested to analyse", where=f"line {s.span.line}") from None
    return IndexProgram(
        declaration.name, declaration.parameters, dict(types), dict(constexprs), tuple(s.accesses), tuple(s.loops),
        tuple(s.assertions), tuple(s.observations), tuple(s.unmodelled), tuple(s.errors), dict(s.program_id_spans),
        tuple(s.operations), tuple(s.updates),
    )  # fmt: skip


def _globals(declaration: KernelDeclaration) -> dict[str, Value]:
    names = usual_names(declaration.imports)
    names.update(declaration.module_constants)
    names.update((name, JitFunction(function)) for name, function in declaration.functions.items())
    return names


def _parameters(
    s: State, declaration: KernelDeclaration, types: Mapping[str, ValueType], constexprs: Mapping[str, object]
) -> dict[str, Value]:
    scope: dict[str, Value] = {}
    for name, node in declaration.parameter_nodes:
        if name in constexprs:
            scope[name] = _constexpr(constexprs[name])
        elif name in declaration.constexpr_parameters or name not in types:
            scope[name] = _default(s, declaration, name)
        else:
            s.at = node
            s.spend()
            scope[name] = Argument(name, types[name], s.span)
    return scope


def _default(s: State, declaration: KernelDeclaration, name: str) -> Value:
    default = declaration.defaults.get(name)
    if default is not None:
        return evaluate(s, default)
    if name in declaration.constexpr_parameters:
        return MissingParameter(name)
    kind = declaration.signature.get(name)
    return Unknown(f"the argument {name} of type {kind}" if kind else f"the argument {name}, whose type is not known")


def _constexpr(value: object) -> Value:
    """A compile-time value as given by a decorator or launch file; `tl.float32` there is a text."""
    if isinstance(value, str):
        return BY_NAME.get(value.removeprefix("tl.").removeprefix("triton.language."), value)
    if isinstance(value, (list, tuple)):
        return tuple(_constexpr(item) for item in value)
    return value


