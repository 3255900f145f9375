"""torch's packaging call and what an exported program declares, by the names that torch gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kernelscope.errors import KernelscopeError

TESTED = ("2.8", "2.14")


def unsupported(name: str) -> KernelscopeError:
    """The error for a torch that lacks a name, or for no torch at all."""
    try:
        import torch
    except ImportError:
        return KernelscopeError(
            "torch is not installed, and packaging is torch's", try_this="pip install 'kernelscope[build]'"
        )
    return KernelscopeError(
        f"torch {torch.__version__} has no {name}", try_this=f"use a version that was tested: {' or '.join(TESTED)}"
    )


def compile_and_package() -> Callable[..., str]:
    """`torch._inductor.aoti_compile_and_package`, which the torch documentation itself uses; KernelscopeError without it."""
    try:
        import torch._inductor as inductor
    except ImportError:
        raise unsupported("torch._inductor") from None
    function = getattr(inductor, "aoti_compile_and_package", None)
    if not callable(function):
        raise unsupported("torch._inductor.aoti_compile_and_package")
    original: Callable[..., str] = _ORIGINALS.get(function, function)
    return original


#: What stands in for torch's function, and torch's function itself.
_ORIGINALS: dict[Callable[..., str], Callable[..., str]] = {}


def replace_compile_and_package(replacement: Callable[..., str]) -> Callable[[], None]:
    """Makes `torch._inductor.aoti_compile_and_package` another function; what is returned undoes that."""
    import torch._inductor as inductor

    before = inductor.aoti_compile_and_package
    _ORIGINALS[replacement] = compile_and_package()
    inductor.aoti_compile_and_package = replacement  # type: ignore[assignment, unused-ignore]

    def restore() -> None:
        inductor.aoti_compile_and_package = before
        _ORIGINALS.pop(replacement, None)

    return restore


def declared_ranges(program: Any) -> Mapping[str, tuple[int, int | None]]:  # noqa: ANN401  ExportedProgram
    """The inclusive range of each symbol of an exported program, as its user declared it; None: no bound."""
    constraints = getattr(program, "range_constraints", None)
    if not isinstance(constraints, Mapping):
        raise KernelscopeError(
            "the exported program has no range_constraints", try_this="give what torch.export returns"
        )
    return {str(symbol): (whole_end(r.lower) or 0, whole_end(r.upper)) for symbol, r in constraints.items()}


def whole_end(value: object) -> int | None:
    """An end of a range, None where it has none: torch's own infinities (`int_oo`) and sympy's are no integers."""
    try:
        return int(value)  # type: ignore[call-overload, no-any-return]
    except (TypeError, OverflowError, ValueError, AttributeError):
        return None

