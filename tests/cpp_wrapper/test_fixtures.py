"""What is read from every fixture's wrapper, and values checked by hand."""

from __future__ import annotations

import pytest

from kernelscope.launches.host_arithmetic import evaluate, first_unknown, symbols_of
from kernelscope.launches.host_expression import HostType
from kernelscope.launches.launch import BoundOrigin, ScalarArgument
from tests.cpp_wrapper.wrappers import EXPECTED, facts, layout, scalars, shown, tensors, wrapper_text

BARE = [
    f"cpp_wrappers/{name}"
    for name in ("autotuned", "cond", "condsz", "coop", "debugmode", "embed", "foreach", "item", "item0d", "memplan",
                 "mod", "profile", "sdpa", "unfold", "viewdtype")
]  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_every_kernel_and_launch_of_a_package_is_found(name: str) -> None:
    found = facts(name)
    assert (len(found.kernels), len(found.launches)) == (EXPECTED[name]["kernels"], EXPECTED[name]["launches"])
    assert [launch.index for launch in found.launches] == list(range(len(found.launches)))
    assert found.device == "cuda"


@pytest.mark.parametrize("name", [*EXPECTED, *BARE])
def test_nothing_is_damaged_and_every_integer_is_understood(name: str) -> None:
    found = facts(name)
    assert found.damaged == ()
    known = {symbol.name for symbol in found.symbols}
    for launch in found.launches:
        integers = [a.value for a in launch.arguments if isinstance(a, ScalarArgument) and a.c_type is not None]
        for expression in (*integers, *launch.grid, *launch.conditions):
            assert first_unknown(expression) is None
            assert symbols_of(expression) <= known


@pytest.mark.parametrize("name", [*EXPECTED, *BARE])
def test_arguments_are_the_kernel_s_parameters_in_order(name: str) -> None:
    for launch in facts(name).launches:
        passed = [parameter for parameter, kind in launch.types.items() if kind != "constexpr"]
        assert [argument.name for argument in launch.arguments] == passed


@pytest.mark.parametrize("name", [*EXPECTED, *BARE])
def test_every_symbol_has_a_source(name: str) -> None:
    for symbol in facts(name).symbols:
        assert symbol.source.startswith("input") or symbol.source == "data-dependent"


@pytest.mark.parametrize("name", [*EXPECTED, *BARE])
def test_kernel_lines_map_to_wrapper_lines(name: str) -> None:
    lines = wrapper_text(name).split("\n")
    for kernel in facts(name).kernels:
        for number, line in enumerate(kernel.source.rstrip("\n").split("\n")):
            assert lines[kernel.first_line - 1 + number].rstrip() == (" " * kernel.indent + line).rstrip()
        assert f"def {kernel.name}(" in kernel.source
        compile(kernel.source, kernel.name, "exec")


@pytest.mark.parametrize("name", EXPECTED)
def test_block_sizes_that_the_grid_shows_are_known(name: str) -> None:
    """Only the block of a looped reduction is nowhere in a wrapper."""
    for launch in facts(name).launches:
        missing = {p for p, kind in launch.types.items() if kind == "constexpr" and p not in launch.constexprs}
        assert missing <= {"R0_BLOCK"}


def test_layernorm_trusts_no_bound_that_inductor_made_up() -> None:
    found = facts("layernorm.unbounded")
    (symbol,) = found.symbols
    assert (symbol.name, symbol.source, symbol.minimum, symbol.maximum) == ("s10", "input0[0]", 2, None)
    assert symbol.assumed_by_inductor == 2**31 - 1
    (launch,) = found.launches
    assert [shown(dimension) for dimension in launch.grid] == ["uint32_t<s10>", "1", "1"]
    assert launch.constexprs == {"XBLOCK": 1}
    assert scalars(launch) == {"xnumel": "s10 : int32_t", "r0_numel": "4096 : int32_t"}
    assert layout(tensors(launch)["in_out_ptr0"]) == (["s10", "4096"], ["4096", "1"])
    assert (launch.num_warps, launch.shared_bytes) == (16, 192)
    assert launch.cubin == "caxyj3o2nckiafwoqnkuqiagtm5joeocahkyjzvdv6tbqrdvemdk.cubin"
    assert launch.source_nodes == ("layer_norm", "gelu")
    assert launch.original_aten == ("aten.native_layer_norm", "aten.gelu")
    line = wrapper_text("layernorm.unbounded").split("\n")[launch.position.line - 1]
    assert line.strip().startswith("call_triton_red")


@pytest.mark.parametrize(("name", "maximum"), [("huge", 2**33), ("small", 1024)])
def test_layernorm_keeps_the_declared_range(name: str, maximum: int) -> None:
    (symbol,) = facts(f"layernorm.{name}").symbols
    assert (symbol.minimum, symbol.maximum, symbol.origin) == (2, maximum, BoundOrigin.DECLARED)
    assert symbol.assumed_by_inductor is None


def test_int64_kernels_get_int64_arguments() -> None:
    (launch,) = facts("layernorm.huge").launches
    assert scalars(launch) == {"xnumel": "s10 : int64_t", "r0_numel": "4096 : int64_t"}


