"""Launch files: the facts about a kernel's launch that a wrapper would give, in TOML."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping
from importlib import import_module

from kernelscope.errors import KernelscopeError
from kernelscope.launches.host_arithmetic import contiguous_strides
from kernelscope.launches.host_expression import HostCast, HostConstant, HostExpression, HostSymbol, HostType
from kernelscope.launches.kernel_declaration import KernelDeclaration, kernel_declarations
from kernelscope.launches.launch import (
    BoundOrigin,
    ConstexprValue,
    EmbeddedKernel,
    KernelArgument,
    Launch,
    Launcher,
    ScalarArgument,
    SourcePosition,
    Symbol,
    Tensor,
    TensorArgument,
    WrapperFacts,
)
from kernelscope.launches.python_expression import PythonExpressions, UndefinedName
from kernelscope.triton_source.scalar_types import from_signature

tomllib = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

_TABLES = ("symbols", "arguments", "types", "constexpr", "tensors")
_KEYS = (*_TABLES, "grid", "launcher", "kernel", "num_warps", "num_stages")
_TENSOR_KEYS = ("dtype", "shape", "strides", "values", "offset", "storage")
_C_TYPES = {"i32": HostType.INT32, "i64": HostType.INT64, "u32": HostType.UINT32, "u64": HostType.UINT64}
_MAX_EXPRESSION = 10_000


def read_launch_file(text: str, path: str, source: str, source_path: str) -> WrapperFacts:
    """The single launch that a launch file describes, of the kernel in `source`."""
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise KernelscopeError(f"not valid TOML: {error}", where=path, try_this="correct the launch file") from error
    return _LaunchFile(table, path, _kernel(source, source_path, table.get("kernel")), source, source_path).read()


def _is_signature_type(text: str) -> bool:
    return from_signature(text) is not None or text == "constexpr" or text.startswith(("tensordesc<", "nvTmaDesc"))


def _kernel(source: str, path: str, wanted: object) -> KernelDeclaration:
    try:
        kernels = kernel_declarations(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise KernelscopeError("not a Python source", where=path, try_this="give a kernel's .py file") from error
    if isinstance(wanted, str):
        kernels = tuple(kernel for kernel in kernels if kernel.name == wanted)
    if len(kernels) == 1:
        return kernels[0]
    names = ", ".join(kernel.name for kernel in kernels)
    what = f"several kernels ({names})" if kernels else "no kernel marked @triton.jit"
    what = f"no kernel named {wanted}" if wanted is not None and not kernels else what
    raise KernelscopeError(what, where=path, try_this='name one in the launch file: kernel = "…"')


class _LaunchFile:
    def __init__(
        self, table: Mapping[str, object], path: str, kernel: KernelDeclaration, source: str, source_path: str
    ) -> None:
        self._path = path
        self._kernel = kernel
        self._source = source
        self._source_path = source_path
        self._table = table
        self._check_keys(table, _KEYS, "")
        self._tables: dict[str, dict[str, object]] = {name: self._subtable(name) for name in _TABLES}
        self._grid = self._lifted("grid")
        self._launcher = self._launcher_of(self._lifted("launcher"))
        self._kind = HostType.INT64 if self._launcher is Launcher.AOTI else HostType.PYTHON
        self._values: dict[str, HostExpression] = {}
        self._pending: list[str] = []

    def read(self) -> WrapperFacts:
        symbols = tuple(self._symbol(name, value) for name, value in self._tables["symbols"].items())
        kernel = self._kernel
        constexprs = self._constexprs()
        arguments = tuple(self._argument(name) for name in kernel.parameters if name not in constexprs)
        launch = Launch(
            index=0,
            kernel=kernel.name,
            launcher_name=kernel.name,
            grid=self._dimensions(),
            arguments=arguments,
            constexprs=constexprs,
            num_warps=self._number("num_warps"),
            shared_bytes=None,
            cubin=None,
            source_nodes=(),
            original_aten=(),
            launcher=self._launcher,
            position=SourcePosition(self._path, 1),
            types={name: kind for name in kernel.parameters if (kind := self._type(name)) is not None},
        )
        embedded = EmbeddedKernel(kernel.name, kernel.name, self._source, self._source_path, 1, 0)
        return WrapperFacts(self._path, symbols, (launch,), (embedded,), (), "cuda")

    # the file's shape

    def _fail(self, key: str, what: str, try_this: str) -> KernelscopeError:
        return KernelscopeError(what, where=f"{self._path}: {key}" if key else self._path, try_this=try_this)

    def _check_keys(self, table: Mapping[str, object], known: tuple[str, ...], where: str) -> None:
        for key in table:
            if key not in known:
                close = difflib.get_close_matches(key, known, 1)
                hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
                raise self._fail(f"{where}{key}", "an unknown key", hint)

    def _subtable(self, name: str) -> dict[str, object]:
        table = self._table.get(name, {})
        if not isinstance(table, dict):
            raise self._fail(name, "not a table", f"write [{name}] with one line an entry")
        return dict(table)

    def _lifted(self, key: str) -> object:
        """A top-level key that may stand below a table's heading, as TOML's order of things invites."""
        if key in self._table:
            return self._table[key]
        for name, table in self._tables.items():
            if key in table and not (name != "tensors" and key in self._kernel.parameters):
                return table.pop(key)
        return None

    def _launcher_of(self, value: object) -> Launcher:
        match value:
            case None:
                return Launcher.AOTI if self._kernel.is_inductor else Launcher.TRITON
            case "aoti":
                return Launcher.AOTI
            case "triton":
                return Launcher.TRITON
        raise self._fail("launcher", f"{value!r} is no launcher", 'use "aoti" or "triton"')

    def _number(self, key: str) -> int | None:
        value = self._table.get(key)
        if value is None or isinstance(value, int) and value > 0:
            return value
        raise self._fail(key, f"{value!r} is not a positive number", "give an integer")

    # symbols, constexprs, types

    def _symbol(self, name: str, value: object) -> Symbol:
        parts: list[object] = value if isinstance(value, list) else [value, value]
        infinite = [part in ("inf", float("inf"), "") for part in parts]
        numbers = [part if isinstance(part, int) and not isinstance(part, bool) else None for part in parts]
        if not 1 <= len(parts) <= 3 or [number is None for number in numbers] != infinite:
            raise self._fail(f"symbols.{name}", f"{value!r} is not a range", f"write {name} = [lowest, highest]")
        low, high, spacing = ([*numbers, None, None])[:3]
        step = 1 if spacing is None else spacing
        if step < 1 or (low is not None and high is not None and low > high):
            raise self._fail(f"symbols.{name}", f"{value!r} is an empty range", "put the lowest value first")
        return Symbol(name, "launch file", low, high, origin=BoundOrigin.LAUNCH_FILE, step=step)

    def _constexprs(self) -> dict[str, ConstexprValue]:
        given = self._tables["constexpr"]
        constexprs: dict[str, ConstexprValue] = {}
        for name, value in given.items():
            if not isinstance(value, (int, float, str)):
                raise self._fail(f"constexpr.{name}", f"{value!r} is no constant", "give a number or a string")
            constexprs[name] = value
        metadata = self._kernel.metadata
        for name in self._kernel.parameters:
            if name not in constexprs and name in metadata.constants:
                value = metadata.constants[name]
                if value is None or isinstance(value, (int, float, str)):
                    constexprs[name] = value
            if name not in constexprs and name in self._kernel.constexprs:
                if name not in self._kernel.defaults:
                    raise self._fail(f"constexpr.{name}", "no value for a constexpr", f"add {name} to [constexpr]")
                constexprs[name] = self._kernel.defaults[name]
        return constexprs

    def _type(self, name: str) -> str | None:
        """The signature type: from [types], the kernel's own signature, or the tensor's dtype."""
        given = self._tables["types"].get(name)
        if given is not None and not (isinstance(given, str) and _is_signature_type(given)):
            raise self._fail(f"types.{name}", f"{given!r} is no type", 'write a signature type such as "i32"')
        tensor = self._tables["tensors"].get(name)
        dtype = tensor.get("dtype") if isinstance(tensor, dict) else None
        known = given or self._kernel.metadata.signature.get(name) or (f"*{dtype}" if isinstance(dtype, str) else None)
        return known or self._specialised(name)

    def _specialised(self, name: str) -> str | None:
        """The type that triton.jit gives an integer argument by its value, where every value gives the same."""
        value = self._tables["arguments"].get(name, name)
        bounds: object = self._tables["symbols"].get(value, value) if isinstance(value, str) else value
        low, high = (bounds[0], bounds[1]) if isinstance(bounds, list) and len(bounds) > 1 else (bounds, bounds)
        if not isinstance(low, int) or not isinstance(high, int):
            return None
        narrow = [-(2**31) <= bound < 2**31 for bound in (low, high)]
        return "i32" if all(narrow) else "i64" if low >= 2**31 else None

    # expressions

    def _expression(self, key: str, value: object) -> HostExpression:
        if isinstance(value, int):
            return HostConstant(int(value))
        if not isinstance(value, str) or len(value) > _MAX_EXPRESSION:
            raise self._fail(key, f"{str(value)[:60]!r} is no expression", "give an integer or an expression in quotes")
        reader = PythonExpressions(self._resolve, self._kind, true_division_floors=True)
        try:
            return reader.parse(value)
        except SyntaxError as error:
            hint = "use Python's syntax: + - * // % cdiv min max"
            raise self._fail(key, f"{value!r} is no expression", hint) from error
        except UndefinedName as error:
            hint = f"add {error.name} to [symbols] or [arguments]"
            raise self._fail(key, f"{error.name} is not defined", hint) from error

    def _resolve(self, name: str) -> HostExpression | None:
        """A name's value: an argument's expression, a symbol or a constexpr."""
        if name in self._values:
            return self._values[name]
        arguments, constexprs = self._tables["arguments"], self._tables["constexpr"]
        is_itself = arguments.get(name) == name and name in self._tables["symbols"]
        if name in arguments and not is_itself:
            if name in self._pending:
                raise self._fail(f"arguments.{name}", "it is defined by itself", "break the cycle")
            self._pending.append(name)
            self._values[name] = self._expression(f"arguments.{name}", arguments[name])
            self._pending.pop()
            return self._values[name]
        if name in self._tables["symbols"]:
            return HostSymbol(name)
        value = constexprs.get(name, self._kernel.defaults.get(name))
        return HostConstant(int(value)) if isinstance(value, int) else None

    def _dimensions(self) -> tuple[HostExpression, HostExpression, HostExpression]:
        if self._grid is None:
            raise self._fail("grid", "the grid is missing", 'add grid = ["…", "1", "1"]')
        parts = self._grid if isinstance(self._grid, list) else [self._grid]
        if not 1 <= len(parts) <= 3:
            raise self._fail("grid", f"{len(parts)} dimensions", "give one to three")
        values = [self._expression("grid", part) for part in [*parts, 1, 1][:3]]
        if self._launcher is Launcher.AOTI:
            values = [v if isinstance(v, HostConstant) else HostCast(v, HostType.UINT32) for v in values]
        return values[0], values[1], values[2]

    # arguments

    def _argument(self, name: str) -> KernelArgument:
        kind = self._type(name)
        if name in self._tables["tensors"] or (kind is not None and kind.startswith("*")):
            return TensorArgument(name, self._tensor(name, kind))
        try:
            value = self._resolve(name)
        except RecursionError as error:
            raise self._fail(f"arguments.{name}", "the definitions are nested too deeply", "shorten them") from error
        if value is None:
            hint = f"add {name} to [arguments] or [tensors]"
            raise self._fail(f"arguments.{name}", "no value for a kernel parameter", hint)
        return ScalarArgument(name, value, _C_TYPES.get(kind or ""))

    def _tensor(self, name: str, kind: str | None) -> Tensor:
        table = self._tables["tensors"].get(name, {})
        key = f"tensors.{name}"
        if not isinstance(table, dict):
            raise self._fail(key, "not a table", f'write {name} = {{dtype = "fp32", shape = ["s0"], strides = ["1"]}}')
        self._check_keys(table, _TENSOR_KEYS, f"{key}.")
        dtype = kind.lstrip("*") if kind else None
        sizes, strides = self._list(key, table.get("shape")), self._list(key, table.get("strides"))
        if sizes is not None and strides is None:
            strides = contiguous_strides(sizes, self._kind)
        if sizes is not None and strides is not None and len(sizes) != len(strides):
            raise self._fail(key, f"{len(sizes)} sizes but {len(strides)} strides", "give one stride for each size")
        values = self._list(key, table.get("values"))
        if values is not None and len(values) != 2:
            raise self._fail(f"{key}.values", "not a range", "write values = [lowest, highest]")
        offset = self._expression(f"{key}.offset", table.get("offset", 0))
        storage = table.get("storage", name)
        bounds = (values[0], values[1]) if values else None
        return Tensor(name, str(storage), dtype, sizes, strides, offset, bounds)

    def _list(self, key: str, value: object) -> tuple[HostExpression, ...] | None:
        if value is None:
            return None
        if not isinstance(value, list):
            raise self._fail(key, f"{value!r} is not a list", "write a list of expressions")
        return tuple(self._expression(key, part) for part in value)

