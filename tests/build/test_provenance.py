"""The source in a package is what its cubin was made from, and a changed one is told apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelscope.build import CannotCompile, KernelCompiler, Matched, Mismatched, OtherTriton, provenance_of
from tests.build.packages import fixture, kernels_of

pytestmark = pytest.mark.torch

PACKAGES = [
    "cat.huge", "cat.unbounded", "conv.unbounded", "cumsum.unbounded", "embedding.huge", "embedding.unbounded", "ext",
    "i64bound.huge", "i64bound.unbounded", "layernorm.huge", "layernorm.unbounded", "softmax2d.huge",
    "softmax2d.unbounded", "transpose.huge", "transpose.unbounded", "upsample.unbounded", "userkernel.huge",
    "userkernel.unbounded", "resnet18.unbounded", "vit.unbounded",
]  # fmt: skip
FIRST_OF_LARGE = 4


@pytest.mark.slow
def test_every_fixture_s_cubin_is_its_source_compiled(compiler: KernelCompiler) -> None:
    kernels = [(name, kernel) for name in PACKAGES for kernel in kernels_of(fixture(name))[:FIRST_OF_LARGE]]
    results = provenance_of([kernel for _, kernel in kernels], compiler)
    pairs = zip(kernels, results, strict=True)
    others = {name: result for (name, _), result in pairs if not isinstance(result, Matched)}
    assert not others
    assert len(kernels) >= len(PACKAGES)


def test_a_kernel_with_assertions_matches_with_the_lines_and_file_that_they_name(compiler: KernelCompiler) -> None:
    (kernel,) = kernels_of(fixture("embedding.unbounded"))
    (result,) = provenance_of([kernel], compiler)
    assert isinstance(result, Matched)
    assert result.config.constexprs == {"XBLOCK": 1024}
    assert (result.config.num_warps, result.config.architecture) == (4, 90)
    (moved,) = provenance_of([replace(kernel, source="\n\n\n" + kernel.source)], compiler)
    assert not isinstance(moved, Matched) or moved.config.line_offset == result.config.line_offset - 3


def test_the_block_of_a_looped_reduction_is_recovered(compiler: KernelCompiler) -> None:
    (kernel,) = kernels_of(fixture("softmax2d.unbounded"))
    (result,) = provenance_of([kernel], compiler)
    assert isinstance(result, Matched)
    assert result.config.constexprs["R0_BLOCK"] == 2048


def test_another_block_does_not_match(compiler: KernelCompiler) -> None:
    (kernel,) = kernels_of(fixture("cat.unbounded"))
    (result,) = provenance_of([replace(kernel, constexprs={"XBLOCK": 512})], compiler)
    assert isinstance(result, Mismatched)
    assert any(section.startswith(".text.") for section in result.sections)


def test_an_edited_source_does_not_match(compiler: KernelCompiler) -> None:
    (kernel,) = kernels_of(fixture("i64bound.unbounded"))
    edited = kernel.source.replace("tmp0 + tmp2", "tmp0 - tmp2")
    assert edited != kernel.source
    (result,) = provenance_of([replace(kernel, source=edited)], compiler)
    assert isinstance(result, Mismatched)


def test_a_cubin_of_another_triton_is_told_apart(compiler: KernelCompiler) -> None:
    (kernel,) = kernels_of(fixture("torch211/i64bound.huge"))
    (result,) = provenance_of([kernel], compiler)
    assert isinstance(result, OtherTriton)
    assert result.shipped.ptx != result.installed.ptx
    assert result.config.num_warps == 4


def test_a_source_without_its_kernel_can_not_be_compiled(compiler: KernelCompiler) -> None:
    (kernel,) = kernels_of(fixture("cat.unbounded"))
    broken = [replace(kernel, source="def x(:"), replace(kernel, function="other"), replace(kernel, cubin=b"\x7fELF")]
    results = provenance_of(broken, compiler)
    assert [type(result) for result in results] == [CannotCompile] * 3
