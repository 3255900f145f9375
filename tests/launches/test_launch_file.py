"""Launch files: the contract, its defaults, and the errors it gives."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernelscope.errors import KernelscopeError
from kernelscope.launches import read_launch_file
from kernelscope.launches.host_arithmetic import evaluate, symbols_of
from kernelscope.launches.host_expression import HostType
from kernelscope.launches.launch import BoundOrigin, Launcher, ScalarArgument, TensorArgument, WrapperFacts
from kernelscope.launches.launch_file import tomllib
from tests.cpp_wrapper.wrappers import layout, scalars, shown, tensors

CASES = Path(__file__).parents[1] / "cases"
KERNEL = """import triton
import triton.language as tl

@triton.jit
def helper(x):
    return x

@triton.jit
def kernel(in_ptr0, index_ptr, xnumel, ks0, XBLOCK: tl.constexpr, DTYPE: tl.constexpr = "tl.int32"):
    tl.store(in_ptr0 + helper(xnumel), 0)
"""
LAUNCH = """
grid = ["cdiv(xnumel, XBLOCK)", "1", "1"]
[symbols]
s0 = [1, 16777216]
ks0 = [1]
[arguments]
xnumel = "1024*s0"
[types]
xnumel = "i32"
ks0 = "i64"
[constexpr]
XBLOCK = 1024
[tensors]
in_ptr0 = {dtype = "fp32", shape = ["s0", "1024"], strides = ["1024", "1"]}
index_ptr = {dtype = "i64", shape = ["s0"], values = [0, "ks0 - 1"]}
"""


def read(text: str, source: str = KERNEL) -> WrapperFacts:
    return read_launch_file(text, "launch.toml", source, "kernel.py")


def test_the_contract_is_read() -> None:
    found = read(LAUNCH)
    (launch,) = found.launches
    assert (launch.kernel, launch.launcher) == ("kernel", Launcher.TRITON)
    assert [(s.name, s.minimum, s.maximum, s.origin) for s in found.symbols] == [
        ("s0", 1, 16777216, BoundOrigin.LAUNCH_FILE),
        ("ks0", 1, None, BoundOrigin.LAUNCH_FILE),
    ]
    assert scalars(launch) == {"xnumel": "(1024 * s0) : int32_t", "ks0": "ks0 : int64_t"}
    assert launch.constexprs == {"XBLOCK": 1024, "DTYPE": "tl.int32"}
    assert launch.types == {"in_ptr0": "*fp32", "index_ptr": "*i64", "xnumel": "i32", "ks0": "i64"}
    assert evaluate(launch.grid[0], {"s0": 3}) == 3
    index = tensors(launch)["index_ptr"]
    assert layout(index) == (["s0"], ["1"])
    assert index.values is not None and [shown(value) for value in index.values] == ["0", "(ks0 - 1)"]
    assert found.kernels[0].source == KERNEL


@pytest.mark.parametrize("given", ["int32", "i33", "", "__import__('os')"])
def test_a_type_that_triton_does_not_have_is_refused(given: str) -> None:
    with pytest.raises(KernelscopeError, match="is no type"):
        read(LAUNCH.replace('xnumel = "i32"', f'xnumel = "{given}"'))


@pytest.mark.parametrize("table", ["symbols", "arguments", "types", "constexpr", "tensors"])
def test_the_grid_may_stand_below_any_heading(table: str) -> None:
    line = 'grid = ["cdiv(xnumel, XBLOCK)", "1", "1"]\n'
    moved = LAUNCH.replace(line, "").replace(f"[{table}]\n", f"[{table}]\n{line}")
    assert read(moved).launches[0].grid == read(LAUNCH).launches[0].grid


@pytest.mark.parametrize(("grid", "values"), [("[7]", [7, 1, 1]), ('["s0", 2]', [5, 2, 1]), ('"s0 // 2"', [2, 1, 1])])
def test_a_grid_may_be_short_and_hold_numbers(grid: str, values: list[int]) -> None:
    text = re.sub(r"grid = .*", f"grid = {grid}", LAUNCH)
    assert [evaluate(dimension, {"s0": 5}) for dimension in read(text).launches[0].grid] == values


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("s0 / 2", 3), ("s0 // 2", 3), ("s0 % 4", 3), ("cdiv(s0, 2)", 4), ("min(s0, 3)", 3), ("max(s0, 3, 9)", 9),
        ("-s0 + 10", 3), ("(s0 + 1) * (s0 - 1)", 48), ("s0**2", 49), ("s0 if s0 > 3 else 0", 7), ("XBLOCK * 2", 2048),
    ],
)  # fmt: skip
def test_expressions_are_python_s(expression: str, value: int) -> None:
    (launch,) = read(LAUNCH.replace('"1024*s0"', f'"{expression}"')).launches
    argument = next(argument for argument in launch.arguments if argument.name == "xnumel")
    assert isinstance(argument, ScalarArgument) and evaluate(argument.value, {"s0": 7}) == value


def test_nothing_in_an_expression_is_executed() -> None:
    (launch,) = read(LAUNCH.replace('"1024*s0"', "\"__import__('os').getcwd()\"")).launches
    assert scalars(launch)["xnumel"].startswith("?")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('"1024*s0"', '"1024*q"', "q is not defined"),
        ('"1024*s0"', '"1024*"', "is no expression"),
        ('"1024*s0"', '"xnumel + 1"', "it is defined by itself"),
        ('xnumel = "1024*s0"', "", "no value for a kernel parameter"),
        ("XBLOCK = 1024", "", "XBLOCK"),
        ("[symbols]", "[symbol]", "did you mean symbols?"),
        ("s0 = [1, 16777216]", "s0 = [5, 1]", "empty range"),
        ("s0 = [1, 16777216]", 's0 = ["a", 1]', "is not a range"),
        ("s0 = [1, 16777216]", "s0 = [1, 2", "not valid TOML"),
        ('shape = ["s0", "1024"]', 'shape = ["s0"]', "1 sizes but 2 strides"),
        ('shape = ["s0", "1024"]', 'shap = ["s0"]', "did you mean shape?"),
        ("grid = [", 'launcher = "cuda"\ngrid = [', "is no launcher"),
        ("grid = [", 'kernel = "other"\ngrid = [', "no kernel named other"),
        ('grid = ["cdiv(xnumel, XBLOCK)", "1", "1"]', "", "the grid is missing"),
    ],
)  # fmt: skip
def test_errors_name_the_file_and_say_what_to_do(before: str, after: str, message: str) -> None:
    assert before in LAUNCH
    with pytest.raises(KernelscopeError) as error:
        read(LAUNCH.replace(before, after))
    line = error.value.one_line()
    assert message in line and ("launch.toml" in line or "kernel.py" in line)
    assert error.value.try_this


def test_a_type_that_is_not_given_follows_from_the_value() -> None:
    untyped = re.sub(r"\[types\]\n.*\n.*\n", "", LAUNCH)
    narrow = untyped.replace("ks0 = [1]", "ks0 = [1, 100]")
    assert read(narrow).launches[0].types["ks0"] == "i32"
    wide = untyped.replace("ks0 = [1]", f"ks0 = [{2**31}, {2**32}]")
    assert read(wide).launches[0].types["ks0"] == "i64"
    assert "ks0" not in read(untyped).launches[0].types


def test_inductor_kernels_default_to_the_cpp_launcher() -> None:
    source = (CASES / "24_x_grid_overflow_small_block.py").read_text()
    found = read_launch_file((CASES / "24_x_grid_overflow_small_block.toml").read_text(), "l", source, "k")
    (launch,) = found.launches
    assert launch.launcher is Launcher.AOTI
    assert evaluate(launch.grid[0], {"xnumel": 2**33 - 1}) == 0  # 2**32 blocks as uint32_t


@pytest.mark.parametrize("path", sorted(CASES.glob("[0-9]*.py")), ids=lambda path: path.stem)
def test_every_case_has_a_launch_file_that_says_what_its_header_says(path: Path) -> None:
    source = path.read_text()
    header = dict(re.findall(r"^# (\w+): (.*)$", source, re.MULTILINE))
    found = read_launch_file(path.with_suffix(".toml").read_text(), str(path), source, str(path))
    (launch,) = found.launches
    types = dict(pair.split("=") for pair in header["args"].split(", "))
    assert {name: launch.types.get(name, "constexpr") for name in types} == types
    given = dict(pair.split("=") for pair in header["constexpr"].split(", "))
    assert {name: str(value) for name, value in launch.constexprs.items()} == given
    symbol = tomllib.loads((CASES / "expected.toml").read_text())[path.stem].get("largest_safe", {})
    assert set(symbol) <= {s.name for s in found.symbols}
    known = {s.name for s in found.symbols}
    for argument in launch.arguments:
        if isinstance(argument, ScalarArgument):
            assert argument.c_type in (HostType.INT32, HostType.INT64)
            assert symbols_of(argument.value) <= known
        elif isinstance(argument, TensorArgument):
            assert argument.tensor.dtype == types[argument.name].lstrip("*")


def test_the_expected_table_is_the_headers() -> None:
    from tests.cases.expected_table import entry

    table = "\n\n".join(entry(path.read_text()) for path in sorted(CASES.glob("[0-9]*.py"))) + "\n"
    assert (CASES / "expected.toml").read_text() == table
    assert len(tomllib.loads(table)) == 24
