"""What an Inductor kernel's decorator says about its launch: signature, constants, grid type."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_DECORATOR = re.compile(r"^@triton_heuristics\.(\w+)\(", re.MULTILINE)
_KEPT = ("signature", "constants", "grid_type", "kernel_name", "no_x_dim", "declared_constexpr_names",
         "precomputed_grids", "combo_grid_meta", "fixed_grid", "extra_launcher_args")  # fmt: skip


@dataclass(frozen=True, slots=True)
class KernelMetadata:
    """Facts from `triton_meta` and `inductor_meta`; empty where the kernel has no such decorator."""

    heuristic: str | None = None
    signature: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, object] = field(default_factory=dict)
    grid_type: str | None = None
    kernel_name: str | None = None
    declared_constexprs: tuple[str, ...] = ()
    precomputed_grids: tuple[Mapping[str, object], ...] = ()
    combo_grid_meta: Mapping[str, object] = field(default_factory=dict)
    fixed_grid: tuple[str, ...] = ()
    extra_launcher_args: tuple[str, ...] = ()

    @property
    def constexprs(self) -> frozenset[str]:
        """Parameters that are compile-time constants."""
        return frozenset(name for name, kind in self.signature.items() if kind == "constexpr")


def read_metadata(source: str) -> KernelMetadata:
    """The metadata of the (last) Inductor kernel in `source`."""
    headers = list(_DECORATOR.finditer(source))
    if not headers:
        return KernelMetadata()
    start = headers[-1].start()
    end = source.find("\n@triton.jit", start)
    text = source[start + 1 : end if end >= 0 else None]
    try:
        call = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return KernelMetadata(heuristic=headers[-1].group(1))
    found: dict[str, object] = {}
    if isinstance(call, ast.Call):
        for keyword in call.keywords:
            if keyword.arg in ("triton_meta", "inductor_meta") and isinstance(keyword.value, ast.Dict):
                found.update(_entries(keyword.value))
    return _metadata(headers[-1].group(1), found)


def pointee(metadata: KernelMetadata, parameter: str) -> str | None:
    """The element type of a pointer parameter, by the kernel's signature."""
    kind = metadata.signature.get(parameter, "")
    return kind[1:] if kind.startswith("*") else None


def _entries(table: ast.Dict) -> dict[str, object]:
    """The entries of a metadata dict that are kept and are plain literals."""
    entries: dict[str, object] = {}
    for key, value in zip(table.keys, table.values, strict=True):
        if isinstance(key, ast.Constant) and key.value in _KEPT:
            try:
                entries[str(key.value)] = ast.literal_eval(value)
            except (ValueError, TypeError, MemoryError, RecursionError):
                continue
    return entries


def _metadata(heuristic: str, found: Mapping[str, object]) -> KernelMetadata:
    return KernelMetadata(
        heuristic=heuristic,
        signature={str(k): str(v) for k, v in _table(found.get("signature")).items()},
        constants=_table(found.get("constants")),
        grid_type=_text(found.get("grid_type")),
        kernel_name=_text(found.get("kernel_name")),
        declared_constexprs=_names(found.get("declared_constexpr_names")),
        precomputed_grids=tuple(_table(entry) for entry in _list(found.get("precomputed_grids"))),
        combo_grid_meta=_table(found.get("combo_grid_meta")),
        fixed_grid=_names(found.get("fixed_grid")),
        extra_launcher_args=_names(found.get("extra_launcher_args")),
    )


def _table(value: object) -> dict[str, object]:
    return {str(k): v for k, v in value.items()} if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _names(value: object) -> tuple[str, ...]:
    return tuple(str(name) for name in _list(value))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
