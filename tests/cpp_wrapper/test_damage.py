"""Damaged wrappers: never a crash, never a launch that silently goes missing."""

from __future__ import annotations

import random
import re
import time

import pytest

from kernelscope.cpp_wrapper import read_wrapper
from kernelscope.cpp_wrapper.expressions import MAX_SIZE
from kernelscope.launches.host_arithmetic import parts
from kernelscope.launches.launch import ScalarArgument
from tests.cpp_wrapper.wrappers import facts, wrapper_text

NAMES = [
    "layernorm.unbounded", "transpose.huge", "torch28/userkernel.unbounded", "cpp_wrappers/cond",
    "cpp_wrappers/memplan",
]  # fmt: skip
NO_WRAPPERS = ["", "\n", "}", "void AOTInductorModel::run_impl(", "static void call_x(", "\0" * 100, "é" * 100]


@pytest.mark.parametrize("name", NAMES)
def test_truncation_anywhere_is_reported(name: str) -> None:
    text, whole = wrapper_text(name), facts(name)
    generator = random.Random(name)
    start = min(text.find("call_"), text.find("AOTInductorModelKernels"))
    end = text.rfind("this->cubin_dir_);")
    for _ in range(200):
        cut = generator.randrange(start, end)
        found = read_wrapper(text[:cut], name)
        assert found.damaged or found.launches == whole.launches


@pytest.mark.parametrize("name", NAMES)
def test_deleted_chunks_never_crash(name: str) -> None:
    text = wrapper_text(name)
    generator = random.Random(name)
    for _ in range(200):
        start = generator.randrange(len(text))
        read_wrapper(text[:start] + text[start + generator.randrange(1, 400) :], name)


@pytest.mark.parametrize("name", NAMES)
def test_changed_characters_never_crash(name: str) -> None:
    text = wrapper_text(name)
    generator = random.Random(name)
    alphabet = "(){}[];,&*\"'/\\\n0aL<>=é\0"
    for _ in range(200):
        changed = list(text)
        for _ in range(5):
            changed[generator.randrange(len(text))] = generator.choice(alphabet)
        read_wrapper("".join(changed), name)


@pytest.mark.parametrize("text", NO_WRAPPERS)
def test_text_that_is_no_wrapper_gives_damage_and_nothing_else(text: str) -> None:
    found = read_wrapper(text, "w.cpp")
    assert found.launches == () and found.kernels == ()
    assert found.damaged


def test_deep_nesting_is_an_unknown_not_a_crash() -> None:
    text = wrapper_text("layernorm.unbounded")
    parentheses = "(" * 5000 + "s10" + ")" * 5000
    found = read_wrapper(text.replace("arg2_1, s10, 4096L,", f"arg2_1, {parentheses}, 4096L,"), "w")
    assert found.damaged or len(found.launches) == 1
    sums = "(s10 + " * 3000 + "s10" + ")" * 3000
    found = read_wrapper(text.replace("arg2_1, s10, 4096L,", f"arg2_1, {sums}, 4096L,"), "w")
    assert found.damaged or len(found.launches) == 1


def test_an_expression_that_doubles_at_each_step_stays_small() -> None:
    body = "    int64_t n0 = s10;\n" + "".join(f"    int64_t n{i + 1} = n{i}*n{i};\n" for i in range(60))
    text = wrapper_text("layernorm.unbounded").replace("    inputs.clear();\n", body + "    inputs.clear();\n")
    found = read_wrapper(text.replace("arg2_1, s10, 4096L,", "arg2_1, n60, 4096L,"), "w")
    (launch,) = found.launches
    for argument in launch.arguments:
        if isinstance(argument, ScalarArgument):
            assert sum(1 for _ in parts(argument.value)) <= 2 * MAX_SIZE


def test_a_million_lines_are_read_in_bounded_time() -> None:
    text = wrapper_text("layernorm.unbounded")
    filler = "// nothing to see here\n" * 1_000_000
    before = time.perf_counter()
    found = read_wrapper(text.replace('} // extern "C"', f'}} // extern "C"\n{filler}'), "w")
    assert found.damaged == () and len(found.launches) == 1
    assert time.perf_counter() - before < 5


def test_a_launch_of_a_damaged_launcher_is_reported() -> None:
    text = wrapper_text("layernorm.unbounded").replace("uint32_t grid_1 = 1;", "uint32_t grid_1 = = 1;")
    found = read_wrapper(text, "w")
    assert found.launches == ()
    assert [part.what.partition(" ")[0] for part in found.damaged] == [
        "call_triton_red_fused_gelu_native_layer_norm_0",
        "a",
    ]


ABSURD = ["9" * 5000, "²", "٣", "-" + "9" * 5000, "0x" + "f" * 5000, "1" + "'0" * 3000]


@pytest.mark.parametrize("number", ABSURD, ids=lambda number: repr(number[:3]))
@pytest.mark.parametrize("name", NAMES)
def test_numbers_of_no_machine_never_crash(name: str, number: str) -> None:
    text = wrapper_text(name)
    generator = random.Random(name)
    places = [found.span() for found in re.finditer(r"\b\d+(?=L?\b)", text)]
    for start, end in generator.sample(places, 25):
        read_wrapper(text[:start] + number + text[end:], name)
