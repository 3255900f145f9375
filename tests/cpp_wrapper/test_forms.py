"""Forms of `run_impl` that the packages lack: conditions, loops, scalars read from tensors, memory planning."""

from __future__ import annotations

import pytest

from kernelscope.cpp_wrapper import read_wrapper
from kernelscope.launches.host_arithmetic import evaluate
from kernelscope.launches.launch import Launch, WrapperFacts
from tests.cpp_wrapper.wrappers import facts, layout, scalars, shown, tensors

_LAUNCHER = """
static __attribute__((noinline)) void call_kernel_0(
    const in_ptr0_type_& in_ptr0,
    int64_t xnumel,
    int32_t device_idx_,
    cudaStream_t stream_,
    kernels_type_& kernels_,
    const std::optional<std::string>& cubin_dir_ = std::nullopt
){
    /*
    async_compile.triton('kernel_0', '''
    import triton
    import triton.language as tl
    @triton_heuristics.pointwise(
        triton_meta={'signature': {'in_ptr0': '*fp32', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}, 'constants': {}},
        inductor_meta={'grid_type': 'Grid1D', 'kernel_name': 'kernel_0'},
    )
    @triton.jit
    def kernel_0(in_ptr0, xnumel, XBLOCK : tl.constexpr):
        pass  # a brace { and a quote " in a comment
    ''', device_str='cuda')
    */
    uint32_t grid_0 = ((xnumel + (128 - 1)) / (128));
    uint32_t grid_1 = 1;
    uint32_t grid_2 = 1;
    if (grid_0 == 0 || grid_1 == 0 || grid_2 == 0) return;
    if (kernels_.kernel_0 == nullptr) {
        kernels_.kernel_0 = loadKernel("/inductor/abc.cubin", "kernel_0", 0, cubin_dir_, &kernels_.loaded_modules_);
    }
    CUdeviceptr var_0 = reinterpret_cast<CUdeviceptr>(in_ptr0.data_ptr());
    int32_t var_1 = xnumel;
    CUdeviceptr global_scratch_scratch_2 = 0;
    void* kernel_args_[] = {&var_0, &var_1, &global_scratch_scratch_2};
    launchKernel(kernels_.kernel_0, grid_0, grid_1, grid_2, 4, 0, kernel_args_, stream_);
}
"""
_TAIL = ", this->device_idx_, stream, kernels, this->cubin_dir_);"


def wrapper(body: str) -> WrapperFacts:
    """A wrapper whose `run_impl` has this body; `LAUNCH(x, n)` stands for a launch."""
    lines = "\n".join(f"    {line}" for line in body.replace("LAUNCH(", "call_kernel_0(").split("\n"))
    head = "void AOTInductorModel::run_impl(\n    AtenTensorHandle* input_handles\n) {\n"
    start = "    auto inputs = steal_from_raw_handles_to_raii_handles(input_handles, 1);\n"
    start += "    auto arg0_1 = std::move(inputs[0]);\n    auto arg0_1_size = arg0_1.sizes();\n"
    start += "    int64_t s0 = arg0_1_size[0];\n"
    return read_wrapper(f"{_LAUNCHER}\n{head}{start}{lines}\n}} // AOTInductorModel::run_impl\n", "w.cpp")


def launch(body: str) -> Launch:
    found = wrapper(body)
    assert found.damaged == ()
    (only,) = found.launches
    return only


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("7L*s0", 70), ("s0 - 3L", 7), ("s0 / 4L", 2), ("(-7L) / 2L", -3), ("s0 % 4L", 2), ("(-7L) % 4L", -3),
        ("c10::div_floor_integer(static_cast<int64_t>((-7L)), static_cast<int64_t>(2L))", -4),
        ("c10::div_mod((-7L), 4L)", 1), ("std::max(static_cast<int64_t>(3L), static_cast<int64_t>(s0))", 10),
        ("std::min<int64_t>({s0, 4L, 6L})", 4), ("s0 > 4L ? 1L : 2L", 1), ("(1LL << 20)", 1 << 20), ("-s0", -10),
        ("static_cast<int64_t>(s0) % static_cast<int64_t>(3L)", 1), ("static_cast<int32_t>(4294967297LL)", 1),
    ],
)  # fmt: skip
def test_expressions_are_evaluated_as_c_does(expression: str, value: int) -> None:
    found = launch(f"LAUNCH(arg0_1, {expression}{_TAIL}")
    assert evaluate(found.arguments[1].value, {"s0": 10}) == value  # type: ignore[union-attr]


