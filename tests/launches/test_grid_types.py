"""Inductor's grid types, against what Inductor itself computes."""

from __future__ import annotations

import pytest

from kernelscope.launches.grid_types import grid_of
from kernelscope.launches.host_arithmetic import evaluate
from kernelscope.launches.host_expression import HostConstant, HostSymbol
from kernelscope.launches.kernel_metadata import KernelMetadata

COMBO = {
    "num_kernels": 3, "min_blocks": 0, "default_config": None, "no_x_dim_0": False, "xnumel_0": None,
    "no_x_dim_1": True, "xnumel_1": 50, "no_x_dim_2": False, "xnumel_2": 7000,
}  # fmt: skip
Y = {"ynumel_0": None, "ynumel_1": 300, "ynumel_2": 9}
NUMELS = {"xnumel": 100000, "ynumel": 9_000_000, "znumel": 77, "r0_numel": 5000, "xnumel_0": 999, "ynumel_0": 12345}
BLOCKS = {"XBLOCK": 64, "YBLOCK": 16, "ZBLOCK": 2, "R0_BLOCK": 256, "RSPLIT": 32, "RSPLIT_SIZE": 128,
          "XBLOCK_0": 8, "XBLOCK_1": 16, "XBLOCK_2": 32, "YBLOCK_0": 2, "YBLOCK_1": 4, "YBLOCK_2": 8}  # fmt: skip


@pytest.mark.parametrize(
    ("grid_type", "combo"),
    [
        ("Grid1D", {}), ("Grid2D", {}), ("Grid3D", {}), ("BatchMatmulGrid3D", {}), ("Grid2DWithYZOverflow", {}),
        ("MixOrderReductionGrid", {}), ("CooperativeReductionGrid", {}), ("SplitScanGrid", {}),
        ("SequentialComboKernelGrid", COMBO), ("SequentialComboKernelGrid", COMBO | Y),
        ("RoundRobinComboKernelGrid", COMBO), ("SequentialFlattenComboKernelGrid", COMBO | Y),
        ("SequentialComboKernelGrid", COMBO | {"min_blocks": 400}),
    ],
)  # fmt: skip
def test_grids_are_inductor_s(grid_type: str, combo: dict[str, object]) -> None:
    heuristics = pytest.importorskip("torch._inductor.runtime.triton_heuristics")
    blocks = dict(BLOCKS)
    if grid_type == "SplitScanGrid":
        blocks.pop("XBLOCK")
    meta = {"grid_type": grid_type, "combo_grid_meta": combo}
    expected = heuristics.GridExpr.from_meta(meta, blocks, mode="python").eval_slow({**NUMELS, **blocks})
    grid = grid_of(
        KernelMetadata(grid_type=grid_type, combo_grid_meta=combo),
        {name: HostSymbol(name) for name in NUMELS},
        lambda name: HostConstant(blocks[name]),
    )
    assert tuple(evaluate(dimension, NUMELS) for dimension in grid) == tuple(expected)


def test_an_unknown_grid_type_is_unknown() -> None:
    grid = grid_of(KernelMetadata(grid_type="SpiralGrid"), {}, HostSymbol)
    assert [evaluate(dimension, {}) for dimension in grid] == [None, None, None]
