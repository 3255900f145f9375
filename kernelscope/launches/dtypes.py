"""Torch's names of element types as Triton signatures spell them."""

from __future__ import annotations

_SIGNATURE_NAMES = {
    "float64": "fp64", "double": "fp64", "float32": "fp32", "float": "fp32", "float16": "fp16", "half": "fp16",
    "bfloat16": "bf16", "int64": "i64", "long": "i64", "int32": "i32", "int": "i32", "int16": "i16", "short": "i16",
    "int8": "i8", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "i1",
    "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5", "float8_e4m3fnuz": "fp8e4b8", "float8_e5m2fnuz": "fp8e5b16",
}  # fmt: skip

_BYTES = {"fp64": 8, "i64": 8, "u64": 8, "fp32": 4, "i32": 4, "u32": 4, "fp16": 2, "bf16": 2, "i16": 2, "u16": 2}


def signature_name(torch_name: str) -> str | None:
    """`fp32` for `float32`, `torch.float32` or `cached_torch_dtype_float32`; None for a type Triton has no name for."""
    name = torch_name.removeprefix("torch.").removeprefix("cached_torch_dtype_")
    return _SIGNATURE_NAMES.get(name)


def item_bytes(signature: str) -> int:
    """Bytes of one element."""
    return _BYTES.get(signature, 1)
