"""Compares two cubins section by section, leaving out what only debuggers read."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass

from kernelscope.artifact.cubin import CubinError, ptx_text

_DEBUG = re.compile(r"\.(?:rela?\.?)?\.?(?:nv_)?debug")
_FILE_NAME = re.compile(rb"[^\0]*\.py(?=\0)")
_ASSERT_LINE = re.compile(r"st\.param\.b32\s+\[param2(?:\+0)?\],\s*(\d+);")


@dataclass(frozen=True, slots=True)
class ToolVersions:
    """What made a cubin: the PTX ISA version it was lowered to, and the assembler that wrote it."""

    ptx: str
    assembler: str


def code_sections(cubin: bytes) -> dict[str, bytes]:
    """Every section but debug ones, by name; CubinError when the file can't be read."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        sections: dict[str, bytes] = {}
        for section in ELFFile(io.BytesIO(cubin)).iter_sections():
            if _DEBUG.match(section.name):
                continue
            facts = f"{section['sh_type']} {section['sh_flags']} {section['sh_size']} ".encode()
            sections[section.name] = facts + section.data()
    except ELFError as error:
        raise CubinError(f"not a readable ELF file: {error}") from None
    except Exception as error:  # noqa: BLE001  pyelftools trusts offsets: damaged files raise whatever they hit
        raise CubinError(f"damaged: {type(error).__name__}") from None
    return sections


def section_sizes(cubin: bytes) -> dict[str, int]:
    """The size of every section; CubinError when the file can't be read."""
    from elftools.elf.elffile import ELFFile

    try:
        return {section.name: int(section["sh_size"]) for section in ELFFile(io.BytesIO(cubin)).iter_sections()}
    except Exception as error:  # noqa: BLE001  pyelftools trusts offsets: damaged files raise whatever they hit
        raise CubinError(f"damaged: {type(error).__name__}") from None


def differing_sections(first: Mapping[str, bytes], second: Mapping[str, bytes]) -> tuple[str, ...]:
    """Names of the sections that only one side has or that differ, sorted."""
    return tuple(sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name)))


def tool_versions(cubin: bytes) -> ToolVersions:
    """The versions that a cubin records; empty texts where it records none."""
    try:
        text = ptx_text(cubin)
        sections = code_sections(cubin)
    except CubinError:
        return ToolVersions("", "")
    found = re.search(r"^\s*\.version\s+([\d.]+)", text, re.MULTILINE)
    note = sections.get(".note.nv.tkinfo", b"").decode("latin-1")
    assembler = re.search(r"Cuda compilation tools, release [\d.]+, (V[\d.]+)", note)
    return ToolVersions(found.group(1) if found else "", assembler.group(1) if assembler else "")


def assertion_files(sections: Mapping[str, bytes]) -> tuple[str, ...]:
    """The source files that the texts of `tl.device_assert` in a cubin name."""
    data = b"\0" + sections.get(".nv.global.init", b"").partition(b" ")[2].partition(b" ")[2].partition(b" ")[2]
    return tuple(name.decode("utf-8", "replace") for name in dict.fromkeys(_FILE_NAME.findall(data)))


def assertion_lines(cubin: bytes) -> tuple[int, ...]:
    """The source lines that the assertions of a kernel report, sorted."""
    try:
        return tuple(sorted({int(line) for line in _ASSERT_LINE.findall(ptx_text(cubin))}))
    except CubinError:
        return ()
