"""Patch files: one rewrite each, with its reason and the examples that prove it.

The type of the function's first parameter says what it is called with: libcst nodes of a kernel, or a launcher of the
wrapper."""

from __future__ import annotations

import importlib.util
import sys
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import ModuleType, UnionType

import libcst as cst

from kernelscope.errors import KernelscopeError
from kernelscope.rewrite.edits import Declined, Edit, Example
from kernelscope.rewrite.kernel_view import KernelView
from kernelscope.rewrite.launcher_view import LauncherView

KernelRewrite = Callable[[cst.CSTNode, KernelView], "Edit | Declined | None"]
LauncherRewrite = Callable[[LauncherView], "Sequence[Edit | Declined]"]

_PACKAGE = "kernelscope_patches"


@dataclass(frozen=True, slots=True)
class KernelPatch:
    """A patch of kernel texts: `rewrite` is called for each node of a type in `node_types`."""

    name: str
    title: str
    why: str
    examples: tuple[Example, ...]
    declines: tuple[Example, ...]
    node_types: tuple[type[cst.CSTNode], ...]
    rewrite: KernelRewrite

    def results(self, kernel: KernelView) -> Iterator[tuple[cst.CSTNode, Edit | Declined]]:
        """What the patch makes of every place that concerns it."""
        for node in kernel.nodes:
            if isinstance(node, self.node_types):
                found = self.rewrite(node, kernel)
                if found is not None:
                    yield node, found


@dataclass(frozen=True, slots=True)
class LauncherPatch:
    """A patch of a wrapper's launchers."""

    name: str
    title: str
    why: str
    examples: tuple[Example, ...]
    declines: tuple[Example, ...]
    rewrite: LauncherRewrite


Patch = KernelPatch | LauncherPatch


@dataclass(frozen=True, slots=True)
class Patches:
    """All patches in force, by kind, in the order of their names; a user's patch replaces one of the same name."""

    kernel: tuple[KernelPatch, ...]
    launcher: tuple[LauncherPatch, ...]

    def named(self, name: str) -> Patch | None:
        """The patch of that name."""
        every: list[Patch] = [*self.kernel, *self.launcher]
        return next((patch for patch in every if patch.name == name), None)


def shipped_folder() -> Path:
    """Where the shipped patches lie: in the wheel inside the package, in a checkout beside it."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "patches"
    return inside if inside.is_dir() else package.parent / "patches"


def load_patches(folders: Sequence[str] = ()) -> Patches:
    """The shipped patches and those of the user's folders."""
    found: dict[str, Patch] = {}
    for folder in (shipped_folder(), *map(Path, folders)):
        if not folder.is_dir():
            raise KernelscopeError("no folder of patches", where=str(folder), try_this="give a folder of .py files")
        files = [path for path in sorted(folder.glob("*.py")) if not path.name.startswith("_")]
        if not files:
            raise KernelscopeError("no patch in this folder", where=str(folder), try_this="give a folder of .py files")
        for path in files:
            found[path.stem] = load_patch(path)
    kernel = tuple(p for p in found.values() if isinstance(p, KernelPatch))
    return Patches(kernel, tuple(p for p in found.values() if isinstance(p, LauncherPatch)))


def load_patch(path: Path) -> Patch:
    """The patch in a file; KernelscopeError says what is missing in it."""
    module = _module(path)
    texts = [_text(module, name, path) for name in ("TITLE", "WHY")]
    examples, declines = (_examples(module, name, path) for name in ("EXAMPLES", "DECLINES"))
    rewrite = _function(module, path)
    accepted = _first_parameter(rewrite, path)
    if accepted == (LauncherView,):
        return LauncherPatch(path.stem, texts[0], texts[1], examples, declines, rewrite)
    if not accepted or not all(issubclass(kind, cst.CSTNode) for kind in accepted):
        raise _incomplete(path, "its function takes no libcst node and no LauncherView")
    return KernelPatch(path.stem, texts[0], texts[1], examples, declines, accepted, rewrite)


def _module(path: Path) -> ModuleType:
    digest = sha256(str(path.resolve()).encode()).hexdigest()[:12]
    name = f"{_PACKAGE}.{path.stem}_{digest}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise _incomplete(path, "not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise _incomplete(path, f"it can't be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.dont_write_bytecode = written
    return module


def _incomplete(path: Path, what: str) -> KernelscopeError:
    return KernelscopeError(
        f"not a patch: {what}", where=str(path),
        try_this="a patch has TITLE, WHY, EXAMPLES, DECLINES and one function; see the shipped ones in patches/",
    )  # fmt: skip


def _text(module: ModuleType, name: str, path: Path) -> str:
    value = getattr(module, name, None)
    if not isinstance(value, str) or not value.strip():
        raise _incomplete(path, f"no text {name}")
    return value


def _examples(module: ModuleType, name: str, path: Path) -> tuple[Example, ...]:
    value = getattr(module, name, None)
    if not isinstance(value, (list, tuple)) or not value or not all(isinstance(e, Example) for e in value):
        raise _incomplete(path, f"{name} is no list of examples")
    return tuple(value)


def _function(module: ModuleType, path: Path) -> Callable[..., typing.Any]:
    own = [f for name, f in vars(module).items() if callable(f) and not name.startswith("_")
           and getattr(f, "__module__", None) == module.__name__ and not isinstance(f, type)]  # fmt: skip
    if len(own) != 1:
        raise _incomplete(path, f"{len(own)} public functions")
    found: Callable[..., typing.Any] = own[0]
    return found


def _first_parameter(function: Callable[..., object], path: Path) -> tuple[type, ...]:
    try:
        hints = typing.get_type_hints(function)
    except (NameError, TypeError, AttributeError) as error:
        raise _incomplete(path, f"its annotations name nothing known: {error}") from error
    first = next((hint for name, hint in hints.items() if name != "return"), None)
    if isinstance(first, UnionType) or typing.get_origin(first) is typing.Union:
        return tuple(part for part in typing.get_args(first) if isinstance(part, type))
    return (first,) if isinstance(first, type) else ()
