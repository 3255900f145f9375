"""Every kernel of the fixtures and cases is followed without a gap."""

from __future__ import annotations

import pytest

from kernelscope.triton_source import build_index_program
from tests.triton_source.corpus import Kernel, case_kernels, fixture_kernels, user_kernels

_KERNELS = [*fixture_kernels(), *case_kernels(), *user_kernels()]


@pytest.mark.parametrize("kernel", _KERNELS, ids=[kernel.where for kernel in _KERNELS])
def test_kernel_is_followed(kernel: Kernel) -> None:
    program = build_index_program(kernel.declaration, kernel.types, kernel.constexprs())
    assert not program.unmodelled
    assert bool(program.compile_errors) is (kernel.where == "19_literal_base_out_of_range")
    assert program.accesses
    for access in program.accesses:
        for part in (access.mask, access.value, access.other):
            assert part is None or part.shape == access.pointer.shape
        assert all(guard.shape == () for guard in access.guards)
