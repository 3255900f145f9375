"""What is mutated: small fixtures and the single-kernel cases."""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from tests.fuzz.mutation import damaged_bytes, damaged_text, damaged_tokens, other_arithmetic

ROOT = Path(__file__).parents[2]
_PACKAGES = (
    "layernorm.small",
    "transpose.small",
    "cat.small",
    "embedding.unbounded",
    "cumsum.small",
    "userkernel.huge",
)
_NAMES = ("../../etc/x", "/abs", "a\\b", "C:x", "x\x00y", "", ".", "a/../b", "é", "n" * 5000, "w.wrapper.cpp", "x.py")


@dataclass(frozen=True, slots=True)
class Input:
    """Files to write, the one to audit, and its launch file if any. `arithmetic`: a kernel that may still be right."""

    files: dict[str, bytes]
    path: str
    launch: str | None = None
    arithmetic: bool = False


@cache
def _package(name: str) -> bytes:
    return (ROOT / "fixtures" / f"{name}.pt2").read_bytes()


@cache
def _wrapper(name: str) -> str:
    with zipfile.ZipFile(io.BytesIO(_package(name))) as archive:
        member = next(n for n in archive.namelist() if n.endswith(".wrapper.cpp"))
        return archive.read(member).decode()


@cache
def _cases() -> tuple[tuple[str, str], ...]:
    """Kernel source and launch file of every single-kernel case."""
    sources = sorted((ROOT / "tests" / "cases").glob("[0-9]*.py"))
    return tuple((s.read_text(), s.with_suffix(".toml").read_text()) for s in sources)


def package_bytes(random: Random) -> Input:
    return Input({"p.pt2": damaged_bytes(random, _package(random.choice(_PACKAGES)))}, "p.pt2")


def package_members(random: Random) -> Input:
    """A readable zip with members renamed, repeated, emptied or damaged."""
    target = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(_package(random.choice(_PACKAGES)))) as source,
        zipfile.ZipFile(target, "w", random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive,
    ):
        for member in source.infolist():
            data = source.read(member)
            name = member.filename
            match random.randrange(8):
                case 0:
                    name = random.choice(_NAMES)
                case 1:
                    name = name.rpartition("/")[0] + "/" + random.choice(_NAMES)
                case 2:
                    data = damaged_bytes(random, data) if random.random() < 0.5 else b""
                case 3 if member.filename.endswith((".cpp", ".json")):
                    data = damaged_text(random, data.decode(), 0.7)
                case _:
                    pass
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # names given twice
                archive.writestr(zipfile.ZipInfo(name or "unnamed"), data)
    return Input({"p.pt2": target.getvalue()}, "p.pt2")


def wrapper(random: Random) -> Input:
    return Input({"w.wrapper.cpp": damaged_text(random, _wrapper(random.choice(_PACKAGES)), 0.65)}, "w.wrapper.cpp")


def kernel(random: Random) -> Input:
    source, launch = random.choice(_cases())
    return Input({"k.py": damaged_text(random, source, 0.3), "k.toml": launch.encode()}, "k.py", "k.toml")


def launch_file(random: Random) -> Input:
    source, launch = random.choice(_cases())
    return Input({"k.py": source.encode(), "k.toml": damaged_text(random, launch)}, "k.py", "k.toml")


def python_wrapper(random: Random) -> Input:
    folder = ROOT / "fixtures" / "python_wrappers"
    text = random.choice(sorted(folder.glob("*.py"))).read_text()
    return Input({"output_code.py": damaged_text(random, text)}, "output_code.py")


def arithmetic(random: Random) -> Input:
    source, launch = random.choice(_cases())
    mutated = other_arithmetic(random, source)
    if random.random() < 0.2:
        launch = launch.replace('"i32"', '"i64"', 1) if random.random() < 0.5 else launch.replace('"i64"', '"i32"', 1)
    if random.random() < 0.05:
        mutated = damaged_tokens(random, mutated, 0.5)
    return Input({"k.py": mutated.encode(), "k.toml": launch.encode()}, "k.py", "k.toml", arithmetic=True)


#: Each kind of input with its share.
KINDS: tuple[tuple[Callable[[Random], Input], int], ...] = (
    (package_bytes, 15), (package_members, 12), (wrapper, 20), (kernel, 15), (launch_file, 8), (python_wrapper, 5),
    (arithmetic, 25),
)  # fmt: skip


def draw_input(random: Random) -> tuple[str, Input]:
    """A mutated input and the name of its kind."""
    functions, weights = zip(*KINDS, strict=True)
    chosen = random.choices(functions, weights)[0]
    return chosen.__name__, chosen(random)
