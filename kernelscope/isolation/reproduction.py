"""A stand-alone script that shows where two stages part. Runs in a child: it describes tensors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import torch

from kernelscope.isolation.results import Stage

_HEAD = '''"""{operator} differs between eager and {words} (torch {version})."""

import torch
from torch import device, inf, nan  # the generated code names them

torch.manual_seed(0)


{function}

args = (
{args})

with torch.no_grad():
    expected = forward(*args)
    found = torch.compile(forward, backend="{backend}")(*args)
torch.testing.assert_close(found, expected)
print("no difference")
'''


def reproduction_script(code: str, args: Sequence[Any], stage: Stage) -> str:
    """`code` is the forward function of an exported graph; tensors are made anew, of the same sizes, strides and kind."""
    function = re.sub(r"\bself, ?", "", code.strip(), count=1)
    lines = "".join(f"    {_made(arg)},\n" for arg in args)
    calls = re.findall(r"torch\.ops\.[\w.]+", function)
    return _HEAD.format(
        operator=calls[-1] if calls else "the model", words=stage.words.replace('"', "'"), version=torch.__version__,
        function=function, args=lines, backend=stage.backend or "inductor",
    )  # fmt: skip


def _made(value: Any) -> str:  # noqa: ANN401  tensors and plain numbers
    if not isinstance(value, torch.Tensor):
        return repr(value)
    size, dtype = tuple(value.shape), value.dtype
    if dtype.is_floating_point or dtype.is_complex:
        text = f"torch.randn({size}, dtype={dtype})"
    elif dtype is torch.bool:
        text = f"torch.rand({size}) < 0.5"
    else:
        low, high = (int(value.min()), int(value.max())) if value.numel() else (0, 1)
        text = f"torch.randint({low}, {high + 1}, {size}, dtype={dtype})"
    if not value.is_contiguous():
        return f"torch.empty_strided({size}, {tuple(value.stride())}, dtype={dtype}).copy_({text})"
    return text
