"""Tensors as host variables hold them: storages, views and layouts."""

from __future__ import annotations

from dataclasses import replace

from kernelscope.launches.host_arithmetic import apply
from kernelscope.launches.host_expression import HostConstant, HostExpression, HostOperator
from kernelscope.launches.launch import Tensor

Sizes = tuple[HostExpression, ...]


def new_tensor(name: str, sizes: Sizes | None, strides: Sizes | None, dtype: str | None) -> Tensor:
    """A tensor with a storage of its own."""
    return Tensor(name, name, dtype, sizes, strides, HostConstant(0))


def unknown_tensor(name: str) -> Tensor:
    """A tensor of which nothing is known, with a storage that may be anyone's."""
    return Tensor(name, name, None, None, None, None)


def renamed(tensor: Tensor, name: str) -> Tensor:
    """The same memory under another variable."""
    return tensor if tensor.name == name else replace(tensor, name=name)


def viewed(base: Tensor, sizes: Sizes | None, strides: Sizes | None, offset: HostExpression | None) -> Tensor:
    """A view into `base`'s memory, `offset` elements further on."""
    start = None
    if base.offset is not None and offset is not None:
        start = apply(HostOperator.ADD, base.offset, offset)
    return replace(base, sizes=sizes, strides=strides, offset=start)


def same_layout(left: Tensor, right: Tensor) -> bool:
    """Whether two tensors have equal sizes, strides and dtype."""
    return (left.sizes, left.strides, left.dtype) == (right.sizes, right.strides, right.dtype)
