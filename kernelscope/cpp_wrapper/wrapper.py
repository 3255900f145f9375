"""Reads one C++ wrapper: symbols, launches in order, kernels, and what could not be read."""

from __future__ import annotations

import re
from dataclasses import replace
from math import prod

from kernelscope.cpp_wrapper.cpu_kernels import loop_width_notes
from kernelscope.cpp_wrapper.embedded_kernel import embedded_kernel
from kernelscope.cpp_wrapper.function_slices import WrapperSlices, slice_wrapper, without_inputs
from kernelscope.cpp_wrapper.host_program import run
from kernelscope.cpp_wrapper.host_state import NO_BOUND, HostState
from kernelscope.cpp_wrapper.input_checks import InputCheck, checked_dtype, has_ranges, read_input_check
from kernelscope.cpp_wrapper.launcher import Launcher, read_launcher
from kernelscope.cpp_wrapper.launcher_syntax import LauncherParser
from kernelscope.cpp_wrapper.model_constants import read_constants
from kernelscope.cpp_wrapper.syntax import parse_function
from kernelscope.launches.host_expression import (
    HostBinary,
    HostConstant,
    HostExpression,
    HostOperator,
    HostSymbol,
    HostUnknown,
)
from kernelscope.launches.launch import (
    BoundOrigin,
    DamagedPart,
    EmbeddedKernel,
    ScalarArgument,
    SourcePosition,
    Symbol,
    Tensor,
    WrapperFacts,
)

INT32_MAXIMUM = 2**31 - 1
_CALL = re.compile(r"\b(call_\w+)\(")


def read_wrapper(text: str, file: str, only: frozenset[str] | None = None) -> WrapperFacts:
    """Everything that a wrapper tells about its launches; damaged parts are listed, never guessed at. `only`: launchers
    (without `call_`) to read; of the others neither launches, kernels nor damage are told (None: all)."""
    return _WrapperReader(slice_wrapper(text, file), only).read()


