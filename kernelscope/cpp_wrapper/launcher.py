"""One launcher (`call_…`): what it launches, with its grid and arguments in terms of its own parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernelscope.cpp_wrapper.block_sizes import block_sizes
from kernelscope.cpp_wrapper.embedded_kernel import embedded_kernel, without_comment
from kernelscope.cpp_wrapper.expressions import C_TYPES, ExpressionReader, TypedExpression, converted, unknown
from kernelscope.cpp_wrapper.syntax import (
    FunctionSlice,
    MissingField,
    Node,
    ParsedFunction,
    argument_nodes,
    field,
    nodes_of_type,
    parse_function,
)
from kernelscope.launches.host_expression import HostExpression, HostSymbol, HostType, HostUnknown
from kernelscope.launches.kernel_metadata import KernelMetadata, read_metadata
from kernelscope.launches.launch import EmbeddedKernel

_POINTERS = ("CUdeviceptr", "hipDeviceptr_t", "void*", "void *")
_SCRATCH = ("global_scratch", "profile_scratch")
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
    """Everything a launcher says; `parameters` in call order, `integers` those of them with an integer type."""

    name: str
    kernel: EmbeddedKernel | None
    metadata: KernelMetadata
    function_name: str | None
    parameters: tuple[str, ...]
    integers: frozenset[str]
    grid: tuple[HostExpression, HostExpression, HostExpression]
    arguments: tuple[LauncherArgument, ...]
    constexprs: Mapping[str, int]
    num_warps: int | None
    shared_bytes: int | None
    cubin: str | None


def read_launcher(function: FunctionSlice) -> Launcher | None:
    """The launcher in `function`, or None where its C++ has syntax errors or no launch."""
    parsed = parse_function(without_comment(function))
    kernel = embedded_kernel(function)
    if parsed is None or ("async_compile.triton(" in function.text and kernel is None):
        return None
    try:
        return _LauncherReader(parsed, kernel).read()
    except MissingField:
        return None


class _LauncherReader:
    def __init__(self, function: ParsedFunction, kernel: EmbeddedKernel | None) -> None:
        self._function = function
        self._kernel = kernel
        self._metadata = read_metadata(kernel.source) if kernel else KernelMetadata()
        self._parameters: list[str] = []
        self._integers: set[str] = set()
        self._names: dict[str, TypedExpression] = {}
        self._grid_text: dict[str, str] = {}
        self._variables: dict[str, LauncherArgument] = {}
        self._declared: dict[str, str] = {}  # variables without a value yet, with their type
        self._order: list[str] = []
        self._calls: dict[str, Node] = {}

    def read(self) -> Launcher | None:
        for parameter in self._function.parameters:
            self._parameter(parameter)
        for statement in self._function.body.named_children:
            if statement.type == "declaration":
                self._declaration(statement)
            else:
                self._nested(statement)
        launch = self._calls.get("launchKernel")
        grid = [self._grid(axis) for axis in range(3)]
        if launch is None:
            return None
        numbers = [self._number(node) for node in argument_nodes(launch)[4:6]]
        num_warps, shared_bytes = (numbers + [None, None])[:2]
        cubin, function_name = self._binary()
        name = self._function.slice.name.removeprefix("call_")
        texts = [self._grid_text.get(f"grid_{axis}", "") for axis in range(3)]
        return Launcher(
            name, self._kernel, self._metadata, function_name, tuple(self._parameters), frozenset(self._integers),
            (grid[0], grid[1], grid[2]), tuple(self._arguments()), block_sizes(self._metadata, grid, texts),
            num_warps, shared_bytes, cubin,
        )  # fmt: skip

    def _nested(self, statement: Node) -> None:
        """Calls, and what a block around them declares."""
        for node in nodes_of_type(statement, "declaration", "call_expression"):
            if node.type == "declaration":
                self._declaration(node)
            else:
                self._call(node)

    def _text(self, node: Node) -> str:
        return self._function.text(node)

    def _reader(self) -> ExpressionReader:
        return ExpressionReader(self._function, self._names)

    def _parameter(self, node: Node) -> None:
        declarator = node.child_by_field_name("declarator")
        while declarator is not None and declarator.type != "identifier":
            declarator = declarator.named_children[-1] if declarator.named_children else None
        if declarator is None:
            return
        name = self._text(declarator)
        if name in _OWN_PARAMETERS:
            return
        self._parameters.append(name)
        kind = C_TYPES.get(self._text(field(node, "type")))
        if kind is not None and self._text(field(node, "type")) != "bool":
            self._integers.add(name)
            self._names[name] = TypedExpression(HostSymbol(name), kind)
        else:
            self._names[name] = TypedExpression(HostUnknown(name, "not an integer"), None)

    def _declaration(self, node: Node) -> None:
        kind = self._text(field(node, "type"))
        for declarator in node.children_by_field_name("declarator"):
            if declarator.type == "identifier":
                self._declared[self._text(declarator)] = kind
            elif declarator.type == "init_declarator":
                target, value = field(declarator, "declarator"), field(declarator, "value")
                if target.type == "identifier":
                    self._define(self._text(target), kind, value)
                elif self._text(target).endswith("kernel_args_[]"):
                    self._order = [self._text(n).lstrip("&") for n in value.named_children]

    def _define(self, name: str, kind: str, value: Node) -> None:
        if kind in _POINTERS:
            pointee = self._pointee(value)
            if pointee is not None:
                self._variables[name] = PointerParameter(pointee, pointee)
            return
        expression = self._reader().read(value)
        target = C_TYPES.get(kind)
        if kind == "auto" or target is None:
            typed = TypedExpression(expression.value, expression.type if kind == "auto" else None)
        else:
            typed = converted(expression, target)
        self._names[name] = typed
        if name.startswith(("grid_", "y_grid")):
            self._grid_text[name] = self._text(value)
        else:
            argument = self._text(value)
            self._variables[name] = ScalarParameter(argument, expression.value, typed.type)

    def _pointee(self, value: Node) -> str | None:
        """`x` in `reinterpret_cast<CUdeviceptr>(x.data_ptr())`."""
        arguments = argument_nodes(value) if value.type == "call_expression" else ()
        method = arguments[0].child_by_field_name("function") if len(arguments) == 1 else None
        if method is None or method.type != "field_expression" or self._text(field(method, "field")) != "data_ptr":
            return None
        return self._text(field(method, "argument"))

    def _call(self, node: Node) -> None:
        callee = self._text(field(node, "function"))
        self._calls.setdefault(callee, node)
        arguments = argument_nodes(node)
        if callee.startswith("aoti_torch_item_") and len(arguments) == 2:
            target = self._text(arguments[1]).lstrip("&")
            kind = C_TYPES.get(self._declared.get(target, ""))
            parameter = self._text(arguments[0])
            self._variables[target] = TensorItem(parameter, parameter, kind)

    def _grid(self, axis: int) -> HostExpression:
        name = f"grid_{axis}"
        return self._names.get(name, unknown(name, "the launcher does not define it")).value

    def _number(self, node: Node) -> int | None:
        text = self._text(node)
        return int(text) if text.isdigit() else None

    def _binary(self) -> tuple[str | None, str | None]:
        """The cubin's file name and the name of the function in it."""
        load = self._calls.get("loadKernel")
        arguments = argument_nodes(load) if load else ()
        texts = [self._text(n).strip('"') for n in arguments if n.type in ("string_literal", "concatenated_string")]
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
        return list(arguments.values())
