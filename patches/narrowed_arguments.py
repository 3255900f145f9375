"""The wrapper's variable that carries a size to the kernel."""

from __future__ import annotations

from kernelscope.rewrite import Declined, Edit, Example
from kernelscope.rewrite.launcher_view import LauncherView

TITLE = "the wrapper passes widened arguments in 64 bits"
WHY = """Each argument is copied to a variable of the signature's type, `int32_t var_3 = xnumel;`, whose address the
launch gets (`int` in torch 2.8, whatever the signature). Once the kernel wants an i64 it reads 8 bytes there: type
and signature have to change together."""

EXAMPLES = (
    Example(
        before="""
            static void call_negate(const T& x, int64_t xnumel, int64_t ynumel) {
                int32_t var_1 = xnumel;
                int32_t var_2 = ynumel;
            }
        """,
        after="""
            static void call_negate(const T& x, int64_t xnumel, int64_t ynumel) {
                int64_t var_1 = xnumel;
                int32_t var_2 = ynumel;
            }
        """,
        types={"xnumel": "i64"},
    ),
)

DECLINES = (
    Example(
        before="""
            static void call_negate(const T& x, float scale) {
                float var_1 = scale;
            }
        """,
        after="passed as float",
        types={"scale": "i64"},
    ),
)

_NARROW = ("int", "int32_t", "uint32_t")


def retype(launcher: LauncherView) -> list[Edit | Declined]:
    """`int32_t var_3 = xnumel;` becomes `int64_t var_3 = xnumel;` for each widened parameter."""
    found: list[Edit | Declined] = []
    for name in sorted(launcher.widened):
        passed = [scalar for scalar in launcher.scalars if scalar.value.strip("() ") == name]
        if not passed:
            found.append(Declined(f"{name} is not passed by a variable of its own"))
        for scalar in passed:
            if scalar.type in _NARROW:
                found.append(launcher.retyped(scalar, "int64_t"))
            elif scalar.type != "int64_t":
                found.append(Declined(f"{name} is passed as {scalar.type}"))
            declared = launcher.parameters.get(name)
            if declared in _NARROW:
                found.append(Declined(f"the launcher itself takes {name} as {declared}"))
    return found
