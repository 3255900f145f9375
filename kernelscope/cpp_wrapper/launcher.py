"""One launcher (`call_…`): what it launches, with its grid and arguments in terms of its own parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kernelscope.cpp_wrapper.block_sizes import block_sizes
from kernelscope.cpp_wrapper.embedded_kernel import embedded_kernel, without_comment
from kernelscope.cpp_wrapper.expressions import C_TYPES, ExpressionReader, TypedExpression, converted, unknown
from kernelscope.cpp_wrapper.launcher_syntax import (
    ArgumentOrder,
    Call,
    Declaration,
    Definition,
    LauncherParser,
    LauncherSyntax,
    Parameter,
)
from kernelscope.cpp_wrapper.natural_numbers import natural_number
from kernelscope.cpp_wrapper.syntax import FunctionSlice, MissingField
from kernelscope.launches.host_expression import HostConstant, HostExpression, HostSymbol, HostType, HostUnknown
from kernelscope.launches.kernel_metadata import KernelMetadata, read_metadata
from kernelscope.launches.launch import EmbeddedKernel

_POINTERS = ("CUdeviceptr", "hipDeviceptr_t", "void*", "void *")
_SCRATCH = ("global_scratch", "profile_scratch")
#: Types other than C's integers whose variables hold a value as it was given.
_KEEPS_VALUES = frozenset({"auto", "float", "double"})
_OWN_PARAMETERS = ("device_idx_", "stream_", "kernels_", "cubin_dir_")


@dataclass(frozen=True, slots=True)
class PointerParameter:
    """A kernel argument that is the data pointer of launcher parameter `parameter`."""

    name: str
    parameter: str


@dataclass(frozen=True, slots=True)
class ScalarParameter:
    """A kernel argument `value` over the launcher's parameters, carried by a variable of type `c_type`."""

    name: str
    value: HostExpression
    c_type: HostType | None


@dataclass(frozen=True, slots=True)
class TensorItem:
    """A kernel argument that is read out of the one-element tensor `parameter`."""

    name: str
    parameter: str
    c_type: HostType | None


LauncherArgument = PointerParameter | ScalarParameter | TensorItem


@dataclass(frozen=True, slots=True)
class Launcher:
    """Everything a launcher says; `parameters` in call order, `integers` those of them with an integer type,
    and which."""

    name: str
    kernel: EmbeddedKernel | None
    metadata: KernelMetadata
    function_name: str | None
    parameters: tuple[str, ...]
    integers: Mapping[str, HostType]
    grid: tuple[HostExpression, HostExpression, HostExpression]
    arguments: tuple[LauncherArgument, ...]
    constexprs: Mapping[str, int]
    num_warps: int | None
    shared_bytes: int | None
    cubin: str | None


def read_launcher(function: FunctionSlice, parser: LauncherParser) -> Launcher | None:
    """The launcher in `function`, or None where its C++ has syntax errors or no launch."""
    kernel = embedded_kernel(function)
    if "async_compile.triton(" in function.text and kernel is None:
        return None
    try:
        syntax = parser.parse(without_comment(function))
        return None if syntax is None else _LauncherReader(function.name, syntax, kernel).read()
    except MissingField:
        return None


