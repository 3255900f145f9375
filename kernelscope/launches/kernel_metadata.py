"""What an Inductor kernel's decorator says about its launch: signature, constants, grid type."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from kernelscope.launches.kernel_layout import KernelLayout, layout_of
from kernelscope.python_syntax import parse_expression

_DECORATOR = re.compile(r"^@triton_heuristics\.(\w+)\(", re.MULTILINE)
_TABLE = re.compile(r"\b(?:triton_meta|inductor_meta)\s*=\s*\{")
#: A whole entry with a plain value where possible, since most are; else one token.
_STRING = r"""'(?:[^'\\\n]|\\.)*'"""
_TOKEN = re.compile(
    rf"""'(\w+)': ({_STRING}|[\w.+-]+)(?=[,}}])|{_STRING}|"(?:[^"\\\n]|\\.)*"|[\[\](){{}},:]"""
)
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


def read_metadata(source: str, layout: KernelLayout | None = None) -> KernelMetadata:
    """The metadata of the (last) Inductor kernel in `source`; `layout`: its parts where they were read already."""
    layout = layout_of(source, layout)
    if layout is not None:
        tables = (layout.tables[name] for name in ("triton_meta", "inductor_meta") if name in layout.tables)
        return _metadata(layout.heuristic, {k: v for table in tables for k, v in table.items() if k in _KEPT})
    headers = list(_DECORATOR.finditer(source))
    if not headers:
        return KernelMetadata()
    start = headers[-1].start()
    end = source.find("\n@triton.jit", start)
    text = source[start : end if end >= 0 else None]
    found: dict[str, object] = {}
    for opening in _TABLE.finditer(text):
        found.update(_entries(text, opening.end()))
    return _metadata(headers[-1].group(1), found)


def pointee(metadata: KernelMetadata, parameter: str) -> str | None:
    """The element type of a pointer parameter, by the kernel's signature."""
    kind = metadata.signature.get(parameter, "")
    return kind[1:] if kind.startswith("*") else None


def _entries(text: str, start: int) -> dict[str, object]:
    """The entries of the dict literal that opens before `start`, of those that are kept and are plain literals.

    The dicts are long and mostly of no interest: only the kept values are parsed."""
    entries: dict[str, object] = {}
    depth, key, begin = 1, "", -1
    for token in _TOKEN.finditer(text, start):
        if token.group(1) is not None:
            if depth == 1 and token.group(1) in _KEPT:
                _keep(entries, token.group(1), token.group(2))
            continue
        kind = token.group()[0]
        if kind in "[{(":
            depth += 1
        elif kind in "]})":
            depth -= 1
        if depth > 1:
            continue
        if depth == 0 or kind == ",":
            if key in _KEPT and begin >= 0:
                _keep(entries, key, text[begin : token.start()])
            key, begin = "", -1
            if depth == 0:
                break
        elif kind == ":" and begin < 0:
            begin = token.end()
        elif kind in "'\"" and begin < 0:
            key = token.group()[1:-1]
    return entries


def _keep(entries: dict[str, object], key: str, text: str) -> None:
    try:
        entries[key] = ast.literal_eval(parse_expression(text.strip()))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return


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
