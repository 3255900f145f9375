"""Every shipped patch does what its examples say, and refuses what its declines say."""

from __future__ import annotations

import pytest

from kernelscope.rewrite.patch_examples import run_examples
from kernelscope.rewrite.patch_file import load_patches

PATCHES = load_patches()
RESULTS = [(patch.name, result) for patch in (*PATCHES.kernel, *PATCHES.launcher) for result in run_examples(patch)]


@pytest.mark.parametrize(("name", "result"), RESULTS, ids=[f"{n}-{r.kind}{r.number}" for n, r in RESULTS])
def test_example(name, result):
    assert result.found == result.expected if result.kind == "example" else result.passed, result.found
