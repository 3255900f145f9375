"""PTX and SASS made comparable: addresses, encodings, labels and numbers of registers do not count as changes."""

from __future__ import annotations

import re

from kernelscope.artifact.cubin import ptx_text

_PTX_NOISE = re.compile(
    r"^\s*(?://|\.loc|\.file|\.section|\.b8|\.b32|\.b64|\}?\s*$)|^\s*\$L__(?:tmp|func|info|debug)\w*:"
)
_PTX_NAME = re.compile(r"%[a-z]+\d+|\$L__BB\d+_\d+")
_SASS_LINE = re.compile(r"^\s*/\*[0-9a-f]+\*/\s+(?P<code>[^;]*;)")
_SASS_LABEL = re.compile(r"^\s*(?P<label>\.L_x_\d+|\.L_\d+):")
_SASS_NAME = re.compile(r"\b(?:UR|UP|R|P|B)\d+\b|\.L_x_\d+|\.L_\d+")


def comparable_ptx(cubin: bytes) -> str:
    """The PTX that a cubin was made from, without what only debuggers read, names without their numbers."""
    lines = [line.split("//")[0].rstrip() for line in ptx_text(cubin).splitlines()]
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
    return _unnumbered(lines, _SASS_NAME)


def _unnumbered(lines: list[str], name: re.Pattern[str]) -> str:
    """Names without their numbers: which register holds a value is the allocator's business, and an instruction more would
    shift all of them."""
    return "\n".join(name.sub(lambda found: found.group().rstrip("0123456789_"), line) for line in lines) + "\n"
