"""A kernel's body, executed symbolically, as an index program."""

from __future__ import annotations

from collections.abc import Mapping

from kernelscope.errors import KernelscopeError
from kernelscope.kernel_reader.arithmetic import DoesNotCompile, NotUnderstood
from kernelscope.kernel_reader.declaration import KernelDeclaration
from kernelscope.triton_source.index_program import Argument, CompileError, IndexProgram, Node, Span, Unmodelled
from kernelscope.kernel_reader.recorder import Recorder
from kernelscope.triton_source.scalar_types import ValueType
from kernelscope.kernel_reader.statements import Interpreter, Scope
from kernelscope.kernel_reader.values import Static, Value


class MissingConstexpr(KernelscopeError):
    """A constexpr parameter without a value."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no value for the constexpr parameter {name}", try_this=f"give {name} in the launch facts")
        self.name = name


def build_index_program(
    declaration: KernelDeclaration, types: Mapping[str, ValueType], constexprs: Mapping[str, object]
) -> IndexProgram:
    """The index program of a kernel under argument types and constexpr values. Raises MissingConstexpr, and
    KernelscopeError where a parameter's type is missing or the text exceeds what is followed."""
    recorder = Recorder(declaration.module.text)
    interpreter = Interpreter(recorder, declaration.module)
    scope = Scope(_parameters(declaration, types, constexprs, recorder))
    errors: list[CompileError] = []
    try:
        interpreter.run(declaration.function, scope)
    except DoesNotCompile as error:
        errors.append(CompileError(error.what, error.span))
    except NotUnderstood as error:
        recorder.unmodelled.append(Unmodelled(error.detail, recorder.span(declaration.function)))
    except RecursionError as error:
        raise KernelscopeError("the kernel is nested too deeply to follow", where="line 1") from error
    return IndexProgram(
        declaration.name, declaration.parameters, dict(types), dict(constexprs), tuple(recorder.accesses),
        tuple(recorder.finished_loops()), tuple(recorder.assertions), tuple(recorder.observations),
        tuple(recorder.unmodelled), tuple(errors), dict(recorder.program_id_spans), tuple(recorder.operations),
    )  # fmt: skip


def _parameters(
    declaration: KernelDeclaration, types: Mapping[str, ValueType], constexprs: Mapping[str, object], recorder: Recorder
) -> dict[str, Value]:
    values: dict[str, Value] = {}
    arguments = declaration.function.args
    spans = {a.arg: recorder.span(a) for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]}
    for name in declaration.parameters:
        if name in constexprs:
            values[name] = Static(_constexpr_value(constexprs[name]))
        elif name in declaration.constexpr_parameters:
            if name not in declaration.defaults:
                raise MissingConstexpr(name)
            values[name] = Static(declaration.defaults[name])
        elif name in types:
            values[name] = _argument(name, types[name], spans[name])
        else:
            raise KernelscopeError(
                f"the type of parameter {name} is not known", where=f"line {declaration.function.lineno}",
                try_this=f'give it in the launch facts: [types] {name} = "i32"',
            )  # fmt: skip
    return values


def _argument(name: str, type_: ValueType, span: Span) -> Node:
    return Argument(name, type_, span)


def _constexpr_value(value: object) -> object:
    """A dtype written as text (`tl.int64`) is that dtype."""
    from kernelscope.triton_source.scalar_types import BY_NAME

    if isinstance(value, str):
        return BY_NAME.get(value.rpartition(".")[2], value)
    return value


__all__ = ["MissingConstexpr", "build_index_program"]
