"""A grid that does not fit into the 32 bits in which the wrapper holds it."""

from __future__ import annotations

from kernelscope.rewrite import Declined, Edit, Example
from kernelscope.rewrite.launcher_view import LauncherView

TITLE = "a truncated grid is an error instead of a launch that does nothing"
WHY = """`uint32_t grid_0 = xnumel;` drops the high bits: 2**32 blocks become 0, the launcher returns, and the output
is never written. CUDA could not launch such a grid anyhow; the wrapper has to say so (seen in torch 2.8 to 2.14).
Where y is spread over z, `uint32_t y_grid_raw_` is what drops them, and sums of it wrap before `grid_1` is set: each
is tested, in 64 bits."""

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
    Example(
        before="""
            static void call_flip(int64_t ynumel, int64_t xnumel) {
                uint32_t y_grid_raw_ = ((ynumel + (8 - 1)) / (8));
                uint32_t y_grid_div_ = ((y_grid_raw_ + (65535 - 1)) / (65535));
                uint32_t grid_0 = 1;
                uint32_t grid_1 = (y_grid_div_ == 0 ? 0 : ((y_grid_raw_ + (y_grid_div_ - 1)) / (y_grid_div_)));
                uint32_t grid_2 = y_grid_div_;
            }
        """,
        after="""
            static void call_flip(int64_t ynumel, int64_t xnumel) {
                uint32_t y_grid_raw_ = ((ynumel + (8 - 1)) / (8));
                if (int64_t(y_grid_raw_) != int64_t(((ynumel + (8 - 1)) / (8)))) throw std::runtime_error("flip: y_grid_raw_ exceeds 32 bits");
                uint32_t y_grid_div_ = ((y_grid_raw_ + (65535 - 1)) / (65535));
                if (int64_t(y_grid_div_) != int64_t(((int64_t(y_grid_raw_) + (65535 - 1)) / (65535)))) throw std::runtime_error("flip: y_grid_div_ exceeds 32 bits");
                uint32_t grid_0 = 1;
                uint32_t grid_1 = (y_grid_div_ == 0 ? 0 : ((y_grid_raw_ + (y_grid_div_ - 1)) / (y_grid_div_)));
                if (int64_t(grid_1) != int64_t((int64_t(y_grid_div_) == 0 ? 0 : ((int64_t(y_grid_raw_) + (int64_t(y_grid_div_) - 1)) / (int64_t(y_grid_div_)))))) throw std::runtime_error("flip: grid_1 exceeds 32 bits");
                uint32_t grid_2 = y_grid_div_;
            }
        """,  # noqa: E501
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
    checked: set[str] = set()
    for dimension in launcher.grid:
        value = launcher.in_64_bits(dimension)
        if value.strip("() ").isdigit() or dimension.value in checked:
            continue
        if dimension.type not in ("uint32_t", "unsigned int", "int", "int32_t"):
            found.append(Declined(f"{dimension.name} is held as {dimension.type}"))
            continue
        error = f'throw std::runtime_error("{launcher.name}: {dimension.name} exceeds 32 bits");'
        test = f"int64_t({dimension.name}) != int64_t({value})"
        found.append(launcher.inserted_after(dimension, f"if ({test}) {error}"))
        checked.add(dimension.name)
    return found
