from __future__ import annotations

import pytest

from kernelscope.build import disassembled, measure
from kernelscope.build.cost import instruction_names, resident_warps
from tests.build.packages import fixture, kernels_of, member


@pytest.mark.torch
def test_the_layer_norm_kernel_costs_what_was_measured_by_hand() -> None:
    pytest.importorskip("triton")
    cost = measure(member(fixture("layernorm.unbounded"), ".cubin"), 90, 16, 192)
    assert (cost.registers, cost.instructions, cost.spills, cost.stack_bytes) == (32, 664, 0, 0)
    assert (cost.warps, cost.occupancy) == (64, 1.0)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["layernorm.unbounded", "resnet18.unbounded", "cumsum.unbounded", "userkernel.huge"])
def test_instructions_are_counted_without_disassembling_as_with(name: str) -> None:
    pytest.importorskip("triton")
    for kernel in kernels_of(fixture(name)):
        assert measure(kernel.cubin, 90, 4, 0).instructions == len(instruction_names(disassembled(kernel.cubin)))


@pytest.mark.parametrize(
    ("architecture", "registers", "num_warps", "shared", "warps"),
    [
        (90, 32, 4, 0, 64),
        (90, 64, 4, 0, 32),
        (90, 255, 8, 0, 8),
        (80, 32, 4, 100 << 10, 4),
        (86, 40, 16, 0, 48),
        (90, 128, 32, 0, 0),
        (12, 32, 4, 0, None),
    ],
)
def test_resident_warps(architecture: int, registers: int, num_warps: int, shared: int, warps: int | None) -> None:
    assert resident_warps(architecture, registers, num_warps, shared) == warps


def test_instructions_are_counted_with_their_predicates() -> None:
    listing = """
.text.k:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 STL.64 [R1], R2 ;
        /*0020*/             @UP1 UMOV UR4, URZ ;
.L_x_0:
        /*10030*/                  EXIT ;
"""
    assert instruction_names(listing) == ["LDC", "STL.64", "UMOV", "EXIT"]
