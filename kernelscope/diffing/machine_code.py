"""TTIR, PTX and SASS made comparable: locations, addresses, encodings, labels and numbers of registers are no changes."""

from __future__ import annotations

import re

from kernelscope.artifact.cubin import ptx_text

_PTX_NOISE = re.compile(
    r"^\s*(?://|\.loc|\.file|\.section|\.b8|\.b32|\.b64|\.reg\b|\}?\s*$)|^\s*\$L__(?:tmp|func|info|debug)\w*:"
)
_PTX_NAME = re.compile(r"%[a-z]+\d+|\$L__BB\d+_\d+")
_SASS_LINE = re.compile(r"^\s*/\*[0-9a-f]+\*/\s+(?P<code>[^;]*;)")
_SASS_LABEL = re.compile(r"^\s*(?P<label>\.L_x_\d+|\.L_\d+):")
_SASS_NAME = re.compile(r"\b(?:UR|UP|R|P|B)\d+\b|\.L_x_\d+|\.L_\d+")


_TTIR_ALIAS = re.compile(r"^#loc\d* = ")
_TTIR_LOCATION = re.compile(r"\s*\bloc\(")
_TTIR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[()]')
#: `%12` of MLIR's own numbering, and the number that tells a name from others that the source spells alike.
_TTIR_NUMBER = re.compile(r"(%[A-Za-z_][\w$]*?)_\d+\b(?![\w$])|(%(?:arg)?)\d+")


def comparable_ttir(text: str) -> str:
    """Triton's first representation of a kernel without locations, names without the numbers that tell them apart."""
    lines = (_without_locations(line).rstrip() for line in text.splitlines() if not _TTIR_ALIAS.match(line))
    kept = [_TTIR_NUMBER.sub(lambda found: found[1] or found[2], line) for line in lines]
    return "\n".join(line for line in kept if line.strip()) + "\n"


def _without_locations(line: str) -> str:
    """The line without `loc(...)`, whose parentheses nest and may stand in strings."""
    parts: list[str] = []
    start = 0
    while (found := _TTIR_LOCATION.search(line, start)) is not None:
        parts.append(line[start : found.start()])
        depth, start = 1, len(line)
        for bracket in _TTIR_BRACKET.finditer(line, found.end()):
            depth += {"(": 1, ")": -1}.get(bracket[0], 0)
            if depth == 0:
                start = bracket.end()
                break
    return "".join([*parts, line[start:]])


def comparable_ptx(cubin: bytes) -> str:
    """The PTX that a cubin was made from, comparable."""
    return comparable_ptx_text(ptx_text(cubin))


def comparable_ptx_text(text: str) -> str:
    """PTX without what only debuggers read and how many registers are declared, names without their numbers."""
    lines = [" ".join(line.split("//")[0].split()) for line in text.splitlines()]
    return _unnumbered([line for line in lines if line.strip() and not _PTX_NOISE.match(line)], _PTX_NAME)


def comparable_sass(listing: str) -> str:
    """`nvdisasm`'s listing without addresses and encodings, names without their numbers."""
    lines: list[str] = []
    for line in listing.splitlines():
        instruction, label = _SASS_LINE.match(line), _SASS_LABEL.match(line)
        if instruction is not None:
            lines.append(f"    {' '.join(instruction['code'].split())}")
        elif label is not None:
            lines.append(f"{label['label']}:")
    return _unnumbered([line.replace(".reuse", "") for line in lines], _SASS_NAME)


def _unnumbered(lines: list[str], name: re.Pattern[str]) -> str:
    """Names without their numbers: which register holds a value is the allocator's business, and an instruction more would
    shift all of them."""
    return "\n".join(name.sub(lambda found: found.group().rstrip("0123456789_"), line) for line in lines) + "\n"
