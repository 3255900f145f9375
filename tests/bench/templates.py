"""Launchers of the fixtures as templates: their text and how they are called, with all constants left to vary."""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

FIXTURES = Path(__file__).parents[2] / "fixtures"
SOURCES = ("resnet18", "layernorm", "vit", "transpose", "softmax2d", "cat", "embedding", "conv", "cumsum", "upsample")
COUNT = 25

_LAUNCHER = re.compile(r"^template <typename [^\n]*kernels_type_>\nstatic .*? void call_(\w+)\(.*?^}\n", re.S | re.M)
_PARAMETER = re.compile(r"^    (?:const \w+& (\w+)|int64_t (\w+)),$", re.M)
_DEFINITION = re.compile(r"^    int64_t (\w+) = ([^;\[]+);", re.M)
_SIZE = re.compile(r"^    int64_t (\w+) = \w+_size\[\d+\];", re.M)
_CUBIN = re.compile(r"(\w+)\.cubin")


@dataclass(frozen=True, slots=True)
class Template:
    """One launcher: `scalars` are its integer arguments as C++ expressions over `s10`, `s21` and `s25`."""

    name: str
    text: str
    tensors: tuple[str, ...]
    scalars: tuple[str, ...]
    elements: str
    cubin: bytes
    cubin_name: str


def wrapper_text(fixture: str) -> str:
    """The wrapper of a fixture."""
    with zipfile.ZipFile(FIXTURES / f"{fixture}.unbounded.pt2") as archive:
        name = next(n for n in archive.namelist() if n.endswith(".wrapper.cpp"))
        return archive.read(name).decode()


def templates() -> list[Template]:
    """Launchers of the source fixtures: 25, so that 100, 500 and 2,000 kernels hold each equally often."""
    found = [template for fixture in reversed(SOURCES) for template in _templates_of(fixture)]
    assert len(found) >= COUNT
    return found[:COUNT]


def _templates_of(fixture: str) -> list[Template]:
    text = wrapper_text(fixture)
    body = text[text.index("void AOTInductorModel::run_impl(") :]
    sizes = dict(zip(_SIZE.findall(body), ("s10", "s21", "s25"), strict=False))
    definitions = dict(_DEFINITION.findall(body))
    found = []
    with zipfile.ZipFile(FIXTURES / f"{fixture}.unbounded.pt2") as archive:
        members = {n.rpartition("/")[2]: n for n in archive.namelist()}
        for launcher in _LAUNCHER.finditer(text):
            cubin = _CUBIN.search(launcher[0])
            assert cubin is not None
            binary = archive.read(members[cubin[0]])
            found.append(_template(launcher, body, definitions, sizes, binary, cubin[1]))
    return found


def _template(
    launcher: re.Match[str], body: str, definitions: dict[str, str], sizes: dict[str, str], binary: bytes, cubin: str
) -> Template:
    name, text = launcher[1], launcher[0]
    call = re.search(rf"^    call_{name}\((.*), this->device_idx_", body, re.M)
    assert call is not None
    parameters = _PARAMETER.findall(text)
    arguments = call[1].split(", ")
    scalars = [
        (parameter, _expanded(argument, definitions, sizes))
        for (tensor, parameter), argument in zip(parameters, arguments, strict=True)
        if not tensor
    ]
    numels = [value for parameter, value in scalars if parameter.endswith("numel")]
    tensors = tuple(tensor for tensor, _ in parameters if tensor)
    elements = "*".join(f"({n})" for n in numels)
    return Template(name, text, tensors, tuple(value for _, value in scalars), elements, binary, cubin)


def _expanded(expression: str, definitions: dict[str, str], sizes: dict[str, str]) -> str:
    """The expression with derived sizes written out and the fixture's symbols renamed."""
    while True:
        replaced = re.sub(
            r"\b[a-z]\w*\b",
            lambda m: sizes.get(m[0]) or (f"({definitions[m[0]]})" if m[0] in definitions else m[0]),
            expression,
        )
        if replaced == expression or all(n in sizes.values() for n in re.findall(r"\b[a-z]\w*\b", replaced)):
            return replaced
        expression = replaced
