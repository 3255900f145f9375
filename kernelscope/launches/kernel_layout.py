"""Kernel texts as Inductor lays them out: imports, one decorator full of literals, the function.

The decorator is half of a kernel's text and nothing but tables. Where every line of it has the one form that Inductor
gives it, its tables are read as JSON, which takes a tenth of the time of a Python parser; a text that is laid out in any
other way has no layout, and is left to the parser as a whole."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

_DECORATOR = re.compile(
    r"^@triton_heuristics\.(?P<heuristic>[a-z_]+)\(\n(?P<lines>(?:    [^\n]+\n)+)\)\n(?=@triton\.jit\ndef )",
    re.MULTILINE,
)
_MARK = "@triton_heuristics."
_PLAIN = re.compile(r"__file__|True|False|None|0|-?[1-9]\d*|(?:Reduction|Tile)Hint\.[A-Z_]+")
_TILE_HINT = re.compile(r"(},) tile_hint=", re.MULTILINE)
_NAMES = frozenset(
    {"size_hints", "reduction_hint", "tile_hint", "filename", "triton_meta", "inductor_meta", "min_elem_per_thread",
     "custom_kernel", "configs", "num_stages", "num_warps"}
)  # fmt: skip
#: Between a display's strings: what Python writes otherwise than JSON. `\0` stands for a string.
_DEVICE = re.compile(r"(?<=\0: )DeviceProperties\([a-z_]+=\0[\w=, ]*\)")
_POSITION = re.compile(r"\(\d+,\)(?=: \[)")
_JSON_WORD = re.compile("true|false|null")


@dataclass(frozen=True, slots=True)
class KernelLayout:
    """`preamble` is the text before the decorator, `function` that from `@triton.jit` on, which starts on line
    `function_line`. `tables` are the decorator's dicts by keyword; calls in them
    stand for nothing. `text` is all of it."""

    text: str
    preamble: str
    heuristic: str
    tables: Mapping[str, Mapping[str, object]]
    function: str
    function_line: int


def kernel_layout(text: str) -> KernelLayout | None:
    """The parts of a kernel's text, None where it is laid out in any other way."""
    found = _DECORATOR.search(text)
    if found is None or text.count(_MARK) != 1 or any(other in text for other in ('"""', "'''", "\r")):
        return None
    tables = _tables(found["lines"])
    if tables is None:
        return None
    line = 1 + text.count("\n", 0, found.end())
    return KernelLayout(text, text[: found.start()], found["heuristic"], tables, text[found.end() :], line)


def layout_of(text: str, known: KernelLayout | None) -> KernelLayout | None:
    """`known` where it is this very text's, so that a rewritten kernel is never read as it was before; else a new one."""
    return known if known is not None and known.text == text else kernel_layout(text)


def _tables(lines: str) -> dict[str, Mapping[str, object]] | None:
    """The dicts of a decorator by keyword, None unless each line is `    keyword=literal,` (the last one's comma may be
    missing)."""
    tables: dict[str, Mapping[str, object]] = {}
    names: set[str] = set()
    ended = False
    for line in _TILE_HINT.sub(r"\1\n    tile_hint=", lines).split("\n")[:-1]:
        name, _, value = line[4:].rstrip(" ").partition("=")
        if ended or name not in _NAMES or name in names:
            return None
        names.add(name)
        ended = value[-1:] != ","
        value = value if ended else value[:-1]
        if _PLAIN.fullmatch(value):
            continue
        table = _literal(value)
        if isinstance(table, dict):
            tables[name] = table
        elif not isinstance(table, list):
            return None
    return tables


def _literal(text: str) -> object:
    """The dict or list that a Python display of literals stands for; None where it holds anything else."""
    pieces = text.split("'")
    code = "\0".join(pieces[::2])
    if '"' in text or "\\" in text or "\0" in text or len(pieces) % 2 == 0 or _JSON_WORD.search(code):
        return None
    code = _DEVICE.sub("[\0]", code).replace("True", "true").replace("False", "false").replace("None", "null")
    code = _POSITION.sub(_quoted, code.replace("set()", "null"))
    pieces[::2] = code.split("\0")
    try:
        return json.loads('"'.join(pieces), parse_constant=_refused)
    except (ValueError, RecursionError):
        return None


def _quoted(position: re.Match[str]) -> str:
    return f'"{position[0]}"'


def _refused(name: str) -> object:
    raise ValueError(name)
