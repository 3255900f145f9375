"""Kernels compile without a GPU, and what goes wrong comes back as a value."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kernelscope.artifact.cubin import ptx_of
from kernelscope.build import CompiledKernel, CompileFailure, CompileRequest, KernelCompiler, KernelConfig
from kernelscope.errors import KernelscopeError
from tests.build.test_restricted_module import HEAD

pytestmark = pytest.mark.torch

SOURCE = f"""{HEAD}@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, i < n) * 2, i < n)
"""
CONFIG = KernelConfig(
    {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 256}, (((0,), (("tt.divisibility", 16),)),),
    {"num_warps": 4, "num_stages": 1}, 90,
)  # fmt: skip


@pytest.mark.parametrize("architecture", [80, 90, 100])
def test_a_kernel_compiles_for_each_architecture(compiler: KernelCompiler, architecture: int) -> None:
    request = CompileRequest(SOURCE, "double", replace(CONFIG, architecture=architecture), ("ttir", "ptx"))
    (result,) = compiler.compile([request])
    assert isinstance(result, CompiledKernel)
    assert f"sm_{architecture}" in (ptx_of(result.cubin).target or "")
    assert (result.name, result.num_warps) == ("double", 4)
    assert "tt.store" in result.texts["ttir"] and ".entry double" in result.texts["ptx"]


def test_results_come_in_the_order_of_the_requests(compiler: KernelCompiler) -> None:
    blocks = [512, 128, 1024]
    configs = [replace(CONFIG, constexprs={"BLOCK": block}) for block in blocks]
    requests = [CompileRequest(SOURCE, "double", config, ("ttir",)) for config in configs]
    seen: list[tuple[int, int]] = []
    results = compiler.compile(requests, lambda done, total: seen.append((done, total)))
    for block, result in zip(blocks, results, strict=True):
        assert isinstance(result, CompiledKernel) and f"tensor<{block}x" in result.texts["ttir"]
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_errors_are_values_and_do_not_stop_the_others(compiler: KernelCompiler) -> None:
    requests = [
        CompileRequest(SOURCE.replace("tl.load", "tl.nothing"), "double", CONFIG),
        CompileRequest(SOURCE.replace("i < n)", "i.shape.x)"), "double", CONFIG),
        CompileRequest(SOURCE, "double", replace(CONFIG, constexprs={"BLOCK": 3})),
        CompileRequest(SOURCE, "double", CONFIG),
    ]
    *failures, last = compiler.compile(requests)
    assert all(isinstance(failure, CompileFailure) and failure.reason for failure in failures)
    assert isinstance(last, CompiledKernel)


def test_a_kernel_that_takes_too_long_is_given_up() -> None:
    pytest.importorskip("triton")
    loop = "    for k in tl.static_range(100000):\n        i = i * k + k\n"
    slow_source = SOURCE.replace("    tl.store", f"{loop}    tl.store", 1)
    with KernelCompiler(jobs=1, seconds=2) as compiler:
        slow, quick = compiler.compile([CompileRequest(text, "double", CONFIG) for text in (slow_source, SOURCE)])
    assert isinstance(slow, CompileFailure) and "2 seconds" in slow.reason
    assert isinstance(quick, CompiledKernel | CompileFailure)


def test_code_planted_in_a_kernel_module_does_not_run(compiler: KernelCompiler, tmp_path) -> None:
    trap = tmp_path / "ran"
    plant = f"open({str(trap)!r}, 'w').write('x')"
    sources = [
        f"{plant}\n{SOURCE}",
        SOURCE.replace("@triton.jit", f"@({plant} or triton.jit)"),
        SOURCE.replace("BLOCK: tl.constexpr)", f"BLOCK: tl.constexpr = {plant})"),
        SOURCE.replace("* 2", f"* {plant}"),
        SOURCE + f"\nif True:\n    {plant}\nclass X:\n    y = {plant}\n",
    ]
    results = compiler.compile([CompileRequest(source, "double", CONFIG) for source in sources])
    assert not trap.exists()
    assert isinstance(results[0], CompiledKernel) and isinstance(results[4], CompiledKernel)
    assert all(isinstance(results[n], CompileFailure) and results[n].refused for n in (1, 2, 3))


@pytest.mark.parametrize(
    ("package", "text", "words"),
    [
        ("torch", "raise OSError('libcudart.so: no such file')", "torch can't be imported here: OSError: libcudart"),
        ("triton", "raise ImportError('half installed')", "triton can't be imported here: ImportError: half installed"),
        ("triton", "import os; os.abort()", "the compiling process ended \\(status -6\\)"),
        ("triton", "raise ModuleNotFoundError('No', name='triton')", "triton is not installed"),
    ],
)
def test_a_damaged_installation_is_one_line(
    package: str, text: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with KernelCompiler() as broken, pytest.raises(KernelscopeError, match=words):
        broken.start()
