"""The width and sign of every inferred integer operation are those in Triton's own IR."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from kernelscope.triton_source import build_index_program
from tests.triton_source.corpus import Kernel, case_kernels, fixture_kernels, user_kernels
from tests.triton_source.inferred_operations import inferred_operations

pytest.importorskip("triton")

pytestmark = pytest.mark.torch

_KERNELS = [*fixture_kernels(), *case_kernels(), *user_kernels()]
_DOES_NOT_COMPILE = "19_literal_base_out_of_range"


@pytest.mark.parametrize("kernel", _KERNELS, ids=[kernel.where for kernel in _KERNELS])
def test_integer_operations_are_those_of_triton(kernel: Kernel, tmp_path: Path) -> None:
    if kernel.where == _DOES_NOT_COMPILE:
        pytest.skip("a kernel that does not compile has no IR")
    ours, theirs = compare(kernel, tmp_path)
    assert ours == theirs


def compare(kernel: Kernel, folder: Path) -> tuple[Counter[tuple[int, str, int]], Counter[tuple[int, str, int]]]:
    """Our operations and Triton's, less those on branches that constants rule out."""
    from tests.triton_source.triton_ir import import_kernel, operations_by_line, unoptimised_ir

    constexprs = kernel.constexprs()
    function, file_name = import_kernel(kernel.declaration, kernel.text, folder)
    signature = {name: "constexpr" if name in constexprs else kind for name, kind in kernel.signature.items()}
    text = unoptimised_ir(function, signature, {name: _as_triton(value) for name, value in constexprs.items()})
    program = build_index_program(kernel.declaration, kernel.types, constexprs)
    assert not program.unmodelled
    assert not program.compile_errors
    ours = inferred_operations(program)
    theirs = operations_by_line(text, kernel.declaration.name, file_name)
    skipped = _branch_lines(kernel.declaration.function) - {line for line, _, _ in ours}
    return ours, Counter({key: count for key, count in theirs.items() if key[0] not in skipped})


def _branch_lines(function: ast.FunctionDef) -> set[int]:
    return {
        line
        for node in ast.walk(function)
        if isinstance(node, ast.If)
        for statement in [*node.body, *node.orelse]
        for line in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    }


def _as_triton(value: object) -> object:
    """A type written `tl.int32` in a launch file, as triton's object."""
    import triton.language as tl

    return getattr(tl, value.removeprefix("tl.")) if isinstance(value, str) and value.startswith("tl.") else value
