"""Integers, arrays and tensors that expressions of `run_impl` stand for."""

from __future__ import annotations

import re
from functools import lru_cache

from kernelscope.cpp_wrapper.expressions import ExpressionReader, TypedExpression
from kernelscope.cpp_wrapper.host_state import HostState
from kernelscope.cpp_wrapper.natural_numbers import natural_number
from kernelscope.cpp_wrapper.syntax import Node, ParsedFunction, argument_nodes, field
from kernelscope.launches.host_expression import HostConstant, HostType, HostUnknown
from kernelscope.launches.launch import Tensor
from kernelscope.launches.tensors import Sizes, unknown_tensor, viewed

#: Functions that return the tensor they are given, or one more handle to it.
_SAME_TENSOR = frozenset(
    {"wrap_with_raii_handle_if_needed", "RAIIAtenTensorHandle", "std::move", "convert_handle_to_arrayref_tensor",
     "borrow_arrayref_tensor_as_tensor", "AtenTensorHandle", "ConstantHandle"}
)  # fmt: skip
_SAME_TENSOR_METHODS = frozenset({"get", "release"})
_ACCESSORS = {"sizes": "sizes", "strides": "strides", "size": "sizes", "stride": "strides"}


class ValueReader:
    """Reads the expressions of one function against the current state."""

    def __init__(self, function: ParsedFunction, state: HostState) -> None:
        self.function = function
        self._state = state

    def text(self, node: Node) -> str:
        return self.function.text(node)

    def integer(self, node: Node) -> TypedExpression:
        """The value of an integer expression; sizes of tensors with a known layout are resolved."""
        return _StateExpressions(self, self._state).read(node)

    def array(self, node: Node) -> Sizes | None:
        """The elements of a size or stride array: a variable, a braced list or nullptr."""
        if node.type == "identifier":
            return self._state.scope.arrays.get(self.text(node))
        if node.type in ("null", "nullptr"):
            return ()
        if node.type == "initializer_list":
            literals = _literal_array(self.text(node))
            return literals or tuple(self.integer(element).value for element in node.named_children)
        if node.type == "compound_literal_expression":
            return self.array(field(node, "value"))
        return None

    def dimension(self, node: Node) -> tuple[str, str, int] | None:
        """(tensor variable, `sizes` or `strides`, dimension) of `x_size[0]`, `x.sizes()[0]` or `x.size(0)`."""
        if node.type == "subscript_expression":
            indices = field(node, "indices").named_children
            accessor = self.accessor(field(node, "argument"))
            index = self.text(indices[0]) if len(indices) == 1 else ""
        elif node.type == "call_expression":
            arguments = argument_nodes(node)
            accessor = self._method(field(node, "function"))
            index = self.text(arguments[0]) if len(arguments) == 1 else ""
        else:
            return None
        number = natural_number(index.rstrip("L"))
        return (*accessor, number) if accessor and number is not None else None

    def accessor(self, node: Node) -> tuple[str, str] | None:
        """("x", "sizes") for a variable that holds `x.sizes()`, or for that call itself."""
        if node.type == "identifier":
            return self._state.scope.accessors.get(self.text(node))
        if node.type == "call_expression" and not argument_nodes(node):
            return self._method(field(node, "function"))
        return None

    def _method(self, callee: Node) -> tuple[str, str] | None:
        if callee.type != "field_expression":
            return None
        name = _ACCESSORS.get(self.text(field(callee, "field")))
        argument = field(callee, "argument")
        return (self.text(argument), name) if name and argument.type == "identifier" else None

    def tensor(self, node: Node) -> Tensor | None:
        """The tensor that an expression stands for; None when it is not one that is followed."""
        if node.type == "identifier":
            return self._state.tensor(self.text(node))
        if node.type in ("pointer_expression", "parenthesized_expression") and node.named_child_count == 1:
            return self.tensor(node.named_children[0])
        if node.type != "call_expression":
            return None
        callee, arguments = field(node, "function"), argument_nodes(node)
        if callee.type == "field_expression":
            same = self.text(field(callee, "field")) in _SAME_TENSOR_METHODS
            return self.tensor(field(callee, "argument")) if same else None
        name = self.text(callee).partition("<")[0]
        if name in _SAME_TENSOR and len(arguments) == 1:
            return self.tensor(arguments[0])
        if name == "reinterpret_tensor_wrapper" and len(arguments) == 5:
            return self.view(arguments)
        return None

    def view(self, arguments: tuple[Node, ...]) -> Tensor:
        """The view (tensor, ndim, sizes, strides, offset)."""
        base = self.tensor(arguments[0]) or unknown_tensor(self.text(arguments[0]))
        return viewed(base, self.array(arguments[2]), self.array(arguments[3]), self.integer(arguments[4]).value)


_LITERALS = re.compile(r"\{[1-9]\d{0,17}L(?:, [1-9]\d{0,17}L)*(?:, )?\}")


@lru_cache(maxsize=4096)
def _literal_array(text: str) -> Sizes | None:
    """The elements of a list of positive literals, as most are; None for any other list."""
    if _LITERALS.fullmatch(text) is None:
        return None
    return tuple(HostConstant(int(part[:-1])) for part in text[1:-1].split(", ") if part)


class _StateExpressions(ExpressionReader):
    """Expressions of `run_impl`: adds the sizes of tensors."""

    def __init__(self, values: ValueReader, state: HostState) -> None:
        super().__init__(values.function, state.scope.names)
        self._values = values
        self._state = state

    def extension(self, node: Node) -> TypedExpression | None:
        dimension = self._values.dimension(node)
        if dimension is None:
            return None
        name, kind, index = dimension
        tensor = self._state.tensor(name)
        extents = None if tensor is None else tensor.sizes if kind == "sizes" else tensor.strides
        if extents is None or index >= len(extents):
            return None
        value = extents[index]
        return TypedExpression(value, None if isinstance(value, HostUnknown) else HostType.INT64)
