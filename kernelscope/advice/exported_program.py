"""What `torch.export.save` recorded about a program's inputs: names, nesting, sizes. Read without torch."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from kernelscope.errors import KernelscopeError

_MEMBERS = ("*models/*.json", "*serialized_exported_program.json")
_MOST_BYTES = 512 << 20
_SYMBOL = re.compile(r"Symbol\('(\w+)'(?:, \w+=True)*\)")
_TRY = "give the .pt2 that torch.export.save wrote for this model"


@dataclass(frozen=True, slots=True)
class ExportedInputs:
    """`names`: the arguments of `forward`. `sizes`: by input, each dimension's number, symbol, or None for an expression."""

    names: tuple[str, ...] | None
    call_spec: str
    sizes: tuple[tuple[int | str | None, ...], ...]


def read_exported_inputs(path: str) -> ExportedInputs:
    """The inputs of the program in `path`; KernelscopeError when it holds none."""
    program = _program(path)
    try:
        graph_module = program["graph_module"]
        signature = graph_module["signature"]
        tensors: Mapping[str, Mapping[str, object]] = graph_module["graph"]["tensor_values"]
        call = graph_module["module_call_graph"][0]["signature"]
        names = call.get("forward_arg_names") or None
        users = [spec["user_input"]["arg"] for spec in signature["input_specs"] if "user_input" in spec]
        sizes = tuple(_sizes(tensors, user.get("as_tensor", {}).get("name", "")) for user in users)
        return ExportedInputs(tuple(names) if names else None, call["in_spec"], sizes)
    except (LookupError, TypeError, AttributeError):
        raise KernelscopeError("its program is in a form that is not known", where=path, try_this=_TRY) from None


def _program(path: str) -> Any:  # noqa: ANN401  JSON of a form that is checked where it is read
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                wanted = any(fnmatchcase(entry.filename, pattern) for pattern in _MEMBERS)
                if wanted and entry.file_size <= _MOST_BYTES:
                    with archive.open(entry) as stream:
                        found = json.loads(stream.read(_MOST_BYTES))
                    if isinstance(found, dict) and "graph_module" in found:
                        return found
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, RecursionError) as error:
        what = getattr(error, "strerror", None) or "not a readable zip archive"
        raise KernelscopeError(str(what).lower(), where=path, try_this=_TRY) from None
    raise KernelscopeError("no exported program in it", where=path, try_this=_TRY)


def _sizes(tensors: Mapping[str, Mapping[str, object]], name: str) -> tuple[int | str | None, ...]:
    sizes = tensors.get(name, {}).get("sizes", ())
    assert isinstance(sizes, list | tuple)
    return tuple(_size(size) for size in sizes)


def _size(size: Mapping[str, object]) -> int | str | None:
    number = size.get("as_int")
    if isinstance(number, int):
        return number
    expression = size.get("as_expr")
    text = expression.get("expr_str", "") if isinstance(expression, dict) else ""
    found = _SYMBOL.fullmatch(text) or re.fullmatch(r"([a-z]\d+)", text)
    return found.group(1) if found else None
