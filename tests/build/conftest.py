from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernelscope.build import KernelCompiler


@pytest.fixture(scope="session")
def compiler() -> Iterator[KernelCompiler]:
    """One compiling process for all tests, since importing torch takes seconds."""
    pytest.importorskip("triton")
    with KernelCompiler() as compiler:
        yield compiler