@pytest.mark.parametrize("expression", ["std::pow(s0, 2)", "s0 * 1.5", "undefined_name", "s0 ^ 3L", "f(s0)"])
def test_what_is_not_modelled_is_an_explicit_unknown(expression: str) -> None:
    found = launch(f"LAUNCH(arg0_1, {expression}{_TAIL}")
    assert scalars(found)["xnumel"].startswith("?")
    assert shown(found.grid[0]).startswith("?") or shown(found.grid[0]).startswith("uint32_t<")


def test_a_variable_means_what_it_was_last_given() -> None:
    found = wrapper(f"int64_t n = 2L*s0;\nLAUNCH(arg0_1, n{_TAIL}\nn = 3L*s0;\nLAUNCH(arg0_1, n{_TAIL}")
    assert [scalars(one)["xnumel"] for one in found.launches] == ["(2 * s0) : int32_t", "(3 * s0) : int32_t"]


def test_a_launch_under_a_condition_keeps_it() -> None:
    found = wrapper(f"if (s0 > 4L) {{\n    LAUNCH(arg0_1, s0{_TAIL}\n}} else {{\n    LAUNCH(arg0_1, 7L{_TAIL}\n}}")
    assert [[shown(c) for c in one.conditions] for one in found.launches] == [["(4 < s0)"], ["(s0 <= 4)"]]


def test_a_variable_set_in_both_branches_is_selected_by_the_condition() -> None:
    body = f"int64_t n = 0;\nif (s0 > 4L) {{\n    n = s0;\n}} else {{\n    n = 4L;\n}}\nLAUNCH(arg0_1, n{_TAIL}"
    assert scalars(launch(body))["xnumel"] == "((4 < s0) ? s0 : 4) : int32_t"


def test_a_variable_of_a_block_ends_with_it() -> None:
    body = f"int64_t n = 5L;\n{{\n    int64_t n = 6L;\n    LAUNCH(arg0_1, n{_TAIL}\n}}\nLAUNCH(arg0_1, n{_TAIL}"
    assert [scalars(one)["xnumel"] for one in wrapper(body).launches] == ["6 : int32_t", "5 : int32_t"]


def test_a_loop_s_variables_are_unknown_and_its_launches_kept() -> None:
    body = f"int64_t n = 1L;\nwhile (1) {{\n    LAUNCH(arg0_1, n{_TAIL}\n    n = n + s0;\n}}\nLAUNCH(arg0_1, n{_TAIL}"
    inside, after = wrapper(body).launches
    assert scalars(inside)["xnumel"].startswith("?") and scalars(after)["xnumel"].startswith("?")
    assert [shown(c) for c in inside.conditions] == ["?inside a loop?"]
    assert after.conditions == ()


def test_a_failed_check_bounds_a_symbol() -> None:
    body = 'auto u0 = arg9.size(0);\nif (!(u0 >= 0L)) { throw std::runtime_error("Expected u0 >= 0"); }\n'
    found = wrapper(body + f"LAUNCH(arg0_1, u0{_TAIL}")
    symbol = next(symbol for symbol in found.symbols if symbol.name == "u0")
    assert (symbol.source, symbol.minimum, symbol.maximum) == ("data-dependent", 0, None)
    assert found.launches[0].conditions == ()


def test_a_relation_between_symbols_becomes_a_condition() -> None:
    body = 'int64_t s1 = arg0_1_size[1];\nif (!(s1 == s0)) { throw std::runtime_error("no"); }\n'
    assert [shown(c) for c in launch(body + f"LAUNCH(arg0_1, s0{_TAIL}").conditions] == ["(s1 == s0)"]


def test_an_alias_of_a_symbol_is_the_symbol() -> None:
    assert scalars(launch(f"int64_t s86 = s0;\nLAUNCH(arg0_1, s86{_TAIL}"))["xnumel"] == "s0 : int32_t"


def test_what_an_unknown_call_writes_is_unknown() -> None:
    body = f"int64_t n = 3L;\nAOTI_TORCH_ERROR_CODE_CHECK(mystery(&n));\nLAUNCH(arg0_1, n{_TAIL}"
    assert scalars(launch(body))["xnumel"].startswith("?")


