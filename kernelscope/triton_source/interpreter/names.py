"""What names mean: the modules that kernels import, their functions and types, Python's builtins."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from kernelscope.triton_source.interpreter.values import LibraryFunction, Namespace, Value
from kernelscope.triton_source.scalar_types import BY_NAME

#: Modules under the name by which the rest of the interpreter knows them.
_MODULES = {
    "triton": "triton",
    "triton.language": "tl",
    "triton.language.math": "tl.math",
    "triton.language.extra.libdevice": "libdevice",
    "triton.language.extra.cuda.libdevice": "libdevice",
    "torch._inductor.runtime.triton_helpers": "triton_helpers",
    "torch._inductor.runtime.triton_helpers.libdevice": "libdevice",
    "torch._inductor.runtime.triton_helpers.math": "tl.math",
    "torch._inductor.runtime.triton_compat.libdevice": "libdevice",
    "torch._inductor.runtime.triton_compat.math": "tl.math",
    "torch._inductor.runtime.triton_compat.tl": "tl",
}

#: Names that Inductor's kernels use, for texts that lack their imports.
_USUAL = {
    "tl": "tl", "triton": "triton", "triton_helpers": "triton_helpers", "libdevice": "libdevice", "tl_math": "tl.math",
    "math": "tl.math",
}  # fmt: skip

_BUILTINS = frozenset(
    {"range", "min", "max", "len", "int", "float", "bool", "abs", "isinstance", "print", "tuple", "list", "getattr",
     "hasattr", "str", "round"}
)  # fmt: skip

_SUBMODULES = frozenset({"math", "extra", "core", "standard", "extra.cuda", "extra.libdevice", "extra.cuda.libdevice"})


def usual_names(imports: Mapping[str, str]) -> dict[str, Value]:
    """Every name known outside a function: imports (by local name, as dotted paths) and builtins."""
    return {**_WITHOUT_IMPORTS, **{name: resolve(path) for name, path in imports.items()}}


_WITHOUT_IMPORTS: Mapping[str, Value] = {
    **{name: LibraryFunction(name) for name in _BUILTINS}, **{name: Namespace(module) for name, module in _USUAL.items()}
}  # fmt: skip


@lru_cache(maxsize=1024)
def resolve(path: str) -> Value:
    """The module, type or function at a dotted import path."""
    if path in _MODULES:
        return Namespace(_MODULES[path])
    parent, _, last = path.rpartition(".")
    if parent in _MODULES:
        return member(_MODULES[parent], last)
    return Namespace(path) if not parent else LibraryFunction(path)


@lru_cache(maxsize=1024)
def member(namespace: str, attribute: str) -> Value:
    """`namespace.attribute`."""
    if namespace == "triton" and attribute == "language":
        return Namespace("tl")
    if namespace == "tl" or namespace.startswith("tl."):
        return _language_member(namespace, attribute)
    if namespace == "triton_helpers" and attribute in ("libdevice", "math", "tl"):
        return Namespace({"libdevice": "libdevice", "math": "tl.math", "tl": "tl"}[attribute])
    return LibraryFunction(f"{namespace}.{attribute}")


def _language_member(namespace: str, attribute: str) -> Value:
    inside = namespace[3:]
    if inside in ("core", "standard"):
        inside = ""
    path = f"{inside}.{attribute}" if inside else attribute
    if not inside and attribute in BY_NAME:
        return BY_NAME[attribute]
    if path in ("extra.libdevice", "extra.cuda.libdevice"):
        return Namespace("libdevice")
    if path in _SUBMODULES:
        return Namespace(f"tl.{path}")
    return LibraryFunction(f"tl.{path}")
