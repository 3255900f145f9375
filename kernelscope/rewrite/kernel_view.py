"""A kernel text as patches see it: its libcst tree, where each node lies, and which type each expression has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import cast

import libcst as cst
from libcst import matchers as m
from libcst.metadata import CodeRange, MetadataWrapper, ParentNodeProvider, PositionProvider

from kernelscope.audit.reachable import reachable
from kernelscope.errors import KernelscopeError
from kernelscope.rewrite.edits import Edit, Replacement, insertion
from kernelscope.triton_source.index_program import IndexProgram, Node, Span
from kernelscope.triton_source.operands import operands
from kernelscope.triton_source.scalar_types import ScalarType

#: Calls in which a value must stay int32, and from which positional argument (or under which keywords) on.
_INT32_COORDINATES: Mapping[str, tuple[int, frozenset[str]]] = {
    "make_block_ptr": (3, frozenset({"offsets", "block_shape"})),
    "advance": (1, frozenset({"offsets"})),
    "load_tensor_descriptor": (1, frozenset({"offsets"})),
    "store_tensor_descriptor": (1, frozenset({"offsets"})),
    "exclusive_scan_decoupled_lookback": (2, frozenset({"index"})),
    "exclusive_scan_decoupled_lookback_64": (2, frozenset({"index"})),
}
_WIDENS_ALONE = (cst.Name, cst.Call, cst.Attribute, cst.Subscript)


@lru_cache(maxsize=4)
def _parsed(text: str) -> tuple[cst.Module, Mapping[cst.CSTNode, CodeRange], Mapping[cst.CSTNode, cst.CSTNode]]:
    """The tree of a text with its nodes' positions and parents; each strategy looks at the same text, and none changes it."""
    try:
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    except (cst.ParserSyntaxError, cst.CSTValidationError, RecursionError) as error:
        raise KernelscopeError(f"the kernel cannot be parsed for a rewrite: {type(error).__name__}") from error
    positions = cast("Mapping[cst.CSTNode, CodeRange]", wrapper.resolve(PositionProvider))
    return wrapper.module, positions, cast("Mapping[cst.CSTNode, cst.CSTNode]", wrapper.resolve(ParentNodeProvider))


