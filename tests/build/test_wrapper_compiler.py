"""A wrapper is built again with everything that its old library carried."""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kernelscope.build import (
    CannotRebuild,
    Content,
    OtherTorch,
    RebuiltLibrary,
    WrapperSources,
    rebuild_library,
    rewrite_archive,
)
from kernelscope.build.library_data import read_library
from kernelscope.errors import KernelscopeError
from tests.build.libraries import append, build, wrapper
from tests.build.packages import FIXTURES, fixture, member

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++"),
]
RECORDING = Path(__file__).parents[1] / "recording"
WEIGHTS = bytes(range(251)) * 1000


def rebuilt(sources: WrapperSources, output: Path) -> RebuiltLibrary:
    pytest.importorskip("torch")
    result = rebuild_library(sources, output, any_torch=True)
    assert isinstance(result, RebuiltLibrary), result
    return result


@pytest.mark.parametrize("writable", [False, True])
@pytest.mark.parametrize("weights", [b"\0", WEIGHTS])
def test_weights_inside_are_carried_over(weights: bytes, writable: bool, tmp_path: Path) -> None:
    old = build(tmp_path, wrapper(1), weights, {}, writable=writable)
    before = old.read_bytes()
    result = rebuilt(WrapperSources(wrapper(2), None, old), tmp_path / "new.so")
    assert (result.missing, result.extra) == ((), ())
    data = read_library(result.path).weights
    assert data is not None and (data.size, data.writable) == (len(weights), writable)
    library = ctypes.CDLL(str(result.path))
    library.weights.restype = ctypes.c_void_p
    assert library.version() == 2
    assert library.weights() % 64 == 0
    assert ctypes.string_at(library.weights(), len(weights)) == weights
    assert old.read_bytes() == before


def test_weights_behind_the_library_are_carried_over(tmp_path: Path) -> None:
    magic = 0x123456789ABCDEF
    source = wrapper(1, define="USE_MMAP_SELF")
    old = build(tmp_path, source, struct.pack("<QQ", len(WEIGHTS) + 8, magic), {})
    append(old, WEIGHTS, magic)
    result = rebuilt(WrapperSources(source, None, old), tmp_path / "new.so")
    end = result.path.stat().st_size
    assert (end - len(WEIGHTS) - 8) % 16384 == 0
    assert result.path.read_bytes()[-len(WEIGHTS) - 8 :] == WEIGHTS + struct.pack("<q", magic)
    with open(old, "r+b") as file:
        file.truncate(old.stat().st_size - 16384)
    with pytest.raises(KernelscopeError, match="appended weights"):
        rebuild_library(WrapperSources(source, None, old), tmp_path / "other.so", any_torch=True)


def test_embedded_cubins_are_carried_over_or_replaced(tmp_path: Path) -> None:
    source = wrapper(1, kernels=("first", "second"), objects="/build/cubins_combined.o ")
    old = build(tmp_path, source, b"w" * 64, {"first": b"1" * 100, "second": b"2" * 50})
    result = rebuilt(WrapperSources(source, None, old, {"second": b"new" * 99}), tmp_path / "new.so")
    assert result.missing == ()
    library = read_library(result.path)
    content = result.path.read_bytes()
    carried = {kernel.name: content[kernel.offset : kernel.offset + kernel.size] for kernel in library.kernels}
    assert carried == {"__first_start": b"1" * 100, "__second_start": b"new" * 99}
    with pytest.raises(KernelscopeError, match="third is not embedded"):
        rebuild_library(WrapperSources(source, None, old, {"third": b""}), tmp_path / "new.so", any_torch=True)


def test_an_object_that_is_not_in_the_package_is_named(tmp_path: Path) -> None:
    source = wrapper(1, objects="/build/cutlass_kernel.o ")
    result = rebuild_library(WrapperSources(source, None, tmp_path / "old.so"), tmp_path / "new.so")
    assert isinstance(result, CannotRebuild) and "cutlass_kernel.o" in result.reason