def test_a_pool_s_tensors_share_its_storage_at_their_offset() -> None:
    body = """const int64_t int_array_0[] = {4L*s0, };
static constexpr int64_t int_array_1[] = {1L, };
AtenTensorHandle pool1_handle;
aoti_torch_empty_strided(1, int_array_0, int_array_1, cached_torch_dtype_uint8, cuda, 0, &pool1_handle);
RAIIAtenTensorHandle pool1(pool1_handle);
const int64_t int_array_2[] = {s0, };
AtenTensorHandle tmp_0;
aoti_torch__alloc_from_pool(pool1, 64L, cached_torch_dtype_float32, 1, int_array_2, int_array_1, &tmp_0);
auto buf0 = RAIIAtenTensorHandle(tmp_0);
"""
    tensor = tensors(launch(body + f"LAUNCH(buf0, s0{_TAIL}"))["in_ptr0"]
    assert (tensor.storage, tensor.dtype, shown(tensor.offset)) == ("pool1", "fp32", "16")
    assert layout(tensor) == (["s0"], ["1"])


def test_a_launch_that_is_not_reached_is_reported() -> None:
    found = wrapper(f"auto later = [&]() {{ LAUNCH(arg0_1, s0{_TAIL} }};")
    assert found.launches == ()
    assert [part.what for part in found.damaged] == ["the launch of call_kernel_0 was not understood"]


def test_unbalanced_code_damages_the_function_it_is_in() -> None:
    found = wrapper(f"if (s0 > 4L {{\nLAUNCH(arg0_1, s0{_TAIL}")
    assert found.launches == () and len(found.kernels) == 1
    assert any("run_impl" in part.what for part in found.damaged)


def test_cond_records_the_selector_as_a_symbol() -> None:
    found = facts("cpp_wrappers/cond")
    assert {symbol.name: symbol.source for symbol in found.symbols}["buf1_scalar"] == "data-dependent"
    assert [[shown(c) for c in one.conditions] for one in found.launches] == [
        [], ["(buf1_scalar == 0)"], ["(buf1_scalar != 0)"],
    ]  # fmt: skip


def test_cond_on_a_size_keeps_the_size() -> None:
    conditions = [[shown(c) for c in one.conditions] for one in facts("cpp_wrappers/condsz").launches]
    assert conditions == [["(s10 <= 100)"], ["(100 < s10)"]]


def test_an_item_is_a_bounded_symbol() -> None:
    symbol = {symbol.name: symbol for symbol in facts("cpp_wrappers/item").symbols}["u0"]
    assert (symbol.source, symbol.minimum, symbol.maximum) == ("data-dependent", 2, 1000)


def test_a_size_that_is_a_multiple_is_named_by_its_factor() -> None:
    found = facts("cpp_wrappers/mod")
    (symbol,) = found.symbols
    assert (symbol.source, symbol.minimum, symbol.maximum) == ("input0[0] / 4", 2, 4096)
    assert layout(tensors(found.launches[0])["in_ptr0"]) == (["(4 * s83)", "128"], ["128", "1"])


def test_an_autotuned_kernel_has_the_config_whose_grid_the_launcher_has() -> None:
    launch_of_user = next(one for one in facts("cpp_wrappers/autotuned").launches if one.kernel == "add_scaled")
    assert launch_of_user.constexprs["BLOCK"] in (256, 512)
    assert str(launch_of_user.constexprs["BLOCK"]) in shown(launch_of_user.grid[0])


def test_a_launch_inside_a_profiling_scope_is_found() -> None:
    (only,) = facts("cpp_wrappers/profile").launches
    assert scalars(only) == {"xnumel": "(128 * s10) : int32_t"}
    assert only.num_warps is not None


def test_a_size_is_never_negative() -> None:
    found = wrapper(f"LAUNCH(arg0_1, s0{_TAIL}")
    assert [(symbol.name, symbol.minimum) for symbol in found.symbols] == [("s0", 0)]


def test_cpu_wrappers_have_no_launches_and_say_how_wide_their_loops_are() -> None:
    kernel = 'extern "C"  void  cpp_fused_relu_0(const float* in_ptr0,\n    const int64_t ks0)\n{\n'
    kernel += "    for(int64_t x0=static_cast<int64_t>(0L); x0<ks0; x0+=1) {\n    }\n}\n"
    run = "void AOTInductorModel::run_impl(\n    AtenTensorHandle* input_handles\n) {\n}\n"
    found = read_wrapper(kernel + run, "w")
    assert (found.device, found.launches, found.damaged) == ("cpu", (), ())
    assert found.notes == ("1 C++ kernel loops with 64-bit counters on the CPU",)
