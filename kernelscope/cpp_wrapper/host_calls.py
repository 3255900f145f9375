"""Calls in `run_impl`: allocations, views, aliases, layout assertions, values read from tensors, and launches."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from kernelscope.cpp_wrapper.expressions import C_TYPES, converted, unknown
from kernelscope.cpp_wrapper.host_state import HostState
from kernelscope.cpp_wrapper.host_values import ValueReader
from kernelscope.cpp_wrapper.launcher import Launcher, LauncherArgument, PointerParameter, ScalarParameter, TensorItem
from kernelscope.cpp_wrapper.syntax import Node, argument_nodes, field, nodes_of_type
from kernelscope.launches.dtypes import item_bytes, signature_name
from kernelscope.launches.host_arithmetic import apply, substitute, symbols_of
from kernelscope.launches.host_expression import HostConstant, HostExpression, HostOperator, HostType, HostUnknown
from kernelscope.launches.kernel_metadata import pointee
from kernelscope.launches.launch import (
    DamagedPart,
    KernelArgument,
    Launch,
    ScalarArgument,
    SourcePosition,
    Tensor,
    TensorArgument,
)
from kernelscope.launches.launch import Launcher as Dispatcher
from kernelscope.launches.tensors import new_tensor, renamed, unknown_tensor, viewed

_ERROR_CHECK = "AOTI_TORCH_ERROR_CODE_CHECK"
_SOURCE_COMMENT = re.compile(r"Topologically Sorted Source Nodes: \[(.*?)\](?:, Original ATen: \[(.*?)\])?")
_ALIASES = ("aoti_torch_new_tensor_handle", "aoti_torch_assign_tensors_out")
_CLONES = ("aoti_torch_clone_preserve_strides",)

Handler = Callable[[str, tuple[Node, ...]], None]


class CallReader:
    """Applies the effect of calls to the state."""

    def __init__(self, values: ValueReader, state: HostState, launchers: Mapping[str, Launcher | None]) -> None:
        self._values = values
        self._state = state
        self._launchers = launchers
        self._declared_types: dict[str, str] = {}
        self._handlers: dict[str, Handler] = {
            "aoti_torch_empty_strided": self._allocate,
            "aoti_torch_empty_strided_pinned": self._allocate,
            "aoti_torch_as_strided": self._restride,
            "aoti_torch__alloc_from_pool": self._from_pool,
            "aoti_torch__reinterpret_tensor": self._reinterpret,
            "assert_size_stride": self._assert_layout,
            **dict.fromkeys(_ALIASES, self._alias),
            **dict.fromkeys(_CLONES, self._clone),
        }

    def declare(self, name: str, type_name: str) -> None:
        """Remembers the type of a variable that a call will fill."""
        self._declared_types[name] = type_name

    def apply(self, call: Node) -> None:
        """The effect of one call expression (a statement of its own)."""
        name, arguments = self._values.text(field(call, "function")), argument_nodes(call)
        if name == _ERROR_CHECK and len(arguments) == 1 and arguments[0].type == "call_expression":
            self.apply(arguments[0])
        elif name in self._launchers:
            self._launch(name, call, arguments)
        elif name in self._state.left_out:
            self._state.skipped += 1
        elif name in self._handlers:
            self._handlers[name](name, arguments)
        elif name.startswith("aoti_torch_item_") and len(arguments) == 2:
            self._item(name, arguments)
        elif name.endswith("_view_dtype") and len(arguments) == 3:
            self._view_dtype(name, arguments)
        else:
            self._outputs(arguments)

    def _outputs(self, arguments: tuple[Node, ...]) -> None:
        """Whatever a call that is not known may have written through `&x` is unknown after it."""
        for argument in arguments:
            for pointer in nodes_of_type(argument, "pointer_expression"):
                text = self._values.text(pointer)
                if text.startswith("&"):
                    self._forget(text[1:].strip())

    def _forget(self, name: str) -> None:
        self._state.scope.arrays.pop(name, None)
        if name in self._state.scope.names:
            self._state.scope.names[name] = unknown(name, "written by a call that is not followed")
        self._state.scope.tensors[name] = new_tensor(self._fresh(name), None, None, None)

    def _target(self, node: Node) -> str:
        return self._values.text(node).lstrip("&").strip()

    def _allocate(self, name: str, arguments: tuple[Node, ...]) -> None:
        if len(arguments) != 7:
            return self._outputs(arguments)
        target = self._target(arguments[6])
        dtype = signature_name(self._values.text(arguments[3]))
        sizes, strides = self._values.array(arguments[1]), self._values.array(arguments[2])
        self._state.scope.tensors[target] = new_tensor(self._fresh(target), sizes, strides, dtype)

    def _fresh(self, name: str) -> str:
        """A storage name that no other tensor has."""
        base = name.removesuffix("_handle")
        unique, count = base, 2
        while unique in self._state.storages:
            unique, count = f"{base}_{count}", count + 1
        self._state.storages.add(unique)
        return unique

    def _restride(self, name: str, arguments: tuple[Node, ...]) -> None:
        if len(arguments) != 4:
            return self._outputs(arguments)
        base = self._values.tensor(arguments[0]) or unknown_tensor(self._values.text(arguments[0]))
        sizes, strides = self._values.array(arguments[1]), self._values.array(arguments[2])
        self._state.scope.tensors[self._target(arguments[3])] = viewed(base, sizes, strides, HostConstant(0))

    def _from_pool(self, name: str, arguments: tuple[Node, ...]) -> None:
        if len(arguments) != 7:
            return self._outputs(arguments)
        pool = self._values.tensor(arguments[0]) or unknown_tensor(self._values.text(arguments[0]))
        dtype = signature_name(self._values.text(arguments[2]))
        bytes_in = self._values.integer(arguments[1]).value
        start = apply(HostOperator.TRUNCATED_DIVIDE, bytes_in, HostConstant(item_bytes(dtype))) if dtype else None
        sizes, strides = self._values.array(arguments[4]), self._values.array(arguments[5])
        self._state.scope.tensors[self._target(arguments[6])] = replace(
            pool, dtype=dtype, sizes=sizes, strides=strides, offset=start
        )

    def _reinterpret(self, name: str, arguments: tuple[Node, ...]) -> None:
        if len(arguments) != 6:
            return self._outputs(arguments)
        self._state.scope.tensors[self._target(arguments[5])] = self._values.view(arguments[:5])

    def _alias(self, name: str, arguments: tuple[Node, ...]) -> None:
        if len(arguments) != 2:
            return self._outputs(arguments)
        tensor = self._values.tensor(arguments[0]) or unknown_tensor(self._values.text(arguments[0]))
        self._state.scope.tensors[self._target(arguments[1])] = tensor

    def _clone(self, name: str, arguments: tuple[Node, ...]) -> None:
        if len(arguments) != 2:
            return self._outputs(arguments)
        target = self._target(arguments[1])
        tensor = self._values.tensor(arguments[0]) or unknown_tensor(target)
        self._state.scope.tensors[target] = replace(tensor, storage=self._fresh(target))

    def _view_dtype(self, name: str, arguments: tuple[Node, ...]) -> None:
        """A view under another type: its layout stays only where the elements are as large as before."""
        tensor = self._values.tensor(arguments[0]) or unknown_tensor(self._values.text(arguments[0]))
        dtype = signature_name(self._values.text(arguments[1]))
        same = dtype and tensor.dtype and item_bytes(dtype) == item_bytes(tensor.dtype)
        target = self._target(arguments[2])
        if same:
            self._state.scope.tensors[target] = replace(tensor, dtype=dtype)
        else:
            self._state.scope.tensors[target] = replace(tensor, dtype=dtype, sizes=None, strides=None, offset=None)

    def _assert_layout(self, name: str, arguments: tuple[Node, ...]) -> None:
        """`assert_size_stride(x, {sizes}, {strides}, …)` states the layout that the kernels were compiled for."""
        if len(arguments) < 3 or arguments[0].type != "identifier":
            return
        variable = self._values.text(arguments[0])
        tensor = self._state.scope.tensors.get(variable) or unknown_tensor(variable)
        sizes, strides = self._values.array(arguments[1]), self._values.array(arguments[2])
        dtype = tensor.dtype or (signature_name(self._values.text(arguments[4])) if len(arguments) > 4 else None)
        if tensor.sizes is None and sizes is not None:
            tensor = replace(tensor, sizes=sizes, strides=strides)
        self._state.scope.tensors[variable] = replace(tensor, dtype=dtype)

    def _item(self, name: str, arguments: tuple[Node, ...]) -> None:
        """An integer read from a tensor is a new symbol, named as the variable (`u0` for `u0_raw`)."""
        target = self._target(arguments[1])
        kind = C_TYPES.get(self._declared_types.get(target, ""))
        if kind is None:
            self._state.scope.names[target] = unknown(target, "not an integer")
            return
        value = self._state.define_symbol(target.removesuffix("_raw"), "data-dependent", kind)
        self._state.scope.names[target] = value
        if name.endswith("_bool"):
            for symbol in symbols_of(value.value):
                self._state.bound_symbol(symbol, 0, 1)

    def _launch(self, name: str, call: Node, nodes: tuple[Node, ...]) -> None:
        launcher, position = self._launchers[name], self._values.function.position(call)
        if launcher is None:
            self._state.damaged.append(DamagedPart(f"a launch of {name}, whose launcher is damaged", position))
            return
        if len(nodes) < len(launcher.parameters):
            self._state.damaged.append(DamagedPart(f"{name} is called with too few arguments", position))
            return
        given = dict(zip(launcher.parameters, nodes, strict=False))
        self._state.launches.append(self._built(launcher, given, position))

    def _built(self, launcher: Launcher, given: Mapping[str, Node], position: SourcePosition) -> Launch:
        values = {name: self._value(given[name], kind) for name, kind in launcher.integers.items()}
        grid = [substitute(dimension, values) for dimension in launcher.grid]
        constants = {
            name: value.value
            for name, value in values.items()
            if name in launcher.metadata.constexprs and isinstance(value, HostConstant)
        }
        match = _SOURCE_COMMENT.search(self._state.comment)
        kernel = launcher.kernel.name if launcher.kernel else launcher.function_name or launcher.name
        return Launch(
            index=self._state.launched,
            kernel=kernel,
            launcher_name=launcher.name,
            grid=(grid[0], grid[1], grid[2]),
            arguments=tuple(self._argument(launcher, argument, given, values) for argument in launcher.arguments),
            constexprs={**constants, **launcher.constexprs},
            num_warps=launcher.num_warps,
            shared_bytes=launcher.shared_bytes,
            cubin=launcher.cubin,
            source_nodes=_listed(match.group(1)) if match else (),
            original_aten=_listed(match.group(2)) if match else (),
            launcher=Dispatcher.AOTI,
            position=position,
            conditions=tuple(self._state.conditions),
            types=launcher.metadata.signature,
        )

    def _value(self, node: Node, kind: HostType) -> HostExpression:
        return converted(self._values.integer(node), kind).value

    def _argument(
        self,
        launcher: Launcher,
        argument: LauncherArgument,
        given: Mapping[str, Node],
        values: Mapping[str, HostExpression],
    ) -> KernelArgument:
        match argument:
            case PointerParameter(name, parameter):
                tensor = self._tensor_argument(given.get(parameter), name)
                if tensor.dtype is None:
                    tensor = replace(tensor, dtype=pointee(launcher.metadata, name))
                return TensorArgument(name, tensor)
            case ScalarParameter(name, value, c_type):
                value = substitute(value, values)
                if isinstance(value, HostUnknown) and value.text in given:
                    value = replace(value, text=self._values.text(given[value.text]))
                return ScalarArgument(name, value, c_type)
            case TensorItem(name, parameter, c_type):
                return ScalarArgument(name, self._item_value(given.get(parameter), name, argument), c_type)

    def _tensor_argument(self, node: Node | None, name: str) -> Tensor:
        tensor = self._values.tensor(node) if node is not None else None
        if tensor is None:
            return unknown_tensor(self._values.text(node) if node is not None else name)
        return renamed(tensor, self._values.text(node)) if node is not None and node.type == "identifier" else tensor

    def _item_value(self, node: Node | None, name: str, item: TensorItem) -> HostExpression:
        if node is None or item.c_type is None:
            return HostUnknown(name, "not an integer")
        variable = re.sub(r"\W+", "_", self._values.text(node))
        return self._state.define_symbol(f"{variable}_item", "data-dependent", item.c_type).value


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip()) if text else ()
