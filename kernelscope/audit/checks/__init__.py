"""The checks, one file each: what it looks for, and examples from which tests and documentation are made."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from inspect import cleandoc
from pkgutil import iter_modules
from types import ModuleType

from kernelscope.audit.checks.example import Example
from kernelscope.errors import KernelscopeError


@dataclass(frozen=True, slots=True)
class Check:
    """A code with its title, explanation (Markdown) and examples."""

    code: str
    title: str
    explanation: str
    safe: tuple[Example, ...]
    unsafe: tuple[Example, ...]
    unknown: tuple[Example, ...]

    @property
    def examples(self) -> tuple[Example, ...]:
        return self.unsafe + self.safe + self.unknown


def all_checks() -> list[Check]:
    """Every module of this package that has a code, in the order of the codes."""
    modules = (import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))
    return sorted((_check(module) for module in modules if hasattr(module, "CODE")), key=lambda check: check.code)


def check_of(code: str) -> Check:
    """The check with a code, in capitals or not."""
    checks = {check.code: check for check in all_checks()}
    if code.upper() not in checks:
        raise KernelscopeError("no such code", where=code, try_this="`kernelscope explain` lists all")
    return checks[code.upper()]


def _check(module: ModuleType) -> Check:
    return Check(
        module.CODE, module.TITLE, cleandoc(module.__doc__ or ""), module.SAFE, module.UNSAFE, module.UNKNOWN
    )  # fmt: skip


__all__ = ["Check", "Example", "all_checks", "check_of"]
