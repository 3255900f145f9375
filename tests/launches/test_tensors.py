"""Layouts of tensors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernelscope.audit import audit
from kernelscope.launches.host_expression import HostConstant
from kernelscope.launches.tensors import new_tensor, viewed
from tests.cpp_wrapper.wrappers import wrapper_text

ONE, TWO = HostConstant(1), HostConstant(2)


def test_a_layout_of_two_ranks_is_none() -> None:
    tensor = new_tensor("x", (TWO, ONE), (ONE,), "fp32")
    assert (tensor.sizes, tensor.strides, tensor.dtype) == (None, None, "fp32")
    whole = new_tensor("x", (TWO,), (ONE,), "fp32")
    assert whole.sizes == (TWO,)
    assert viewed(whole, (TWO, TWO), (ONE,), ONE).sizes is None
    assert replace(whole, sizes=()).strides is None


@pytest.mark.parametrize("name", ["layernorm.unbounded", "transpose.unbounded", "torch28/layernorm.unbounded"])
def test_a_wrapper_whose_arrays_are_cut_short_is_audited(tmp_path: Path, name: str) -> None:
    path = tmp_path / "w.wrapper.cpp"
    lines = wrapper_text(name).split("\n")
    arrays = [n for n, line in enumerate(lines) if "int_array_" in line and "[] = {" in line]
    assert arrays
    for number in arrays:
        head, _, elements = lines[number].partition("{")
        cut = [*lines[:number], f"{head}{{{elements.partition(', ')[2] or '};'}", *lines[number + 1 :]]
        path.write_text("\n".join(cut))
        (result,) = audit([str(path)]).artifacts
        assert result.error is None
