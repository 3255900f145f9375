"""The `call` function of a Python wrapper, executed symbolically."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kernelscope.launches.dtypes import signature_name
from kernelscope.launches.grid_types import grid_of
from kernelscope.launches.host_arithmetic import negation
from kernelscope.launches.host_expression import (
    HostConstant,
    HostExpression,
    HostType,
    HostUnknown,
)
from kernelscope.launches.launch import (
    DamagedPart,
    KernelArgument,
    Launch,
    Launcher,
    ScalarArgument,
    SourcePosition,
    Tensor,
    TensorArgument,
)
from kernelscope.launches.python_expression import PythonExpressions, UndefinedName
from kernelscope.launches.python_launches import (
    PythonKernel,
    block_size,
    call_parameters,
    constexprs_of,
    is_run,
    operations_above,
)
from kernelscope.launches.python_state import Accessor, ProgramState, Value
from kernelscope.launches.symbol_bounds import bound_of
from kernelscope.launches.tensors import new_tensor, renamed, unknown_tensor, viewed

MAX_DEPTH = 20
_C_TYPES = {"i32": HostType.INT32, "i64": HostType.INT64, "u32": HostType.UINT32, "u64": HostType.UINT64}
_SAME_TENSOR = frozenset({"copy_if_misaligned", "copy_misaligned", "as_tensor"})


class Program:
    """Executes one function body; `variables` are its locals."""

    def __init__(self, state: ProgramState, depth: int = 0) -> None:
        self._state = state
        self._depth = depth
        self._variables: dict[str, Value] = {}
        self._returned: Value = None

    def call(self, function: ast.FunctionDef, arguments: Value) -> Value:
        """Runs `function` with its list of arguments (None: the model's own inputs)."""
        parameter = function.args.args[-1].arg if function.args.args else "args"
        self._variables[parameter] = arguments
        self._block(function.body)
        return self._returned

    def _position(self, node: ast.AST) -> SourcePosition:
        return SourcePosition(self._state.file, getattr(node, "lineno", 1), getattr(node, "col_offset", 0))

    def _block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[target], value=value):
                self._assign(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, value)
            case ast.Expr(value=ast.Call() as call):
                self._evaluate(call)
            case ast.With(body=body):
                self._block(body)
            case ast.Return(value=value):
                self._returned = self._evaluate(value) if value is not None else None
            case ast.If():
                self._if(node)
            case ast.While() | ast.For():
                self._loop(node)
            case ast.AugAssign(target=ast.Name(id=name)):
                self._variables[name] = HostUnknown(name, "the assignment is not modelled")
            case ast.Try(body=body, finalbody=final):
                self._block([*body, *final])
            case _:
                self._uncertain(node)

    def _uncertain(self, node: ast.stmt) -> None:
        """A statement without effect on launches, or one that is reported because it may hold some."""
        if any(is_run(call) for call in ast.walk(node)):
            self._state.damaged.append(DamagedPart("a launch inside code that is not modelled", self._position(node)))

    # assignments

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target.elts, value)
        elif isinstance(target, ast.Name):
            self._variables[target.id] = self._named(target.id, value)
        else:
            self._evaluate(value)

    def _unpack(self, targets: Sequence[ast.expr], value: ast.expr) -> None:
        names = [target.id if isinstance(target, ast.Name) else "" for target in targets]
        result = self._evaluate(value)
        if isinstance(value, ast.Name) and result is None:
            for index, name in enumerate(names):
                self._state.inputs[name] = index
                self._variables[name] = new_tensor(name, None, None, None)
            return
        parts = result if isinstance(result, tuple) and len(result) == len(names) else None
        for i, name in enumerate(names):
            self._variables[name] = parts[i] if parts is not None else new_tensor(name, None, None, None)

    def _named(self, name: str, value: ast.expr) -> Value:
        """The value of `name = …`: sizes of inputs and values read from tensors become symbols named so."""
        symbol = self._symbol(name, value)
        if symbol is not None:
            return symbol
        result = self._evaluate(value)
        if result is None and isinstance(value, (ast.Call, ast.Subscript, ast.Attribute)):
            return new_tensor(self._state.storage(name), None, None, None)
        if isinstance(result, Tensor) and not result.storage:
            return replace(result, name=name, storage=self._state.storage(name))
        return result

    def _symbol(self, name: str, value: ast.expr) -> HostExpression | None:
        match value:
            case ast.Name(id=source):
                tensor = self._variables.get(source)
                index = self._state.inputs.get(tensor.storage) if isinstance(tensor, Tensor) else None
                is_size = re.fullmatch(r"[su]\d+", name) is not None
                return self._state.define(name, f"input{index}") if index is not None and is_size else None
            case ast.Call(func=ast.Attribute(attr="item")):
                return self._state.define(name.removesuffix("_undivided"), "data-dependent")
        dimension = self._dimension(value)
        if dimension is None:
            return None
        tensor, extents, axis = dimension
        known = tensor.sizes if extents == "size" else tensor.strides
        if known is not None and axis < len(known):
            return known[axis]
        index = self._state.inputs.get(tensor.storage)
        if index is None:
            return self._state.define(name, "data-dependent", 0 if extents == "size" else None)
        place = f"[{axis}]" if extents == "size" else f".stride({axis})"
        return self._state.define(name, f"input{index}{place}", 0 if extents == "size" else None)

    def _dimension(self, node: ast.expr) -> tuple[Tensor, str, int] | None:
        match node:
            case ast.Subscript(value=base, slice=ast.Constant(value=int() as axis)):
                accessor = self._evaluate(base)
                tensor = self._variables.get(accessor.tensor) if isinstance(accessor, Accessor) else None
                if isinstance(tensor, Tensor) and isinstance(accessor, Accessor):
                    return tensor, accessor.extents, axis
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="size" | "stride" as extents),
                args=[ast.Constant(value=int() as axis)],
            ):
                tensor = self._variables.get(name)
                return (tensor, extents, axis) if isinstance(tensor, Tensor) else None
        return None

    # expressions

    def _evaluate(self, node: ast.expr) -> Value:
        match node:
            case ast.Name(id=name) if isinstance(self._variables.get(name), (Tensor, Accessor, tuple)):
                value = self._variables[name]
                return renamed(value, name) if isinstance(value, Tensor) else value
            case ast.Name(id=name) if name in self._variables and self._variables[name] is None:
                return None
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return tuple(self._evaluate(element) for element in elements)
            case ast.Constant(value=None):
                return None
            case ast.Call():
                return self._call(node)
            case ast.Subscript():
                dimension = self._dimension(node)
                if dimension is not None:
                    return self._extent(dimension, node)
                return self._element(node)
            case ast.Attribute():
                return None
        return self._integer(node)

    def _element(self, node: ast.Subscript) -> Value:
        base = self._evaluate(node.value)
        match base, node.slice:
            case tuple(), ast.Constant(value=int() as index) if 0 <= index < len(base):
                return base[index]
        return None

    def _extent(self, dimension: tuple[Tensor, str, int], node: ast.expr) -> HostExpression:
        tensor, extents, axis = dimension
        known = tensor.sizes if extents == "size" else tensor.strides
        if known is not None and axis < len(known):
            return known[axis]
        return HostUnknown(ast.unparse(node), "the layout is not known")

    def _integer(self, node: ast.expr) -> HostExpression:
        reader = PythonExpressions(self._resolve, HostType.PYTHON, true_division_floors=False)
        try:
            return reader.read(node)
        except UndefinedName as error:
            return HostUnknown(ast.unparse(node)[:200], f"{error.name} is not followed")

    def _resolve(self, name: str) -> HostExpression | None:
        value = self._variables.get(name)
        if isinstance(value, Tensor):
            index = self._state.inputs.get(value.storage)
            return HostUnknown(name, "a tensor") if index is None else self._state.define(name, f"input{index}")
        return None if value is None or isinstance(value, (Accessor, tuple)) else value

    def _sizes(self, node: ast.expr) -> tuple[HostExpression, ...] | None:
        if not isinstance(node, (ast.Tuple, ast.List)):
            return None
        return tuple(self._integer(element) for element in node.elts)

    # calls

    def _call(self, node: ast.Call) -> Value:
        if is_run(node):
            self._run(node)
            return None
        name = ast.unparse(node.func)
        short, arguments = name.rpartition(".")[2], node.args
        match node.func:
            case ast.Attribute(value=ast.Name(id=variable), attr="size" | "stride" as extents) if not arguments:
                return Accessor(variable, extents)
        partition = self._partition(node)
        if partition is not None and self._depth < MAX_DEPTH and len(arguments) == 1:
            return Program(self._state, self._depth + 1).call(partition, self._evaluate(arguments[0]))
        if short.startswith("empty_strided") and len(arguments) >= 2:
            dtype = next((signature_name(ast.unparse(a)) for a in arguments[2:] if "torch." in ast.unparse(a)), None)
            return new_tensor("", self._sizes(arguments[0]), self._sizes(arguments[1]), dtype)
        if short == "reinterpret_tensor" and len(arguments) >= 3:
            offset = self._integer(arguments[3]) if len(arguments) > 3 else HostConstant(0)
            return viewed(self._tensor(arguments[0]), self._sizes(arguments[1]), self._sizes(arguments[2]), offset)
        if short in _SAME_TENSOR and arguments:
            return self._evaluate(arguments[0])
        if short.startswith("assert_"):
            self._asserted(short, arguments)
        return None

    def _partition(self, node: ast.Call) -> ast.FunctionDef | None:
        """The function behind `self.partitions[0](…)` or `true_graph_0(…)`."""
        match node.func:
            case ast.Subscript(value=ast.Attribute(attr="partitions"), slice=ast.Constant(value=int() as index)):
                return self._state.functions.get(f"partition_{index}")
            case ast.Name(id=name):
                return self._state.functions.get(name)
        return None

    def _tensor(self, node: ast.expr) -> Tensor:
        value = self._evaluate(node)
        return value if isinstance(value, Tensor) else unknown_tensor(ast.unparse(node)[:80])

    def _asserted(self, name: str, arguments: Sequence[ast.expr]) -> None:
        """Layouts that the wrapper asserts of inputs and of what other operators return."""
        if name == "assert_size_stride_grouped" and len(arguments) >= 3:
            groups = [a.elts if isinstance(a, (ast.Tuple, ast.List)) else [] for a in arguments[:3]]
            for tensor, sizes, strides in zip(*groups, strict=False):
                self._layout(tensor, sizes, strides, None)
        elif name in ("assert_size_stride", "assert_tensor_metadata") and len(arguments) >= 3:
            dtype = ast.unparse(arguments[3]) if len(arguments) > 3 else ""
            self._layout(arguments[0], arguments[1], arguments[2], signature_name(dtype))

    def _layout(self, target: ast.expr, sizes: ast.expr, strides: ast.expr, dtype: str | None) -> None:
        tensor = self._variables.get(target.id) if isinstance(target, ast.Name) else None
        if not isinstance(tensor, Tensor) or not isinstance(target, ast.Name):
            return
        if tensor.sizes is None:
            tensor = replace(tensor, sizes=self._sizes(sizes), strides=self._sizes(strides))
        self._variables[target.id] = replace(tensor, dtype=tensor.dtype or dtype)

    # launches

    def _run(self, node: ast.Call) -> None:
        assert isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
        kernels = self._state.kernels.get(node.func.value.id, ())
        if not kernels:
            self._state.damaged.append(DamagedPart(f"{node.func.value.id} is not defined", self._position(node)))
        choice = HostUnknown(node.func.value.id, "one of several kernels is chosen at run time")
        for kernel in kernels:
            if len(kernels) > 1:
                self._state.conditions.append(choice)
            self._launch(kernel, node)
            if len(kernels) > 1:
                self._state.conditions.pop()

    def _launch(self, kernel: PythonKernel, node: ast.Call) -> None:
        names = call_parameters(kernel, len(node.args))
        if names is None:
            what = f"{kernel.variable}.run passes {len(node.args)} arguments, which its signature does not explain"
            self._state.damaged.append(DamagedPart(what, self._position(node)))
            return
        given = dict(zip(names, node.args, strict=True))
        types = kernel.metadata.signature
        integers = {n: self._integer(v) for n, v in given.items() if not types.get(n, "").startswith("*")}
        constexprs = constexprs_of(kernel.metadata, integers)
        extra = set(kernel.metadata.extra_launcher_args)
        arguments = [n for n in names if n not in extra and n not in constexprs and types.get(n) != "constexpr"]
        nodes, aten = operations_above(self._state.lines, node.lineno)
        self._state.launches.append(
            Launch(
                index=len(self._state.launches), kernel=kernel.name, launcher_name=kernel.variable,
                grid=grid_of(kernel.metadata, integers, lambda name: block_size(kernel.metadata, constexprs, name)),
                arguments=tuple(self._argument(n, given[n], types.get(n), integers) for n in arguments),
                constexprs=constexprs, num_warps=None, shared_bytes=None, cubin=None, source_nodes=nodes,
                original_aten=aten, launcher=Launcher.TRITON, position=self._position(node),
                conditions=tuple(self._state.conditions), types=types,
            )
        )  # fmt: skip

    def _argument(
        self, name: str, node: ast.expr, kind: str | None, integers: Mapping[str, HostExpression]
    ) -> KernelArgument:
        if kind is not None and kind.startswith("*") or name not in integers:
            tensor = self._tensor(node)
            return TensorArgument(name, replace(tensor, dtype=tensor.dtype or (kind or "").lstrip("*") or None))
        value = self._evaluate(node)
        if isinstance(value, Tensor) and kind is None:
            return TensorArgument(name, value)
        return ScalarArgument(name, integers[name], _C_TYPES.get(kind or ""))

    # control flow

    def _if(self, node: ast.If) -> None:
        condition = self._integer(node.test)
        negated = negation(condition)
        if not node.orelse and isinstance(node.body[-1], (ast.Raise, ast.Return)):
            self._assume(negated)
            return
        before = dict(self._variables)
        self._branch(condition, node.body)
        after_true, self._variables = self._variables, dict(before)
        self._branch(negated, node.orelse)
        for name, value in after_true.items():
            if self._variables.get(name) != value:
                self._variables[name] = _merged(name, value, self._variables.get(name))

    def _branch(self, condition: HostExpression, body: Sequence[ast.stmt]) -> None:
        self._state.conditions.append(condition)
        self._block(body)
        self._state.conditions.pop()

    def _assume(self, fact: HostExpression) -> None:
        bound = bound_of(fact)
        if bound is None or bound[0] not in self._state.symbols:
            if not isinstance(fact, HostConstant):
                self._state.conditions.append(fact)
            return
        self._state.bound(*bound)

    def _loop(self, node: ast.While | ast.For) -> None:
        """A loop's body runs any number of times: what it assigns is unknown in it and after it."""
        assigned = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for _ in range(2):
            for name in assigned:
                old = self._variables.get(name)
                is_tensor = isinstance(old, Tensor)
                self._variables[name] = unknown_tensor(name) if is_tensor else HostUnknown(name, "assigned in a loop")
            if _ == 0:
                self._branch(HostUnknown(ast.unparse(node).partition("\n")[0], "inside a loop"), node.body)


def _merged(name: str, left: Value, right: Value) -> Value:
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return unknown_tensor(name)
    return HostUnknown(name, "assigned under a condition")
