"""The kernels that tests read: those of every fixture package and every case."""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from kernelscope.triton_source import KernelDeclaration, read_declarations
from kernelscope.triton_source.scalar_types import ValueType, from_signature

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
_SOURCE = re.compile(r"async_compile\.triton\('([^']+)', '''(.*?)'''", re.DOTALL)

#: Plausible compile-time values for block sizes that no source holds.
BLOCKS = {
    "XBLOCK": 64, "YBLOCK": 32, "ZBLOCK": 4, "R0_BLOCK": 128, "R1_BLOCK": 4, "RSPLIT": 4, "RSPLIT_SIZE": 64,
    "NUM_STAGES": 1, "BLOCK": 1024,
}  # fmt: skip


@dataclass(frozen=True)
class Kernel:
    """One kernel text with a declaration of it."""

    where: str
    text: str
    declaration: KernelDeclaration

    facts: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    @property
    def signature(self) -> dict[str, str]:
        """Parameter types as signatures spell them: the decorator's, and a launch file's."""
        found = dict(self.declaration.signature)
        for name, tensor in self.facts.get("tensors", {}).items():
            found[name] = f"*{tensor['dtype']}"
        found.update((name, str(kind)) for name, kind in self.facts.get("types", {}).items())
        return found

    @property
    def types(self) -> dict[str, ValueType]:
        pairs = ((name, from_signature(kind)) for name, kind in self.signature.items())
        return {name: kind for name, kind in pairs if kind is not None}

    def constexprs(self, blocks: Mapping[str, object] = BLOCKS) -> dict[str, object]:
        known = {**self.declaration.constants, **self.facts.get("constexpr", {})}
        for name in self.declaration.constexpr_parameters:
            known.setdefault(name, _block(name, blocks))
        return known


def _block(name: str, blocks: Mapping[str, object]) -> object:
    return blocks.get(name, blocks.get(re.sub(r"_\d+$", "", name), 16))


def _texts() -> Iterator[tuple[str, str]]:
    for package in sorted((ROOT / "fixtures").glob("**/*.pt2")):
        with zipfile.ZipFile(package) as archive:
            for member in archive.namelist():
                if member.endswith("wrapper.cpp"):
                    for _, text in _SOURCE.findall(archive.read(member).decode()):
                        yield package.relative_to(ROOT).as_posix(), text


@lru_cache(maxsize=1)
def fixture_kernels() -> tuple[Kernel, ...]:
    """Every distinct kernel of the fixture packages."""
    found: dict[str, Kernel] = {}
    for where, text in _texts():
        if text not in found:
            for declaration in read_declarations(text):
                found[text] = Kernel(f"{where}:{declaration.name}", text, declaration)
    return tuple(found.values())


@lru_cache(maxsize=1)
def case_kernels() -> tuple[Kernel, ...]:
    """The kernel of every case."""
    return tuple(
        Kernel(path.stem, path.read_text(), declaration, tomllib.loads(path.with_suffix(".toml").read_text()))
        for path in sorted((ROOT / "tests" / "cases").glob("*_*.py")) if path.stem[0].isdigit()
        for declaration in read_declarations(path.read_text())
    )  # fmt: skip


_USER_VALUES = {"BM": 32, "BN": 16, "BK": 16, "G": 8, "SMS": 132}


@lru_cache(maxsize=1)
def user_kernels() -> tuple[Kernel, ...]:
    """The hand-written kernels of `user_kernels.py`, each with 32-bit and with mixed sizes."""
    path = Path(__file__).with_name("user_kernels.py")
    text = path.read_text()
    found: list[Kernel] = []
    for declaration in read_declarations(text):
        runtime = [name for name in declaration.parameters if name not in declaration.constexpr_parameters]
        blocks = {name: _USER_VALUES[name] for name in declaration.constexpr_parameters}
        for number, wide in enumerate(((), ("M", "sam"), ("N", "sbk", "scm"))):
            types = {n: "*fp32" if n in ("a", "b", "c") else "i64" if n in wide else "i32" for n in runtime}
            facts = {"types": types, "constexpr": blocks}
            found.append(Kernel(f"user_kernels:{declaration.name}-{number}", text, declaration, facts))
    return tuple(found)
