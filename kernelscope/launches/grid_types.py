"""Inductor's grid types: the launch grid as a function of numels and block sizes.

For wrappers that do not spell the grid out. A block size that is not known is a HostSymbol of its name (`XBLOCK`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from kernelscope.launches.host_arithmetic import apply
from kernelscope.launches.host_expression import (
    HostConstant,
    HostExpression,
    HostOperator,
    HostSelect,
    HostType,
    HostUnknown,
)
from kernelscope.launches.kernel_metadata import KernelMetadata
from kernelscope.launches.python_expression import PythonExpressions, UndefinedName, ceiling

Grid = tuple[HostExpression, HostExpression, HostExpression]
Block = Callable[[str], HostExpression]

MAX_Y_GRID = 65535
_ONE = HostConstant(1)
_KIND = HostType.PYTHON


def grid_of(metadata: KernelMetadata, arguments: Mapping[str, HostExpression], block: Block) -> Grid:
    """The grid of a launch with these integer arguments; `block` gives a block size by its parameter name."""

    def numel(name: str) -> HostExpression:
        return arguments.get(name) or HostUnknown(name, "the launch does not pass it")

    def blocks(axis: str, numel_name: str) -> HostExpression:
        return ceiling(numel(numel_name), block(axis), _KIND)

    match metadata.grid_type:
        case "Grid1D":
            return blocks("XBLOCK", "xnumel"), _ONE, _ONE
        case "Grid2D":
            return blocks("XBLOCK", "xnumel"), blocks("YBLOCK", "ynumel"), _ONE
        case "Grid3D":
            return blocks("XBLOCK", "xnumel"), blocks("YBLOCK", "ynumel"), blocks("ZBLOCK", "znumel")
        case "BatchMatmulGrid3D":
            return blocks("ZBLOCK", "znumel"), blocks("YBLOCK", "ynumel"), blocks("XBLOCK", "xnumel")
        case "Grid2DWithYZOverflow":
            return blocks("XBLOCK", "xnumel"), *_split_y(blocks("YBLOCK", "ynumel"))
        case "MixOrderReductionGrid":
            return blocks("RSPLIT_SIZE", "xnumel"), _ONE, _ONE
        case "CooperativeReductionGrid":
            return block("RSPLIT"), blocks("XBLOCK", "xnumel"), _ONE
        case "SplitScanGrid":
            return blocks("R0_BLOCK", "r0_numel"), numel("xnumel"), _ONE
        case "FixedGrid":
            return _fixed(metadata.fixed_grid, arguments)
        case "PrecomputedGrid":
            return _precomputed(metadata, arguments)
        case "SequentialComboKernelGrid" | "RoundRobinComboKernelGrid" | "SequentialFlattenComboKernelGrid":
            return _combo(metadata, numel, block)
    unknown = HostUnknown(metadata.grid_type or "grid", "the grid type is not modelled")
    return unknown, unknown, unknown


def _split_y(raw: HostExpression) -> tuple[HostExpression, HostExpression]:
    """The y blocks spread over y and z when y alone cannot hold them."""
    divisor = ceiling(raw, HostConstant(MAX_Y_GRID), _KIND)
    if isinstance(divisor, HostConstant):
        return (HostConstant(0) if divisor.value == 0 else ceiling(raw, divisor, _KIND)), divisor
    is_zero = apply(HostOperator.EQUAL, divisor, HostConstant(0), _KIND)
    return HostSelect(is_zero, HostConstant(0), ceiling(raw, divisor, _KIND)), divisor


def _fixed(names: Sequence[str], arguments: Mapping[str, HostExpression]) -> Grid:
    parts = [_expression(text, arguments) for text in (*names, "1", "1", "1")[:3]]
    return parts[0], parts[1], parts[2]


def _precomputed(metadata: KernelMetadata, arguments: Mapping[str, HostExpression]) -> Grid:
    """Known only where every candidate config has one grid: the config is not in the wrapper."""
    grids = {tuple(map(str, parts)) for entry in metadata.precomputed_grids
             if isinstance(parts := entry.get("python"), (list, tuple))}  # fmt: skip
    if len(grids) == 1:
        return _fixed(next(iter(grids)), arguments)
    unknown = HostUnknown("PrecomputedGrid", "the grid depends on the config that tuning chose")
    return unknown, unknown, unknown


def _expression(text: str, arguments: Mapping[str, HostExpression]) -> HostExpression:
    reader = PythonExpressions(arguments.get, _KIND, true_division_floors=False)
    try:
        return reader.parse(text)
    except (SyntaxError, UndefinedName):
        return HostUnknown(text, "the grid expression is not understood")


def _combo(metadata: KernelMetadata, numel: Callable[[str], HostExpression], block: Block) -> Grid:
    combo = metadata.combo_grid_meta
    count = combo.get("num_kernels")
    if not isinstance(count, int) or not 0 < count < 1000:
        unknown = HostUnknown("combo kernel", "its parts are not listed")
        return unknown, unknown, unknown
    default = combo.get("default_config")
    defaults = default if isinstance(default, dict) else {}

    def size(name: str) -> HostExpression:
        value = defaults.get(name)
        return HostConstant(value) if isinstance(value, int) else block(name)

    def extent(name: str) -> HostExpression:
        value = combo.get(name)
        return HostConstant(value) if isinstance(value, int) else numel(name)

    flat = metadata.grid_type == "SequentialFlattenComboKernelGrid"
    columns: list[HostExpression] = []
    rows: list[HostExpression] = []
    for part in range(count):
        x_block = _ONE if combo.get(f"no_x_dim_{part}") else size(f"XBLOCK_{part}" if flat else "XBLOCK")
        x_blocks = ceiling(extent(f"xnumel_{part}"), x_block, _KIND)
        if f"ynumel_{part}" in combo:
            y = extent(f"ynumel_{part}")
            if flat:
                y_blocks = ceiling(y, size(f"YBLOCK_{part}"), _KIND)
                x_blocks = apply(HostOperator.MULTIPLY, x_blocks, y_blocks, _KIND)
            else:
                rows.append(y)
        columns.append(x_blocks)
    x_grid = _combo_x(metadata, columns, count)
    minimum = combo.get("min_blocks")
    if isinstance(minimum, int) and minimum > 0:
        x_grid = apply(HostOperator.MAXIMUM, x_grid, HostConstant(minimum), _KIND)
    if not rows:
        return x_grid, _ONE, _ONE
    return x_grid, *_split_y(ceiling(_folded(HostOperator.MAXIMUM, rows), size("YBLOCK"), _KIND))


def _combo_x(metadata: KernelMetadata, columns: Sequence[HostExpression], count: int) -> HostExpression:
    if metadata.grid_type == "RoundRobinComboKernelGrid":
        return apply(HostOperator.MULTIPLY, _folded(HostOperator.MAXIMUM, columns), HostConstant(count), _KIND)
    return _folded(HostOperator.ADD, columns)


def _folded(operator: HostOperator, parts: Sequence[HostExpression]) -> HostExpression:
    return reduce(lambda left, right: apply(operator, left, right, _KIND), parts)
