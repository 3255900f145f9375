"""Finds the input sizes at which compiled Triton kernels overflow, and proves the rest safe.

`kernelscope.audit(paths)` and `kernelscope.bounds(path)` are the library's faces of the commands with these names.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False  # known to type checkers; `typing` itself takes longer to import than all of this
if TYPE_CHECKING:
    from kernelscope.advice.advise import advise
    from kernelscope.audit import audit
    from kernelscope.audit import largest_safe_sizes as bounds
    from kernelscope.diffing import diff
    from kernelscope.errors import InternalError, KernelscopeError
    from kernelscope.isolation import isolate
    from kernelscope.packaging import (
        Int64Policy,
        UnsafeIndexError,
        UnsafeIndexWarning,
        aoti_compile_and_package,
        hook,
    )
    from kernelscope.patching import patch
    from kernelscope.replay.replaying import replay
    from kernelscope.rewrite.rewriting import Strategy

__version__ = "0.1.0"

#: Public functions that share their name with a subpackage: where the function lives.
_CALLABLE_STAGES = {
    "audit": ("kernelscope.audit", "audit"),
    "bounds": ("kernelscope.audit", "largest_safe_sizes"),
    "replay": ("kernelscope.replay.replaying", "replay"),
}
_LAZY = {
    "advise": ("kernelscope.advice.advise", "advise"),
    "diff": ("kernelscope.diffing.comparison", "diff"),
    "isolate": ("kernelscope.isolation.isolate", "isolate"),
    "aoti_compile_and_package": ("kernelscope.packaging", "aoti_compile_and_package"),
    "hook": ("kernelscope.packaging.compilation_hook", "hook"),
    "Int64Policy": ("kernelscope.packaging", "Int64Policy"),
    "UnsafeIndexError": ("kernelscope.packaging", "UnsafeIndexError"),
    "UnsafeIndexWarning": ("kernelscope.packaging", "UnsafeIndexWarning"),
    "patch": ("kernelscope.patching", "patch"),
    "Strategy": ("kernelscope.rewrite.rewriting", "Strategy"),
    "KernelscopeError": ("kernelscope.errors", "KernelscopeError"),
    "InternalError": ("kernelscope.errors", "InternalError"),
}


def _load(place: tuple[str, str]) -> object:
    module, name = place
    loaded: object = getattr(import_module(module), name)
    return loaded


class _CallableStage(ModuleType):
    """A subpackage that can be called as the public function of the same name."""

    def __call__(self, *args: object, **keywords: object) -> object:
        entry = _load(_CALLABLE_STAGES[self.__name__.rpartition(".")[2]])
        assert callable(entry)
        return entry(*args, **keywords)


class _Package(ModuleType):
    """Makes a subpackage callable when the import system binds it to its name here."""

    def __setattr__(self, name: str, value: object) -> None:
        if name in _CALLABLE_STAGES and type(value) is ModuleType:
            value.__class__ = _CallableStage
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> object:
    if name in _CALLABLE_STAGES:
        return import_module(f"kernelscope.{name}")
    if name in _LAZY:
        return _load(_LAZY[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_CALLABLE_STAGES, *_LAZY])


__all__ = [
    "Int64Policy", "InternalError", "KernelscopeError", "Strategy", "UnsafeIndexError", "UnsafeIndexWarning", "__version__",
    "advise", "aoti_compile_and_package", "audit", "bounds", "diff", "hook", "isolate", "patch", "replay",
]  # fmt: skip
