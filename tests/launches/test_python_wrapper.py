"""Python wrappers of torch.compile."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kernelscope.launches import read_python_wrapper
from kernelscope.launches.host_arithmetic import evaluate, first_unknown, substitute
from kernelscope.launches.host_expression import HostConstant
from kernelscope.launches.launch import Launcher, WrapperFacts
from tests.cpp_wrapper.wrappers import layout, scalars, shown, tensors

FOLDER = Path(__file__).parents[2] / "fixtures" / "python_wrappers"
WRAPPERS = sorted(path for path in FOLDER.glob("*.py"))
KERNEL = """
import triton
import triton.language as tl
@triton_heuristics.pointwise(
    triton_meta={'signature': {'in_ptr0': '*fp32', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}, 'constants': {}},
    inductor_meta={'grid_type': 'Grid1D', 'kernel_name': 'kernel_0'},
)
@triton.jit
def kernel_0(in_ptr0, xnumel, XBLOCK : tl.constexpr):
    pass
"""


def facts(name: str) -> WrapperFacts:
    return read_python_wrapper((FOLDER / f"{name}.py").read_text(), name)


def wrapper(body: str, more: str = "") -> WrapperFacts:
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    text = f"kernel_0 = async_compile.triton('kernel_0', '''{KERNEL}''', device_str='cuda')\n{more}\n"
    return read_python_wrapper(f"{text}def call(args):\n{lines}\n", "output_code.py")


@pytest.mark.parametrize("path", WRAPPERS, ids=lambda path: path.stem)
def test_real_wrappers_are_understood_whole(path: Path) -> None:
    text = path.read_text()
    found = read_python_wrapper(text, str(path))
    assert found.damaged == () and found.device == "cuda"
    assert len(found.launches) == text.count(".run(") and len(found.kernels) == text.count("async_compile.triton(")
    for launch in found.launches:
        assert launch.launcher is Launcher.TRITON and launch.source_nodes
        assert all(first_unknown(dimension) is None for dimension in launch.grid)
        passed = [name for name, kind in launch.types.items() if kind != "constexpr"]
        assert [argument.name for argument in launch.arguments] == passed
        assert all(layout(tensor) is not None for tensor in tensors(launch).values())
    for kernel in found.kernels:
        first = kernel.source.split("\n")[0]
        assert text.split("\n")[kernel.first_line - 1] == first


def test_transpose_has_its_sizes_and_a_grid_over_unknown_blocks() -> None:
    found = facts("transpose")
    assert [(s.name, s.source) for s in found.symbols] == [
        ("s10", "input0[0]"), ("s21", "input0[1]"), ("s25", "input0[2]"),
    ]  # fmt: skip
    (launch,) = found.launches
    assert scalars(launch)["ynumel"] == "(s10 * s25) : int32_t"
    assert launch.constexprs == {}
    blocks = {"XBLOCK": HostConstant(32), "YBLOCK": HostConstant(32)}
    sizes = {"s10": 65536 * 32, "s21": 128, "s25": 1}
    assert [evaluate(substitute(dimension, blocks), sizes) for dimension in launch.grid] == [4, 32768, 2]


def test_a_data_dependent_size_is_bounded_by_the_wrapper_s_check() -> None:
    symbol = {s.name: s for s in facts("nonzero").symbols}["u0"]
    assert (symbol.source, symbol.minimum, symbol.maximum) == ("data-dependent", 0, None)


def test_a_constant_numel_of_one_is_a_constexpr() -> None:
    launch = facts("sumall").launches[1]
    assert launch.constexprs == {"xnumel": 1}
    assert scalars(launch) == {"r0_numel": "320 : int32_t"}


def test_a_reused_buffer_keeps_its_storage() -> None:
    first, second = facts("mlp").launches
    assert tensors(first)["in_out_ptr0"].storage == "buf0"
    assert tensors(second)["in_out_ptr0"].storage == "buf2"


def test_sizes_may_be_inputs_themselves() -> None:
    found = wrapper(
        "arg0_1, arg1_1 = args\nargs.clear()\ns77 = arg0_1\nassert_size_stride(arg1_1, (s77, 8), (8, 1))\n"
        "buf0 = empty_strided_cuda((s77, 8), (8, 1), torch.float32)\n"
        "kernel_0_xnumel = 8*s77\nkernel_0.run(arg1_1, kernel_0_xnumel, stream=stream0)"
    )
    assert [(s.name, s.source) for s in found.symbols] == [("s77", "input0")]
    assert scalars(found.launches[0]) == {"xnumel": "(8 * s77) : int32_t"}


def test_views_add_their_offsets() -> None:
    found = wrapper(
        "buf0 = empty_strided_cuda((16, 8), (8, 1), torch.float32)\n"
        "buf1 = reinterpret_tensor(buf0, (64, ), (1, ), 8)\n"
        "kernel_0.run(reinterpret_tensor(buf1, (8, ), (1, ), 3), 8, stream=stream0)"
    )
    tensor = tensors(found.launches[0])["in_ptr0"]
    assert (tensor.storage, shown(tensor.offset), layout(tensor)) == ("buf0", "11", (["8"], ["1"]))


def test_partitions_are_followed() -> None:
    partition = "def partition_0(args):\n    a, n = args\n    kernel_0.run(a, n, stream=stream0)\n    return (a, )\n"
    found = wrapper(
        "arg0_1, = args\ns0 = arg0_1.size()[0]\nassert_size_stride(arg0_1, (s0, ), (1, ))\n"
        "partition0_args = [arg0_1, 4*s0]\n(buf0, ) = self.partitions[0](partition0_args)",
        partition,
    )
    assert found.damaged == ()
    assert scalars(found.launches[0]) == {"xnumel": "(4 * s0) : int32_t"}


def test_conditions_and_loops_are_kept() -> None:
    found = wrapper(
        "arg0_1, = args\ns0 = arg0_1.size()[0]\nif s0 > 4:\n    kernel_0.run(arg0_1, s0, stream=stream0)\n"
        "else:\n    kernel_0.run(arg0_1, 4, stream=stream0)\nn = 1\n"
        "while True:\n    kernel_0.run(arg0_1, n, stream=stream0)\n    n = n + 1"
    )
    assert [[shown(c) for c in launch.conditions] for launch in found.launches] == [
        ["(4 < s0)"], ["(s0 <= 4)"], ["?inside a loop?"],
    ]  # fmt: skip
    assert scalars(found.launches[2])["xnumel"].startswith("?")


def test_a_launch_with_arguments_that_do_not_fit_is_damage() -> None:
    found = wrapper("kernel_0.run(args, 1, 2, 3, 4, stream=stream0)")
    assert found.launches == () and len(found.damaged) == 1


def test_a_launch_in_code_that_is_not_followed_is_reported() -> None:
    found = wrapper("f = lambda: kernel_0.run(args, 1, stream=stream0)")
    assert found.launches == () and len(found.damaged) == 1


@pytest.mark.parametrize("name", ["sumall", "mlp", "nonzero"])
def test_damaged_wrappers_never_crash(name: str) -> None:
    text = (FOLDER / f"{name}.py").read_text()
    generator = random.Random(name)
    for _ in range(100):
        start = generator.randrange(len(text))
        read_python_wrapper(text[:start], name)
        found = read_python_wrapper(text[:start] + text[start + generator.randrange(1, 300) :], name)
        assert isinstance(found, WrapperFacts)
    assert read_python_wrapper("def call(:\n", name).damaged
    assert read_python_wrapper("\0", name).damaged
    assert read_python_wrapper("x = " + "(" * 5000, name).damaged