class KernelView:
    """One kernel text with its types, as `programs` (the text under the types of its launches) tell them."""

    def __init__(self, text: str, programs: Iterable[IndexProgram]) -> None:
        self.text = text
        self.module, self._positions, self._parents = _parsed(text)
        self._programs = tuple(programs)

    # -- places -----------------------------------------------------------------------------------------------------

    def span(self, node: cst.CSTNode) -> Span:
        """Where a node lies, the parentheses around it left out."""
        found = self._positions[node]
        return Span(found.start.line, found.start.column, found.end.line, found.end.column)

    def code(self, node: cst.CSTNode) -> str:
        return self.module.code_for_node(node)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return self._parents.get(node)

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        above = self.parent(node)
        while above is not None:
            yield above
            above = self.parent(above)

    @cached_property
    def nodes(self) -> tuple[cst.CSTNode, ...]:
        """Every node that has a place, in source order."""
        return tuple(sorted(self._positions, key=lambda n: (self.span(n).line, self.span(n).column)))

    def function_of(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        return next((n for n in self.ancestors(node) if isinstance(n, cst.FunctionDef)), None)

    def in_body(self, node: cst.CSTNode) -> bool:
        """Whether a node is in the body of a function (and not a decorator or default)."""
        inner = node
        for above in self.ancestors(node):
            if isinstance(above, cst.FunctionDef):
                return above.body is inner
            inner = above
        return False

    # -- types ------------------------------------------------------------------------------------------------------

    @cached_property
    def _nodes_by_span(self) -> dict[Span, list[Node]]:
        found: dict[Span, list[Node]] = {}
        for program in self._programs:
            for operation in program.operations:
                for node in (operation, *operands(operation)):
                    found.setdefault(node.span, []).append(node)
            for node in reachable(program):
                found.setdefault(node.span, []).append(node)
        return found

    def is_int32(self, node: cst.CSTNode) -> bool:
        """Whether an expression is an integer of 32 bits in some launch; one whose value nothing depends on is not."""
        types = [n.type for n in self._nodes_by_span.get(self.span(node), ())]
        return any(isinstance(t, ScalarType) and t.is_integer and t.bits == 32 for t in types)

    def is_int32_value(self, node: cst.BaseExpression, depth: int = 8) -> bool:
        """As `is_int32`, but a variable has the type that it is assigned, where that is known."""
        if self.is_int32(node):
            return True
        if depth and isinstance(node, cst.Name):
            return any(self.is_int32_value(value, depth - 1) for value in self._values.get(node.value, ()))
        return False

    @cached_property
    def _values(self) -> Mapping[str, list[cst.BaseExpression]]:
        found: dict[str, list[cst.BaseExpression]] = {}
        for node in self.nodes:
            match node:
                case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
                    found.setdefault(name, []).append(value)
                case _:
                    pass
        return found

    @cached_property
    def _stored_spans(self) -> frozenset[Span]:
        waiting = [a.value for p in self._programs for a in p.accesses if a.value is not None]
        seen: dict[int, Node] = {}
        while waiting:
            node = waiting.pop()
            if id(node) not in seen:
                seen[id(node)] = node
                waiting.extend(operands(node))
        return frozenset(node.span for node in seen.values())

    def is_stored(self, node: cst.CSTNode) -> bool:
        """Whether a value that the kernel stores is computed from an expression."""
        return self.span(node) in self._stored_spans

    # -- names ------------------------------------------------------------------------------------------------------

    @cached_property
    def language(self) -> str:
        """The name of `triton.language` here."""
        for alias in (n for n in self.nodes if isinstance(n, cst.ImportAlias)):
            if self.code(alias.name) in ("triton.language", "language") and alias.asname is not None:
                return self.code(alias.asname.name)
        return "tl"

    def called(self, node: cst.CSTNode) -> str | None:
        """`arange` for `tl.arange(…)`, the function's name for a plain call, None for other nodes."""
        if not isinstance(node, cst.Call):
            return None
        match node.func:
            case cst.Attribute(attr=cst.Name(value=name)) | cst.Name(value=name):
                return name
            case _:
                return None

    def is_language_call(self, node: cst.CSTNode, *names: str) -> bool:
        """Whether a node is a call of one of Triton's own functions (`tl.cdiv`, `triton.cdiv`)."""
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
            return False
        return node.func.attr.value in names and self.code(node.func.value) in (self.language, "triton", "tl")

    @cached_property
    def compile_time_names(self) -> frozenset[str]:
        """Names of constexprs and module-level constants: they have no `.to`."""
        names: set[str] = set()
        for node in self.nodes:
            match node:
                case cst.Param(name=cst.Name(value=name), annotation=cst.Annotation() as annotation):
                    if "constexpr" in self.code(annotation.annotation):
                        names.add(name)
                case cst.AnnAssign(target=cst.Name(value=name), annotation=annotation):
                    if "constexpr" in self.code(annotation.annotation):
                        names.add(name)
                case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]) if not self.in_body(node):
                    names.add(name)
                case _:
                    pass
        for program in self._programs:
            names.update(program.constexprs)
        return frozenset(names)

    def is_compile_time(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is made of literals and constexprs alone."""
        if isinstance(node, (cst.Name, cst.Integer, cst.Float, cst.SimpleString)):
            return not isinstance(node, cst.Name) or node.value in self.compile_time_names
        if isinstance(node, (cst.BinaryOperation, cst.UnaryOperation)):
            parts = [node.left, node.right] if isinstance(node, cst.BinaryOperation) else [node.expression]
            return all(map(self.is_compile_time, parts))
        if isinstance(node, cst.Call) and self.called(node) in ("cdiv", "min", "max", "next_power_of_2"):
            return all(self.is_compile_time(a.value) for a in node.args)
        return False

    def is_changed_by_a_loop(self, name: str, start: cst.CSTNode) -> bool:
        """Whether a loop after `start`, in the same function, assigns a name."""
        changes = self._loop_changes.get(name, ())
        if not changes:
            return False
        function, line = self.function_of(start), self.span(start).line
        return any(node is not start and owner is function and last > line for node, owner, last in changes)

    @cached_property
    def _loop_changes(self) -> Mapping[str, list[tuple[cst.CSTNode, cst.FunctionDef | None, int]]]:
        """Assignments in loops by name: the node, its function, the line at which the last of the loops around it begins."""
        found: dict[str, list[tuple[cst.CSTNode, cst.FunctionDef | None, int]]] = {}
        for node in self.nodes:
            targets: list[cst.BaseExpression] = []
            match node:
                case cst.Assign():
                    targets = [t.target for t in node.targets]
                case cst.AugAssign():
                    targets = [node.target]
                case _:
                    continue
            loops = [self.span(a).line for a in self.ancestors(node) if isinstance(a, (cst.For, cst.While))]
            if loops:
                change = node, self.function_of(node), max(loops)
                for name in {n.value for t in targets for n in m.findall(t, m.Name()) if isinstance(n, cst.Name)}:
                    found.setdefault(name, []).append(change)
        return found

    def holds_product(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is, or sums up, a product: a cast of it may come too late."""
        match node:
            case cst.BinaryOperation(operator=cst.Multiply() | cst.LeftShift()):
                return True
            case cst.BinaryOperation(operator=cst.Add() | cst.Subtract()):
                return self.holds_product(node.left) or self.holds_product(node.right)
            case cst.UnaryOperation():
                return self.holds_product(node.expression)
            case _:
                return False

    # -- what must stay int32 -----------------------------------------------------------------------------------------

    def is_coordinate(self, node: cst.CSTNode) -> str | None:
        """The call that demands an int32 here (offsets of a block pointer, a scan's program id)."""
        inner = node
        for above in self.ancestors(node):
            if isinstance(above, cst.FunctionDef):
                return None
            if isinstance(above, cst.Call) and isinstance(inner, cst.Arg):
                name = self.called(above) or ""
                first, keywords = _INT32_COORDINATES.get(name, (99, frozenset()))
                if name in ("load", "store") and self._is_descriptor_call(above):
                    first, keywords = 0, frozenset({"offsets"})
                keyword = inner.keyword.value if inner.keyword is not None else None
                place = above.args.index(inner)
                if keyword in keywords or keyword is None and place >= first and not self._is_narrowed(node, inner):
                    return name
            inner = above
        return None

    def _is_descriptor_call(self, call: cst.Call) -> bool:
        """`descriptor.load([y, x])`: the first argument is a list."""
        is_method = isinstance(call.func, cst.Attribute) and self.code(call.func.value) not in (self.language, "tl")
        return is_method and bool(call.args) and m.matches(call.args[0].value, m.List() | m.Tuple())

    def _is_narrowed(self, node: cst.CSTNode, end: cst.CSTNode) -> bool:
        """Whether a cast back to int32 lies between a node and the argument that it is part of."""
        for above in self.ancestors(node):
            if above is end:
                return False
            if isinstance(above, cst.Call) and self.called(above) == "to" and "int32" in self.code(above.args[0]):
                return True
        return False

    @cached_property
    def int32_names(self) -> Mapping[str, str]:
        """Variables that reach such a place without a cast on the way, and the call that they reach."""
        found: dict[str, str] = {}
        for node in self.nodes:
            call = self.is_coordinate(node) if isinstance(node, cst.Name) and self.in_body(node) else None
            if isinstance(node, cst.Name) and call is not None:
                found.setdefault(node.value, call)
        assigned = [(t, a.value) for a in self.nodes if isinstance(a, cst.Assign) for t in a.targets]
        changed = True
        while changed:
            changed = False
            for target, value in assigned:
                reached = found.get(self.code(target.target))
                if reached is None:
                    continue
                for name in m.findall(value, m.Name()):
                    if isinstance(name, cst.Name) and name.value not in found and not self._is_called(name):
                        found[name.value] = reached
                        changed = True
        return found

    def _is_called(self, name: cst.Name) -> bool:
        return isinstance(self.parent(name), (cst.Attribute, cst.Call)) or name.value in self.compile_time_names

    def reaches_int32(self, node: cst.CSTNode) -> str | None:
        """The call with an int32 coordinate that the value of an expression goes to, directly or by a variable."""
        direct = self.is_coordinate(node)
        if direct is not None:
            return direct
        for above in self.ancestors(node):
            if isinstance(above, cst.Assign):
                reached = [self.int32_names.get(self.code(t.target)) for t in above.targets]
                return next((r for r in reached if r is not None), None)
            if isinstance(above, cst.BaseStatement):
                return None
        return None

    # -- edits ------------------------------------------------------------------------------------------------------

    def widened(self, operand: cst.BaseExpression, site: cst.CSTNode) -> Edit:
        """`operand` becomes `operand.to(tl.int64)`, in parentheses where it needs them."""
        suffix = f".to({self.language}.int64)"
        place = self.span(operand)
        before = "".join(self.code(p) for p in operand.lpar)
        after = "".join(self.code(p) for p in operand.rpar)
        if before and "\n" not in before + after:
            return Edit((insertion(place.end_line, place.end_column + len(after), suffix),), self.span(site))
        end = insertion(place.end_line, place.end_column, suffix)
        if isinstance(operand, _WIDENS_ALONE):
            return Edit((end,), self.span(site))
        start = insertion(place.line, place.column, "(")
        return Edit((start, insertion(place.end_line, place.end_column, ")" + suffix)), self.span(site))

    def replaced(self, node: cst.CSTNode, text: str, site: cst.CSTNode, widened: tuple[str, ...] = ()) -> Edit:
        """A node becomes `text`."""
        return Edit((Replacement(self.span(node), text),), self.span(site), widened)