def test_a_compiler_error_is_told_in_one_line(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    old = build(tmp_path, wrapper(1), WEIGHTS, {})
    broken = wrapper(1).replace("return 1;", "return one;")
    with pytest.raises(KernelscopeError, match="compiling the wrapper failed") as caught:
        rebuild_library(WrapperSources(broken, None, old), tmp_path / "new.so", any_torch=True)
    assert "one" in caught.value.one_line() and "\n" not in caught.value.one_line()


#: Programs that are no compiler, as CXX may name them, and what is said of them.
NO_COMPILERS = {
    "exit 1": "compiling the wrapper failed \\(status 1\\): it says nothing",
    "exit 0": "compiling the wrapper gave no wrapper.o",
    "kill -SEGV $$": "compiling the wrapper crashed \\(SIGSEGV\\)",
    "printf '\\377\\376\\n' >&2; exit 1": "compiling the wrapper failed",
    'while [ $# -gt 0 ]; do [ "$1" = -o ] && echo junk > "$2"; shift; done': "what it linked is not a readable",
}


@pytest.mark.parametrize("script", NO_COMPILERS)
def test_a_program_that_is_no_compiler_is_one_line(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    old = build(tmp_path, wrapper(1), WEIGHTS, {})
    program = tmp_path / "c++"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("CXX", str(program))
    with pytest.raises(KernelscopeError, match=NO_COMPILERS[script]) as caught:
        rebuild_library(WrapperSources(wrapper(2), None, old), tmp_path / "new.so", any_torch=True)
    assert str(program) in caught.value.one_line()


@pytest.mark.parametrize("value", ["/nonexistent", "ccache-of-nowhere g++", "'"])
def test_a_compiler_that_is_not_there_is_not_replaced_by_another(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("CXX", value)
    with pytest.raises(KernelscopeError, match="not a program") as caught:
        rebuild_library(WrapperSources(wrapper(2), None, tmp_path / "old.so"), tmp_path / "new.so", any_torch=True)
    assert caught.value.where == f"CXX={value}"


def test_a_compiler_may_have_words_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = build(tmp_path, wrapper(1), WEIGHTS, {})
    monkeypatch.setenv("CXX", "env g++")
    assert ctypes.CDLL(str(rebuilt(WrapperSources(wrapper(2), None, old), tmp_path / "new.so").path)).version() == 2


@pytest.mark.parametrize("name", ["torch211/layernorm.unbounded", "torch28/layernorm.unbounded"])
def test_the_wrapper_of_another_torch_is_refused(name: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    text = member(fixture(name), ".wrapper.cpp").decode()
    result = rebuild_library(WrapperSources(text, None, tmp_path / "old.so"), tmp_path / "new.so")
    assert isinstance(result, OtherTorch)


@pytest.fixture(scope="module")
def layer_norm(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RebuiltLibrary]:
    """The layer norm's package with its library built again, and what building told."""
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("layernorm")
    source = fixture("layernorm.unbounded")
    old = folder / "old.so"
    old.write_bytes(member(source, ".wrapper.so"))
    texts = [member(source, suffix).decode() for suffix in (".wrapper.cpp", ".kernel.cpp")]
    result = rebuild_library(WrapperSources(texts[0], texts[1], old), folder / "new.so")
    assert isinstance(result, RebuiltLibrary), result
    with zipfile.ZipFile(source) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".so")]
    rewrite_archive(str(source), str(folder / "out.pt2"), {name: Content(result.path)})
    return folder, result


@pytest.mark.slow
def test_the_layer_norm_s_library_exports_the_same_symbols(layer_norm: tuple[Path, RebuiltLibrary]) -> None:
    folder, result = layer_norm
    assert (result.missing, result.extra) == ((), ())
    exported = [
        {line.split()[-1] for line in subprocess.run(
            ["nm", "-D", "--defined-only", str(path)], capture_output=True, text=True, check=True).stdout.splitlines()}
        for path in (folder / "old.so", result.path)
    ]  # fmt: skip
    assert exported[0] == exported[1]


@pytest.mark.slow
def test_the_rebuilt_package_loads_and_launches_with_the_true_sizes(layer_norm: tuple[Path, RebuiltLibrary]) -> None:
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    if not Path(home, "include/cuda_runtime_api.h").is_file():
        pytest.skip("needs the CUDA headers")
    folder, _ = layer_norm
    command = ["bash", str(RECORDING / "run"), sys.executable, str(RECORDING / "layer_norm.py")]
    done = subprocess.run(
        [*command, str(folder / "out.pt2"), "524289"], capture_output=True, text=True, check=False, cwd=FIXTURES.parent,
        env={**os.environ, "TMPDIR": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    (launch,) = [line for line in done.stderr.splitlines() if line.startswith("cuLaunchKernel")]
    assert "grid 524289 1 1 block 512" in launch
    assert int(launch.split()[-2], 16) & 0xFFFFFFFF == 524289
