"""Python that declares ranges when a program is exported."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kernelscope.advice.call_tree import dynamic_shapes_text, read_call_tree
from kernelscope.advice.exported_program import ExportedInputs
from kernelscope.advice.options import SizeBound
from kernelscope.launches.input_signature import InputSignature
from kernelscope.launches.launch import Symbol

_DIMENSION = re.compile(r"input(\d+)\[(\d+)\]$")
_AUTO = "Dim.AUTO"


def declaration_code(
    bounds: Sequence[SizeBound], symbols: Sequence[Symbol], signature: InputSignature, program: ExportedInputs | None
) -> str:
    """`Dim` lines and `dynamic_shapes`; for data-dependent sizes, the `torch._check` that belongs into the model.

    Names of arguments come from `program`; without it the shapes are given by position."""
    limited = {b.symbol.name: b for b in bounds}
    dims = [s for s in symbols if _DIMENSION.match(s.source)]
    lines = ["from torch.export import Dim", ""] if dims else []
    lines += [_dim_line(symbol, limited.get(symbol.name)) for symbol in dims]
    spec = program.call_spec if program is not None else signature.call_spec
    if dims and spec is not None:
        tree = read_call_tree(spec, program.names if program is not None else None)
        named = _named_dimensions(dims, signature, program)
        lines += ["", f"dynamic_shapes = {dynamic_shapes_text(tree, lambda number: _leaf(named.get(number, {})))}"]
    checks = [b for b in bounds if not b.is_input_dimension]
    if checks:
        lines += [""] if lines else []
        lines += ["# in the model, where the size is made from data:"]
        lines += [f"torch._check({b.symbol.name} <= {b.maximum})" for b in checks]
    return "\n".join(lines) + "\n"


def _dim_line(symbol: Symbol, bound: SizeBound | None) -> str:
    low = bound.minimum if bound is not None else symbol.minimum
    high = bound.maximum if bound is not None else symbol.maximum
    ends = [f"min={low}"] if low is not None else []
    ends += [f"max={high}"] if high is not None else []
    return f"{symbol.name} = Dim({', '.join([chr(34) + symbol.name + chr(34), *ends])})  # {symbol.source}"


def _named_dimensions(
    dims: Sequence[Symbol], signature: InputSignature, program: ExportedInputs | None
) -> dict[int, dict[int, str]]:
    """By input and dimension: the `Dim` for it, or `Dim.AUTO` where the size follows from others."""
    known = {s.name for s in dims}
    named: dict[int, dict[int, str]] = {}
    if program is not None:
        for number, sizes in enumerate(program.sizes):
            for axis, size in enumerate(sizes):
                if not isinstance(size, int):
                    named.setdefault(number, {})[axis] = size if size in known and size is not None else _AUTO
        return named
    for shape in signature.inputs:
        for axis in shape.dynamic:
            named.setdefault(shape.number, {})[axis] = _AUTO
    for symbol in dims:
        found = _DIMENSION.match(symbol.source)
        assert found is not None
        named.setdefault(int(found.group(1)), {})[int(found.group(2))] = symbol.name
    return named


def _leaf(dimensions: Mapping[int, str]) -> str | None:
    if not dimensions:
        return None
    return "{" + ", ".join(f"{axis}: {name}" for axis, name in sorted(dimensions.items())) + "}"
