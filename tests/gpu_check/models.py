"""The models that run on the GPU: each works on independent rows, so that eager can check it in chunks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch.export import Dim


@triton.jit
def scale_rows(x_ptr, o_ptr, stride, ncols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < ncols
    v = tl.load(x_ptr + row * stride + cols, mask=mask)
    tl.store(o_ptr + row * stride + cols, v * 2, mask=mask)


@torch.library.triton_op("gpu_check::scale_rows", mutates_args={})
def scale_rows_op(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    torch.library.wrap_triton(scale_rows)[(x.shape[0],)](x, out, x.stride(0), x.shape[1], BLOCK=1024)
    return out


@dataclass(frozen=True, slots=True)
class Case:
    """`row`: sizes of the first input after the dynamic one; `others`: sizes of the inputs that do not grow. `tolerance`: 0
    where the results must be the same bits."""

    function: Callable[..., torch.Tensor]
    eager: Callable[..., torch.Tensor]
    row: tuple[int, ...]
    others: tuple[tuple[int, ...], ...]
    dtype: torch.dtype
    tolerance: float
    example: int

    @property
    def row_elements(self) -> int:
        elements = 1
        for size in self.row:
            elements *= size
        return elements

    @property
    def bytes_each(self) -> int:
        """Bytes of input and output for each row."""
        return 2 * self.row_elements * self.dtype.itemsize

    @property
    def chunk(self) -> int:
        """Rows that eager works on at a time: 256 MiB of input."""
        return max(1, (256 << 20) // (self.row_elements * self.dtype.itemsize))

    def inputs(self, rows: int, device: str) -> list[torch.Tensor]:
        """Inputs with values that differ from row to row, made in place."""
        first = torch.empty((rows, *self.row), dtype=self.dtype, device=device)
        _fill(first)
        rest = [torch.empty(sizes, dtype=self.dtype, device=device) for sizes in self.others]
        for tensor in rest:
            _fill(tensor)
        return [first, *rest]

    def dynamic(self) -> tuple[dict[int, object], ...]:
        return ({0: Dim("n", min=2)}, *({} for _ in self.others))


def _fill(tensor: torch.Tensor) -> None:
    if tensor.dtype.is_floating_point:
        tensor.uniform_(-1, 1)
    else:
        tensor.random_(-100, 100)


def _layer_norm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return F.gelu(F.layer_norm(x, (4096,), w, b))


def _added(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y


CASES = {
    "i64bound": Case(_added, _added, (), ((1,),), torch.int8, 0.0, 2**18),
    "layernorm": Case(_layer_norm, _layer_norm, (4096,), ((4096,), (4096,)), torch.float32, 1e-4, 64),
    "userkernel": Case(scale_rows_op, lambda x: x * 2, (512,), (), torch.float32, 0.0, 64),
}
