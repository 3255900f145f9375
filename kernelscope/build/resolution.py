"""Looks at what the names of a rebuilt kernel lead to, in the process that is to compile it."""

from __future__ import annotations

import importlib
import types
from enum import Enum

from kernelscope.build.restricted_module import RestrictedModule, RestrictionError, is_kernel_module

_PLAIN_FUNCTIONS = frozenset({"cdiv", "next_power_of_2"})


def check_names(module: RestrictedModule) -> None:
    """RestrictionError unless every imported name leads to Triton's own functions, types and constants."""
    scope: dict[str, object] = {}
    for path, member, name in module.imports:
        imported = importlib.import_module(path)
        if member is None:
            root = path.partition(".")[0]
            scope[name] = importlib.import_module(root) if name == root else imported
        elif hasattr(imported, member):
            scope[name] = getattr(imported, member)
        else:
            scope[name] = importlib.import_module(f"{path}.{member}")
    for chain in sorted(module.chains):
        if chain[0] in scope:
            _check_chain(chain, scope[chain[0]])


def _check_chain(chain: tuple[str, ...], value: object) -> None:
    for depth in range(len(chain)):
        if depth:
            if not hasattr(value, chain[depth]):
                raise RestrictionError(f"{'.'.join(chain[: depth + 1])} does not exist in this version of Triton")
            value = getattr(value, chain[depth])
        if isinstance(value, types.ModuleType):
            if not _is_allowed_module(value.__name__):
                raise RestrictionError(f"{'.'.join(chain)} leads to the module {value.__name__}")
        elif not _is_harmless(value):
            raise RestrictionError(f"{'.'.join(chain)} is no function or constant of Triton")


def _is_allowed_module(name: str) -> bool:
    return is_kernel_module(name) or name.rpartition(".")[2] == "libdevice" and name.startswith("triton.")


def _is_harmless(value: object) -> bool:
    from triton import language
    from triton.runtime import jit

    callable_type: object = getattr(jit, "JITCallable", jit.JITFunction)
    if isinstance(callable_type, type) and isinstance(value, callable_type) or language.core.is_builtin(value):
        return True
    if isinstance(value, (bool, int, float, str, type(None), Enum, language.dtype, language.constexpr)):
        return True
    kind = value if isinstance(value, type) else type(value)
    if kind.__module__ == "triton.runtime.interpreter" and kind.__name__ == "InterpretedFunction":
        return True  # a jitted function where TRITON_INTERPRET is set
    home = getattr(value, "__module__", None) or kind.__module__
    if isinstance(value, types.FunctionType):
        return home.startswith("triton.") and (value.__name__ in _PLAIN_FUNCTIONS or home.endswith("libdevice"))
    return home.startswith(("triton.language", "triton._C")) or value in (int, float, bool)