class _WrapperReader:
    def __init__(self, slices: WrapperSlices, only: frozenset[str] | None) -> None:
        self._slices = slices
        names = frozenset(function.name for function in slices.launchers)
        wanted = names if only is None or self._bounds_need_launches() else frozenset(f"call_{name}" for name in only)
        self._read = [function for function in slices.launchers if function.name in wanted]
        self._checks: dict[int, InputCheck | None] = {}
        self._damaged: list[DamagedPart] = []
        self._constants = read_constants(slices.constructors)
        self._state = HostState(slices.file, self._input_layout, self._input_dtype, left_out=names - wanted)

    def read(self) -> WrapperFacts:
        launchers = self._launchers()
        for run_slice in self._slices.runs:
            if run_slice.name == "_const_run_impl" and "call_" not in run_slice.text:
                continue
            rest, inputs = without_inputs(run_slice)
            parsed = parse_function(rest)
            if parsed is None:
                self._damage(f"{run_slice.name} holds C++ that cannot be parsed", run_slice.position())
                continue
            self._state.conditions.clear()
            run(parsed, inputs, self._state, launchers, self._constants.get)
        self._missing_launches(launchers)
        kernels = self._kernels(launchers)
        device = "cuda" if self._slices.launchers else "cpu" if self._slices.cpu_kernels else None
        notes = loop_width_notes(self._slices.cpu_kernels)
        symbols = tuple(self._bounded(symbol) for symbol in self._state.symbols.values())
        damaged = (*self._damaged, *self._state.damaged)
        return WrapperFacts(self._slices.file, symbols, tuple(self._state.launches), kernels, damaged, device, notes)

    def _damage(self, what: str, position: SourcePosition) -> None:
        self._damaged.append(DamagedPart(what, position))

    def _launchers(self) -> dict[str, Launcher | None]:
        launchers: dict[str, Launcher | None] = {}
        parser = LauncherParser()
        for function in self._read:
            launcher = read_launcher(function, parser)
            if launcher is None:
                self._damage(f"{function.name} holds C++ or Triton source that cannot be read", function.position())
            launchers[function.name] = launcher
        runs = [function for function in self._slices.runs if function.name != "_const_run_impl"]
        if not runs and not self._slices.cpu_kernels:
            self._damage("run_impl is missing", SourcePosition(self._slices.file, 1))
        return launchers

    def _kernels(self, launchers: dict[str, Launcher | None]) -> tuple[EmbeddedKernel, ...]:
        found: list[EmbeddedKernel | None] = []
        for function in self._read:
            launcher = launchers[function.name]
            found.append(launcher.kernel if launcher is not None else embedded_kernel(function))
        return tuple(kernel for kernel in found if kernel is not None)

    def _missing_launches(self, launchers: dict[str, Launcher | None]) -> None:
        """Every call of a launcher in the text must have become a launch or a damaged part, and each have one."""
        seen: dict[str, int] = {}
        for launch in self._state.launches:
            name = f"call_{launch.launcher_name}"
            seen[name] = seen.get(name, 0) + 1
        for function in self._slices.runs:
            for match in _CALL.finditer(function.text):
                name = match.group(1)
                line_start = function.text.rfind("\n", 0, match.start()) + 1
                in_comment = "//" in function.text[line_start : match.start()]
                if in_comment or name in self._state.left_out or (name in launchers and launchers[name] is None):
                    continue
                seen[name] = seen.get(name, 0) - 1
                if seen[name] < 0:
                    line = function.text.count("\n", 0, match.start())
                    self._damage(f"the launch of {name} was not understood", function.position(line))
        if not self._damaged and not self._state.damaged:
            for launcher in self._read:
                if launcher.name not in seen:
                    self._damage(f"{launcher.name} is never called", launcher.position())

    def _check(self, index: int) -> InputCheck | None:
        if index not in self._checks:
            function = self._slices.input_check_by_index.get(index)
            check = read_input_check(function) if function is not None else None
            if function is not None and check is None:
                self._damage(f"{function.name} holds C++ that cannot be parsed", function.position())
            self._checks[index] = check
        return self._checks[index]

    def _bounded(self, symbol: Symbol) -> Symbol:
        """`symbol` with the range that `check_input_N` declares for its dimension."""
        minimum, maximum = self._declared(symbol.name)
        if minimum is None and maximum is None:
            return symbol
        assumed = maximum if maximum is not None and self._is_assumed(symbol.name, maximum) else None
        return replace(
            symbol,
            minimum=minimum if symbol.minimum is None else max(symbol.minimum, minimum or symbol.minimum),
            maximum=symbol.maximum if assumed is not None or maximum is None else maximum,
            assumed_by_inductor=assumed,
            origin=BoundOrigin.DECLARED,
        )

    def _declared(self, name: str) -> tuple[int | None, int | None]:
        """The bounds that the check of the symbol's own dimension states, in terms of the symbol."""
        for (index, axis), (known, factor) in self._state.dimensions.items():
            function = self._slices.input_check_by_index.get(index)
            if known != name or function is None or not has_ranges(function):
                continue
            check = self._check(index)
            low, high = (check.minimum.get(axis), check.maximum.get(axis)) if check else (None, None)
            high = None if high is not None and high >= NO_BOUND else high
            return (None if low is None else -(-low // factor)), (None if high is None else high // factor)
        return None, None

    def _is_assumed(self, name: str, maximum: int) -> bool:
        """Whether Inductor made the bound up: 2**31 - 1, or (torch 2.8) the largest size whose numel fits int32."""
        if maximum == INT32_MAXIMUM:
            return True
        if not self._bounds_need_launches():
            return False
        return any(factor > 0 and maximum == INT32_MAXIMUM // factor for factor in _factors(self._state, name))

    def _bounds_need_launches(self) -> bool:
        """Whether it takes all launches to tell Inductor's bounds from the user's (torch 2.8)."""
        return not ("&kernels_.loaded_modules_" in self._slices.text or "global_scratch_scratch_" in self._slices.text)

    def _input_dtype(self, index: int) -> str | None:
        function = self._slices.input_check_by_index.get(index)
        return checked_dtype(function) if function is not None else None

    def _input_layout(self, index: int) -> Tensor | None:
        """The layout of an input from its check: static sizes, and the symbols that `run_impl` reads off it."""
        function = self._slices.input_check_by_index.get(index)
        if function is None:
            return None
        check = self._check(index)
        if check is None:
            return None
        named = {axis: multiple for (i, axis), multiple in self._state.dimensions.items() if i == index}
        rank = 1 + max((*check.sizes, *check.minimum, *check.maximum, *named, *check.strides), default=-1)
        sizes = tuple(_size(axis, check, named) for axis in range(rank))
        strides = tuple(_stride(axis, check) for axis in range(rank))
        return Tensor("", "", check.dtype, sizes, strides)


def _size(axis: int, check: InputCheck, named: dict[int, tuple[str, int]]) -> HostExpression:
    if axis in check.sizes:
        return HostConstant(check.sizes[axis])
    if axis in named:
        name, factor = named[axis]
        symbol = HostSymbol(name)
        return symbol if factor == 1 else HostBinary(HostOperator.MULTIPLY, HostConstant(factor), symbol)
    return HostUnknown(f"size {axis}", "the wrapper does not say")


def _stride(axis: int, check: InputCheck) -> HostExpression:
    if axis in check.strides:
        return HostConstant(check.strides[axis])
    return HostUnknown(f"stride {axis}", "the wrapper does not say")


def _factors(state: HostState, name: str) -> set[int]:
    """Constants `k` such that a launch has a tensor of `k * symbol` elements, or such an argument."""
    factors: set[int] = set()
    for launch in state.launches:
        for argument in launch.arguments:
            if isinstance(argument, ScalarArgument):
                sizes: tuple[HostExpression, ...] = _product(argument.value)
            else:
                sizes = argument.tensor.sizes or ()
            constants = [size.value for size in sizes if isinstance(size, HostConstant)]
            others = [size for size in sizes if not isinstance(size, HostConstant)]
            if others == [HostSymbol(name)]:
                factors.add(prod(constants))
    return factors


def _product(value: HostExpression) -> tuple[HostExpression, ...]:
    if isinstance(value, HostBinary) and value.operator is HostOperator.MULTIPLY:
        return (*_product(value.left), *_product(value.right))
    return (value,)


__all__ = ["read_wrapper"]
