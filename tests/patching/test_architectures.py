"""Patched kernels compile for other GPUs than the one that the package was made for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelscope.artifact import open_artifact
from kernelscope.audit.run import read_model
from kernelscope.build import CompiledKernel, KernelCompiler, Matched, provenance_of, shipped_kernels
from kernelscope.patching.candidates import request_for
from kernelscope.rewrite.inductor_style import inductor_style
from kernelscope.rewrite.minimal import minimal, minimal_at_use
from tests.rewrite.subjects import FIXTURES, PATCHES, fixture

ARCHITECTURES = (80, 90, 100)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["cumsum.unbounded", "softmax2d.unbounded"])
def test_every_rewriting_compiles(name):
    (subject,) = fixture(name).values()
    (model,) = open_artifact(str(FIXTURES / f"{name}.pt2")).models
    (shipped,) = shipped_kernels(model, read_model(model, None).wrappers)
    with KernelCompiler() as compiler:
        (provenance,) = provenance_of([shipped.kernel], compiler)
        assert isinstance(provenance, Matched)
        requests = []
        for write in (minimal, minimal_at_use, inductor_style):
            rewriting = write(subject, PATCHES)
            for architecture in ARCHITECTURES:
                config = replace(provenance.config, architecture=architecture)
                requests.append(request_for(rewriting, shipped.kernel.function, config))
        results = compiler.compile(requests)
    assert [r for r in results if not isinstance(r, CompiledKernel)] == []
