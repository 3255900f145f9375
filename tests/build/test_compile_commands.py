from __future__ import annotations

import pytest

from kernelscope.build.compile_commands import NotRecorded, RecordedCommand, UnknownFlag, compile_command, link_command
from tests.build.packages import fixture, member


def test_the_recorded_commands_of_a_package_are_read_without_its_machine_s_folders() -> None:
    wrapper = member(fixture("layernorm.unbounded"), ".wrapper.cpp").decode()
    command, link = compile_command(wrapper), link_command(wrapper)
    assert isinstance(command, RecordedCommand) and isinstance(link, RecordedCommand)
    assert {"-DUSE_CUDA", "-std=c++20", "-mavx2", "-fPIC"} <= set(command.flags)
    assert not any(flag.startswith(("-I", "-L", "-march", "-include")) for flag in (*command.flags, *link.flags))
    assert link.libraries == ("torch", "torch_cpu", "gomp", "cuda", "torch_cuda")
    assert [name.partition(".")[2] for name in link.inputs] == ["wrapper.o", "kernel.o", "weights.o"]


@pytest.mark.parametrize("name", ["torch211/layernorm.unbounded", "torch28/layernorm.unbounded"])
def test_older_commands_are_read(name: str) -> None:
    wrapper = member(fixture(name), ".wrapper.cpp").decode()
    assert isinstance(compile_command(wrapper), RecordedCommand)
    assert isinstance(link_command(wrapper), RecordedCommand)


@pytest.mark.parametrize(
    "flag",
    ["-fplugin=/planted/x.so", "-wrapper", "-specs=/planted/x", "@/planted/flags", "-Wl,-z,x", "-B/planted", "-Xlinker", "; rm",
     "-o/etc/x", "-fprofile-use=/x", "-DX=$(id)", "-fdump-tree-all=/x"],
)  # fmt: skip
def test_a_flag_that_is_not_known_is_refused(flag: str) -> None:
    read = compile_command(f"x\n// Compile cmd\n// g++ a.cpp -O1 {flag} -c -o a.o\n")
    assert isinstance(read, UnknownFlag)


def test_another_program_than_a_compiler_is_refused() -> None:
    assert isinstance(compile_command("// Compile cmd\n// rm -rf a.cpp\n"), UnknownFlag)


def test_a_source_without_commands() -> None:
    assert isinstance(compile_command("int main() {}\n"), NotRecorded)
