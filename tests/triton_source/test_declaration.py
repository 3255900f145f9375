"""Reading declarations: entries, decorators, helper functions, constants."""

from __future__ import annotations

import pytest

from kernelscope.errors import KernelscopeError
from kernelscope.triton_source import MissingConstexpr, build_index_program, read_declarations
from kernelscope.triton_source.scalar_types import FLOAT32, INT32, PointerType
from tests.triton_source.corpus import fixture_kernels

_INDUCTOR = """
import triton
import triton.language as tl
from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.hints import DeviceProperties
triton_helpers.set_driver_to_gpu()

@triton.jit
def helper(x):
    return x + 1

@triton_heuristics.pointwise(
    size_hints={'x': 16}, filename=__file__,
    triton_meta={'signature': {'p': '*fp32', 'n': 'i32', 'XBLOCK': 'constexpr'}, 'device': DeviceProperties(type='cuda', cc=90),
                 'constants': {}, 'configs': [{(0,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'kernel_name': 'kernel', 'autotune_hints': set()},
)
@triton.jit
def kernel(p, n, XBLOCK : tl.constexpr):
    tl.store(p + helper(n), 0.0)
"""


def test_an_inductor_kernel_is_the_only_entry() -> None:
    (declaration,) = read_declarations(_INDUCTOR)
    assert declaration.name == "kernel"
    assert declaration.heuristic == "pointwise"
    assert declaration.parameters == ("p", "n", "XBLOCK")
    assert declaration.constexpr_parameters == {"XBLOCK"}
    assert declaration.signature == {"p": "*fp32", "n": "i32", "XBLOCK": "constexpr"}
    assert set(declaration.functions) == {"helper", "kernel"}


def test_entries_of_a_user_file_are_the_functions_that_no_other_calls() -> None:
    text = "@triton.jit\ndef f(x):\n    return x\n@triton.autotune(configs=[], key=[])\n@triton.jit\ndef g(p):\n    f(p)\n"
    assert [declaration.name for declaration in read_declarations(text)] == ["g"]


def test_constants_may_name_parameters_by_place() -> None:
    text = _INDUCTOR.replace("'constants': {}", "'constants': {(2,): 64, 'n': 1}")
    assert read_declarations(text)[0].constants == {"XBLOCK": 64, "n": 1}


@pytest.mark.parametrize("value", ["tl.constexpr(5)", "5"])
def test_module_constants_are_compile_time_values(value: str) -> None:
    text = f"C = {value}\nD: tl.constexpr = C * 2\n@triton.jit\ndef k(p, n):\n    tl.store(p + n * D, 0.0)\n"
    program = build_index_program(read_declarations(text)[0], {"p": PointerType(FLOAT32), "n": INT32}, {})
    assert not program.unmodelled
    assert program.accesses[0].pointer.offset.right.value == 10  # type: ignore[union-attr]


def test_a_missing_compile_time_value_is_named_where_it_is_read() -> None:
    text = "@triton.jit\ndef k(p, A: tl.constexpr, B: tl.constexpr):\n    tl.store(p + B, 0.0)\n"
    (declaration,) = read_declarations(text)
    with pytest.raises(MissingConstexpr) as caught:
        build_index_program(declaration, {"p": PointerType(FLOAT32)}, {})
    assert caught.value.name == "B"
    assert build_index_program(declaration, {"p": PointerType(FLOAT32)}, {"B": 3}).accesses


def test_defaults_stand_in_for_missing_values() -> None:
    text = "@triton.jit\ndef k(p, A: tl.constexpr = 4):\n    tl.store(p + A, 0.0)\n"
    assert build_index_program(read_declarations(text)[0], {"p": PointerType(FLOAT32)}, {}).accesses


@pytest.mark.parametrize(
    "text",
    ["def f(:\n", "x = (\n" * 3, "\x00", "x = " + "(" * 4000, "x = " + "9" * 5000, "   bad indent\n x", "if 1:\n"],
)
def test_what_is_not_python_is_one_error_with_a_line(text: str) -> None:
    with pytest.raises(KernelscopeError) as caught:
        read_declarations(text)
    assert "line " in caught.value.where


def test_nothing_is_executed() -> None:
    text = "import os\nos.abort()\n@triton.jit\ndef k(p):\n    __import__('os').abort()\n    eval('1/0')\n"
    program = build_index_program(read_declarations(text)[0], {"p": PointerType(FLOAT32)}, {})
    assert program.unmodelled


def test_every_fixture_kernel_declares_its_signature() -> None:
    for kernel in fixture_kernels():
        assert set(kernel.declaration.signature) == set(kernel.declaration.parameters), kernel.where
