"""A grid that does not fit into the 32 bits in which the wrapper holds it."""

from __future__ import annotations

from kernelscope.rewrite import Declined, Edit, Example
from kernelscope.rewrite.launcher_view import LauncherView

TITLE = "a truncated grid is an error instead of a launch that does nothing"
WHY = """`uint32_t grid_0 = xnumel;` drops the high bits: 2**32 blocks become 0, the launcher returns, and the output
is never written. CUDA could not launch such a grid anyhow; the wrapper has to say so (seen in torch 2.8 to 2.14)."""

EXAMPLES = (
    Example(
        before="""
            static void call_negate(int64_t xnumel) {
                uint32_t grid_0 = xnumel;
                uint32_t grid_1 = 1;
                if (grid_0 == 0 || grid_1 == 0) return;
            }
        """,
        after="""
            static void call_negate(int64_t xnumel) {
                uint32_t grid_0 = xnumel;
                if (int64_t(grid_0) != int64_t(xnumel)) throw std::runtime_error("negate: grid_0 exceeds 32 bits");
                uint32_t grid_1 = 1;
                if (grid_0 == 0 || grid_1 == 0) return;
            }
        """,
    ),
)

DECLINES = (
    Example(
        before="""
            static void call_negate(int64_t xnumel) {
                int64_t grid_0 = xnumel;
            }
        """,
        after="held as int64_t",
    ),
)


def check(launcher: LauncherView) -> list[Edit | Declined]:
    """A test after each grid dimension that is computed from sizes."""
    found: list[Edit | Declined] = []
    for dimension in launcher.grid:
        value = dimension.value
        if value.strip("() ").isdigit():
            continue
        if dimension.type not in ("uint32_t", "unsigned int", "int", "int32_t"):
            found.append(Declined(f"{dimension.name} is held as {dimension.type}"))
            continue
        error = f'throw std::runtime_error("{launcher.name}: {dimension.name} exceeds 32 bits");'
        test = f"int64_t({dimension.name}) != int64_t({value})"
        found.append(launcher.inserted_after(dimension, f"if ({test}) {error}"))
    return found