class _LauncherReader:
    def __init__(self, function_name: str, syntax: LauncherSyntax, kernel: EmbeddedKernel | None) -> None:
        self._name = function_name.removeprefix("call_")
        self._syntax = syntax
        self._kernel = kernel
        self._metadata = read_metadata(kernel.source, kernel.layout) if kernel else KernelMetadata()
        self._parameters: list[str] = []
        self._integers: dict[str, HostType] = {}
        self._names: dict[str, TypedExpression] = {}
        self._grid_text: dict[str, str] = {}
        self._variables: dict[str, LauncherArgument] = {}
        self._declared: dict[str, str] = {}  # variables without a value yet, with their type
        self._order: tuple[str, ...] = ()
        self._calls: dict[str, Call] = {}

    def read(self) -> Launcher | None:
        for parameter in self._syntax.parameters:
            self._parameter(parameter)
        for effect in self._syntax.effects:
            match effect:
                case Definition():
                    self._define(effect)
                case Declaration(name, kind):
                    self._declared[name] = kind
                case ArgumentOrder(elements):
                    self._order = elements
                case Call():
                    self._call(effect)
        launch = self._calls.get("launchKernel")
        if launch is None:
            return None
        dimensions = (*launch.arguments[1:4], "", "", "")
        grid = [self._grid(axis, dimensions[axis]) for axis in range(3)]
        numbers = [natural_number(text) for text in launch.arguments[4:6]]
        num_warps, shared_bytes = (numbers + [None, None])[:2]
        cubin, function_name = self._binary()
        texts = [self._grid_text.get(f"grid_{axis}", "") for axis in range(3)]
        return Launcher(
            self._name, self._kernel, self._metadata, function_name, tuple(self._parameters),
            dict(self._integers), (grid[0], grid[1], grid[2]), tuple(self._arguments()),
            block_sizes(self._metadata, grid, texts), num_warps, shared_bytes, cubin,
        )  # fmt: skip

    def _parameter(self, parameter: Parameter) -> None:
        name, kind = parameter.name, C_TYPES.get(parameter.kind)
        if name in _OWN_PARAMETERS:
            return
        self._parameters.append(name)
        if kind is not None and parameter.kind != "bool":
            self._integers[name] = kind
            self._names[name] = TypedExpression(HostSymbol(name), kind)
        else:
            self._names[name] = TypedExpression(HostUnknown(name, "not an integer"), None)

    def _define(self, definition: Definition) -> None:
        name, kind = definition.name, definition.kind
        if kind in _POINTERS:
            if definition.pointee is not None:
                self._variables[name] = PointerParameter(definition.pointee, definition.pointee)
            return
        expression = ExpressionReader(definition.function, self._names).read(definition.value)
        target = C_TYPES.get(kind)
        if target is None and kind not in _KEEPS_VALUES:
            expression = unknown(definition.text, f"the C type {kind} is not modelled")
        if kind == "auto" or target is None:
            typed = TypedExpression(expression.value, expression.type if kind == "auto" else None)
        else:
            typed = converted(expression, target)
        self._names[name] = typed
        if name.startswith(("grid_", "y_grid")):
            self._grid_text[name] = definition.text
        else:
            self._variables[name] = ScalarParameter(definition.text, expression.value, typed.type)

    def _call(self, call: Call) -> None:
        self._calls.setdefault(call.callee, call)
        if call.callee.startswith("aoti_torch_item_") and len(call.arguments) == 2:
            parameter, target = call.arguments[0], call.arguments[1].lstrip("&")
            kind = C_TYPES.get(self._declared.get(target, ""))
            self._variables[target] = TensorItem(parameter, parameter, kind)

    def _grid(self, axis: int, given: str) -> HostExpression:
        """The grid dimension that the launch passes."""
        name = given or f"grid_{axis}"
        number = natural_number(name)
        if number is not None:
            return HostConstant(number)
        return self._names.get(name, unknown(name, "the launcher does not define it")).value

    def _binary(self) -> tuple[str | None, str | None]:
        """The cubin's file name and the name of the function in it."""
        load = self._calls.get("loadKernel")
        texts = [text.strip('"') for text in load.strings] if load else []
        cubins = [text.rpartition("/")[2] for text in texts if "/" in text or text.endswith(".cubin")]
        names = [text for text in texts if "/" not in text and not text.endswith(".cubin")]
        return (cubins[0] if cubins else None, names[0] if names else None)

    def _arguments(self) -> list[LauncherArgument]:
        """One argument a variable; a descriptor's fields (`var_3.m`) are one, scratch pointers none of the kernel's."""
        arguments: dict[str, LauncherArgument] = {}
        for entry in self._order:
            variable = entry.partition(".")[0]
            if variable.startswith(_SCRATCH):
                continue
            if variable in self._variables:
                arguments[variable] = self._variables[variable]
            else:
                unknown_value = HostUnknown(entry, "the variable is not followed")
                arguments[variable] = ScalarParameter(variable, unknown_value, None)
        return self._by_position(list(arguments.values()))

    def _by_position(self, arguments: list[LauncherArgument]) -> list[LauncherArgument]:
        """The kernel takes its arguments by position, whatever the variables that hold them are named after."""
        names = [name for name, kind in self._metadata.signature.items() if kind != "constexpr"]
        if len(names) != len(arguments):
            return arguments
        return [replace(a, name=name) for a, name in zip(arguments, names, strict=True)]