def test_transpose_splits_its_y_grid_as_the_wrapper_does() -> None:
    (launch,) = facts("transpose.unbounded").launches
    assert launch.constexprs == {"XBLOCK": 32, "YBLOCK": 32}

    def grid(**sizes: int) -> list[int | None]:
        return [evaluate(dimension, sizes) for dimension in launch.grid]

    assert grid(s10=8, s21=128, s25=64) == [4, 16, 1]
    assert grid(s10=65535 * 32, s21=128, s25=1) == [4, 65535, 1]
    assert grid(s10=65536 * 32, s21=128, s25=1) == [4, 32768, 2]
    assert grid(s10=2**37, s21=128, s25=2) == [4, 0, 0]  # 2**33 blocks are 0 as uint32_t


def test_transpose_of_torch_28_divides_by_zero_blocks() -> None:
    (launch,) = facts("torch28/transpose.huge").launches
    assert evaluate(launch.grid[1], {"s10": 2**37, "s21": 128, "s25": 2}) is None
    assert evaluate(launch.grid[1], {"s10": 8, "s21": 128, "s25": 64}) == 16


def test_cumsum_has_its_workspace_and_the_block_of_its_split() -> None:
    (launch,) = facts("cumsum.unbounded").launches
    assert launch.constexprs == {"R0_BLOCK": 256}
    assert [shown(dimension) for dimension in launch.grid] == ["uint32_t<((s10 + 255) / 256)>", "128", "1"]
    workspace = tensors(launch)["ws_ptr"]
    assert (workspace.dtype, layout(workspace)) == ("u8", (["(1024 * ((255 + s10) // 256))"], ["1"]))


def test_user_kernels_of_torch_28_and_214_say_the_same() -> None:
    """torch 2.8 passes the constexpr and an alias handle, torch 2.14 neither."""
    (old,), (new,) = facts("torch28/userkernel.unbounded").launches, facts("userkernel.unbounded").launches
    assert (new.kernel, new.launcher_name) == (old.kernel, old.launcher_name) == ("scale_rows", "scale_rows_0")
    assert new.constexprs == old.constexprs == {"BLOCK": 1024}
    assert scalars(new) == scalars(old) == {"stride": "512 : int32_t", "ncols": "512 : int32_t"}
    assert new.grid == old.grid
    assert layout(tensors(new)["o_ptr"]) == layout(tensors(old)["o_ptr"]) == (["s10", "512"], ["512", "1"])


def test_torch_28_carries_python_ints_in_32_bits() -> None:
    (launch,) = facts("torch28/lnbig").launches
    assert launch.types["r0_numel"] == "i64"
    assert {a.name: a.c_type for a in launch.arguments if isinstance(a, ScalarArgument)} == {
        "xnumel": HostType.INT64,
        "r0_numel": HostType.INT32,
    }


def test_torch_28_narrows_the_input_check_by_itself() -> None:
    (symbol,) = facts("torch28/layernorm.unbounded").symbols
    assert (symbol.maximum, symbol.assumed_by_inductor) == (None, 524287)


def test_an_extern_operator_s_output_has_the_asserted_layout() -> None:
    assert layout(tensors(facts("ext").launches[1])["in_ptr0"]) == (["s77", "128"], ["128", "1"])
    assert layout(tensors(facts("torch28/ext").launches[1])["in_ptr0"]) is None


def test_resnet_launches_come_in_program_order() -> None:
    found = facts("resnet18.unbounded")
    numbers = [int(launch.kernel.rpartition("_")[2]) for launch in found.launches]
    assert numbers == [0, 1, 2, 3, 2, 3, 4, 5, 4, 6, 7, 8, 7, 9, 10, 11, 10, 12]
    lines = [launch.position.line for launch in found.launches]
    assert lines == sorted(lines)
    assert scalars(found.launches[0])["xnumel"] == "(802816 * s31) : int32_t"


def test_vit_reassigns_a_numel_between_launches() -> None:
    found = facts("vit.unbounded")
    assert wrapper_text("vit.unbounded").count("\n    triton_poi_fused_addmm_gelu_view_4_xnumel = ") > 3
    gelus = [launch for launch in found.launches if launch.kernel == "triton_poi_fused_addmm_gelu_view_4"]
    assert len(gelus) == 12
    assert {scalars(launch)["xnumel"] for launch in gelus} == {"(151296 * s31) : int32_t"}


def test_vit_views_share_the_storage_they_are_made_of() -> None:
    found = facts("vit.unbounded")
    views = [t for launch in found.launches for t in tensors(launch).values() if t.name != t.storage]
    assert len(views) > 20


def test_cat_sizes_are_sums_of_two_inputs() -> None:
    (launch,) = facts("cat.small").launches
    assert layout(tensors(launch)["out_ptr0"]) == (["s10", "(s12 + s21)"], ["(s12 + s21)", "1"])
    assert scalars(launch)["xnumel"] == "((s10 * s12) + (s10 * s21)) : int32_t"
