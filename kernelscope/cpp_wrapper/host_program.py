"""`run_impl` executed symbolically: declarations, assignments, conditions and loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kernelscope.cpp_wrapper.expressions import C_TYPES, TypedExpression, combined, converted, negated, unknown
from kernelscope.cpp_wrapper.host_calls import CallReader
from kernelscope.cpp_wrapper.host_state import HostState, Scope, merged
from kernelscope.cpp_wrapper.host_values import ValueReader
from kernelscope.cpp_wrapper.launcher import Launcher
from kernelscope.cpp_wrapper.natural_numbers import natural_number
from kernelscope.cpp_wrapper.syntax import (
    MissingField,
    Node,
    ParsedFunction,
    field,
    nodes_of_type,
    unwrapped,
)
from kernelscope.launches.host_expression import (
    HostConstant,
    HostOperator,
    HostSymbol,
    HostUnknown,
)
from kernelscope.launches.launch import DamagedPart, Tensor
from kernelscope.launches.symbol_bounds import bound_of
from kernelscope.launches.tensors import new_tensor, unknown_tensor

_RUNTIME_CHECKS = "_check_aoti_runtime_check_inputs_env()"
_HANDLES = ("RAIIAtenTensorHandle", "AtenTensorHandle", "ConstantHandle")
_NARROW_TYPES = frozenset({
    "float", "short", "int16_t", "uint16_t", "unsigned short", "char", "signed char", "unsigned char", "int8_t", "uint8_t",
})  # fmt: skip
_COMPOUND = {"+=": HostOperator.ADD, "-=": HostOperator.SUBTRACT, "*=": HostOperator.MULTIPLY}


def run(
    function: ParsedFunction,
    inputs: Sequence[tuple[str, int]],
    state: HostState,
    launchers: Mapping[str, Launcher | None],
    constant: Callable[[int], Tensor | None],
) -> None:
    """Executes `function` on `state`, after it has taken over `inputs`; `constant` gives the layout of the model's
    constants."""
    program = _Program(function, state, launchers, constant)
    for name, index in inputs:
        state.declare(name)
        program.take_input(name, index)
    program.block(function.body)


class _Program:
    def __init__(
        self,
        function: ParsedFunction,
        state: HostState,
        launchers: Mapping[str, Launcher | None],
        constant: Callable[[int], Tensor | None],
    ) -> None:
        self._function = function
        self._state = state
        self._constant = constant
        self._values = ValueReader(function, state)
        self._calls = CallReader(self._values, state, launchers)

    def block(self, node: Node) -> None:
        for statement in node.named_children:
            try:
                self._statement(statement)
            except (MissingField, RecursionError):
                position = self._function.position(statement)
                self._state.damaged.append(DamagedPart("a statement of run_impl cannot be read", position))
                self._invalidate(statement)

    def _statement(self, node: Node) -> None:
        match node.type:
            case "comment":
                text = self._text(node)
                if "Source Nodes" in text:
                    self._state.comment = text
            case "declaration":
                self._declaration(node)
            case "expression_statement":
                for child in node.named_children:
                    self._expression(child)
            case "if_statement":
                self._if(node)
            case "compound_statement":
                self._scoped(lambda: self.block(node))
            case "while_statement" | "for_statement" | "do_statement" | "for_range_loop":
                self._loop(node)
            case "return_statement" | "break_statement" | "continue_statement" | "throw_statement":
                pass
            case _:
                self._uncertain(node)

    def _text(self, node: Node) -> str:
        return self._function.text(node)

    def _scoped(self, body: Callable[[], None]) -> None:
        outer = self._state.scope
        inner = outer.copy()
        self._state.scope = inner
        body()
        self._state.scope.leave(outer)

    # declarations

    def _declaration(self, node: Node) -> None:
        kind = self._text(field(node, "type"))
        for declarator in node.children_by_field_name("declarator"):
            if declarator.type == "init_declarator":
                target, value = field(declarator, "declarator"), field(declarator, "value")
                self._define(kind, target, value)
            else:
                self._declare(kind, declarator)

    def _declare(self, kind: str, declarator: Node) -> None:
        """`T x;`, or `RAIIAtenTensorHandle x(y);`, which C++'s grammar reads as a function declaration."""
        if declarator.type == "function_declarator":
            name = self._text(field(declarator, "declarator"))
            source = self._text(field(declarator, "parameters")).strip("()").strip()
            self._state.declare(name)
            tensor = self._state.scope.tensors.get(source)
            self._state.scope.tensors[name] = tensor or unknown_tensor(name)
            return
        name = self._text(declarator)
        self._state.declare(name)
        self._calls.declare(name, kind)
        if kind in _HANDLES:
            self._state.scope.tensors[name] = unknown_tensor(name)
        else:
            self._state.scope.names[name] = unknown(name, "used before it is set")

    def _define(self, kind: str, target: Node, value: Node) -> None:
        is_array = target.type == "array_declarator" or "*" in self._text(target)
        while target.type != "identifier" and target.named_children:
            target = target.named_children[0]
        name = self._text(target)
        self._state.declare(name)
        if kind in _HANDLES:
            arguments = value.named_children if value.type == "argument_list" else [value]
            tensor = self._values.tensor(arguments[0]) if len(arguments) == 1 else None
            self._state.scope.tensors[name] = tensor or unknown_tensor(name)
        elif is_array:
            elements = self._values.array(value)
            if elements is not None:
                self._state.scope.arrays[name] = elements
        else:
            self._assign(name, kind, value)

    def _assign(self, name: str, kind: str, value: Node) -> None:
        """Gives `name` the value of an expression: a tensor, an accessor or an integer."""
        scope = self._state.scope
        if self._input(name, value) or self._symbol(name, kind, value):
            return
        tensor = self._values.tensor(value) if value.type in ("identifier", "call_expression") else None
        accessor = self._values.accessor(value)
        if tensor is not None:
            scope.tensors[name] = tensor
        elif accessor is not None:
            scope.accessors[name] = accessor
        else:
            typed = self._values.integer(value)
            if self._state.rename_multiple(name, typed.value):
                return
            if kind in _NARROW_TYPES:
                typed = unknown(self._text(value), f"the C type {kind} is not modelled")
            scope.names[name] = converted(typed, C_TYPES[kind]) if kind in C_TYPES else typed
            scope.tensors.pop(name, None)

    def _input(self, name: str, value: Node) -> bool:
        """`std::move(inputs[3])` and `constants_->at(3)`."""
        text = self._text(value)
        index = text.rstrip(")]").rpartition("[" if "inputs[" in text else "(")[2].rstrip("L")
        number = natural_number(index)
        if number is None:
            return False
        if text in (f"std::move(inputs[{index}])", f"inputs[{index}]"):
            self.take_input(name, number)
        elif text == f"constants_->at({index})":
            known = self._constant(number)
            tensor = new_tensor(name, None, None, None)
            if known is not None:
                tensor = new_tensor(name, known.sizes, known.strides, known.dtype)
            self._state.scope.tensors[name] = tensor
        else:
            return False
        return True

    def take_input(self, name: str, index: int) -> None:
        """`auto name = std::move(inputs[index]);`"""
        self._state.inputs[name] = index
        self._state.scope.tensors[name] = new_tensor(name, None, None, None)

    def _symbol(self, name: str, kind: str, value: Node) -> bool:
        """A size of an input or of a tensor whose layout is not known, or a scalar input: a new symbol."""
        if value.type == "identifier" and kind in C_TYPES:
            tensor = self._state.scope.tensors.get(self._text(value))
            index = self._state.inputs.get(tensor.storage) if tensor else None
            if index is None:
                return False
            self._state.scope.names[name] = self._state.define_symbol(name, f"input{index}", C_TYPES[kind])
            return True
        dimension = self._values.dimension(value)
        if dimension is None:
            return False
        variable, extents, axis = dimension
        tensor = self._state.scope.tensors.get(variable)
        index = self._state.inputs.get(tensor.storage) if tensor else None
        if index is None:
            if self._values.integer(value).type is not None:
                return False
            self._state.scope.names[name] = self._state.define_symbol(name, "data-dependent", minimum=0)
        else:
            source = f"input{index}[{axis}]" if extents == "sizes" else f"input{index}.stride({axis})"
            typed = self._state.define_symbol(name, source, minimum=0 if extents == "sizes" else None)
            self._state.scope.names[name] = converted(typed, C_TYPES[kind]) if kind in C_TYPES else typed
            if extents == "sizes" and isinstance(typed.value, HostSymbol):
                self._state.dimensions[index, axis] = (typed.value.name, 1)
        return True

    # expressions

    def _expression(self, node: Node) -> None:
        if node.type == "call_expression":
            self._calls.apply(node)
        elif node.type == "assignment_expression":
            self._assignment(node)
        elif node.type == "comma_expression":
            for child in node.named_children:
                self._expression(child)
        else:
            self._invalidate(node)

    def _assignment(self, node: Node) -> None:
        target, value = field(node, "left"), field(node, "right")
        operator = self._text(field(node, "operator"))
        if target.type != "identifier":
            return
        name = self._text(target)
        old = self._state.scope.names.get(name)
        if operator == "=":
            kind = old.type.value if old and old.type else "int64_t" if old else "auto"
            self._assign(name, kind, value)
        elif operator in _COMPOUND and old is not None:
            self._state.scope.names[name] = combined(_COMPOUND[operator], old, self._values.integer(value))
        else:
            self._state.scope.names[name] = unknown(self._text(node), "the assignment is not modelled")

    # control flow

    def _if(self, node: Node) -> None:
        condition_node = unwrapped(field(node, "condition"))
        consequence, alternative = field(node, "consequence"), node.child_by_field_name("alternative")
        if self._text(condition_node) == _RUNTIME_CHECKS:
            self.block(consequence) if consequence.type == "compound_statement" else self._statement(consequence)
            return
        condition = self._values.integer(condition_node)
        otherwise = negated(condition)
        if alternative is None and _leaves(consequence):
            if self._contains_launch(consequence):
                self._branch(condition, consequence)
            self._assume(otherwise)
            return
        before = self._state.scope
        if_true = self._branch(condition, consequence)
        if_false = self._branch(otherwise, alternative) if alternative is not None else before
        self._state.scope = merged(condition, before, if_true, if_false)

    def _contains_launch(self, node: Node) -> bool:
        calls = nodes_of_type(node, "call_expression")
        return any(self._text(field(call, "function")).startswith("call_") for call in calls)

    def _branch(self, condition: TypedExpression, node: Node) -> Scope:
        """Executes one branch under its condition and returns the variables after it; the state's scope is put back."""
        before = self._state.scope
        self._state.scope = before.copy()
        self._state.conditions.append(condition.value)
        body = node.named_children[0] if node.type == "else_clause" and node.named_children else node
        self.block(body) if body.type == "compound_statement" else self._statement(body)
        self._state.conditions.pop()
        after = self._state.scope
        after.leave(before)
        self._state.scope = before
        return after

    def _assume(self, fact: TypedExpression) -> None:
        """What must hold for the code below to be reached: a bound on a symbol, or one more condition."""
        match fact.value:
            case HostConstant():
                return
            case HostUnknown():
                self._state.conditions.append(fact.value)
                return
            case _:
                bound = bound_of(fact.value)
        if bound is None:
            self._state.conditions.append(fact.value)
        elif bound[0] in self._state.symbols:
            self._state.bound_symbol(*bound)

    def _loop(self, node: Node) -> None:
        """A loop's body runs any number of times: what it assigns is unknown inside and after it."""
        condition = unknown(self._text(node).partition("{")[0], "inside a loop")
        body = field(node, "body")
        self._invalidate(node)
        self._branch(condition, body)
        self._invalidate(node)

    def _uncertain(self, node: Node) -> None:
        """A statement that is not modelled: launches in it are kept under an unknown condition."""
        condition = unknown(self._text(node)[:80], f"inside a {node.type} that is not modelled")
        self._invalidate(node)
        for body in nodes_of_type(node, "compound_statement"):
            self._branch(condition, body)
            break
        self._invalidate(node)

    def _invalidate(self, node: Node) -> None:
        """Forgets every variable that a piece of code may assign."""
        scope = self._state.scope
        for assignment in nodes_of_type(node, "assignment_expression", "update_expression"):
            target = assignment.child_by_field_name("left") or assignment.child_by_field_name("argument")
            name = self._text(target) if target is not None else ""
            if name in scope.names:
                scope.names[name] = unknown(name, "assigned in code that is not followed")
            if name in scope.tensors:
                scope.tensors[name] = unknown_tensor(name)


def _leaves(node: Node) -> bool:
    """Whether a branch always ends in `throw` or `return`."""
    last = node.named_children[-1] if node.type == "compound_statement" and node.named_children else node
    return last.type in ("throw_statement", "return_statement")

