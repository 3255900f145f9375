"""The tests that a launcher gets fail exactly where its grid loses high bits, on the way to it too."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kernelscope.cpp_wrapper.function_slices import slice_wrapper
from kernelscope.rewrite.edits import Edit, applied
from kernelscope.rewrite.launcher_view import launcher_view
from kernelscope.rewrite.patch_file import load_patches

#: What torch 2.11 and 2.14 write for a grid whose y is spread over z, and for one that is not.
LAUNCHERS = """
static void call_spread(int64_t ynumel, int64_t xnumel) {
    uint32_t y_grid_raw_ = ((ynumel + (8 - 1)) / (8));
    uint32_t y_grid_div_ = ((y_grid_raw_ + (65535 - 1)) / (65535));
    uint32_t grid_0 = ((xnumel + (32 - 1)) / (32));
    uint32_t grid_1 = (y_grid_div_ == 0 ? 0 : ((y_grid_raw_ + (y_grid_div_ - 1)) / (y_grid_div_)));
    uint32_t grid_2 = y_grid_div_;
    launchKernel(grid_0, grid_1, grid_2);
}
static void call_plain(int64_t xnumel) {
    uint32_t grid_0 = xnumel;
    uint32_t grid_1 = 1;
    uint32_t grid_2 = 1;
    launchKernel(grid_0, grid_1, grid_2);
}
"""
MAIN = """
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
static void launchKernel(uint32_t x, uint32_t y, uint32_t z) { std::printf("%u %u %u\\n", x, y, z); }
LAUNCHERS
int main(int count, char** given) {
    for (int i = 1; i + 1 < count; i += 2) {
        long long y = std::atoll(given[i]), x = std::atoll(given[i + 1]);
        try { if (y < 0) call_plain(x); else call_spread(y, x); }
        catch (const std::runtime_error& error) { std::printf("%s\\n", error.what()); }
    }
}
"""
TRUE_GRIDS = [  # y, x (y -1: the plain launcher), what is launched or told
    (8, 32, "1 1 1"),
    (0, 32, "1 0 0"),
    (8 * 65536, 64, "2 32768 2"),
    (8 * 65535 * 65535, 1, "1 65535 65535"),
    (8 * (2**32 - 65535), 1, "spread: grid_1 exceeds 32 bits"),  # y_grid_raw_ + (y_grid_div_ - 1) wraps to 1
    (8 * (2**32 - 65534), 1, "spread: y_grid_div_ exceeds 32 bits"),  # the rounding wraps
    (8 * 2**32, 1, "spread: y_grid_raw_ exceeds 32 bits"),
    (8, 2**37, "spread: grid_0 exceeds 32 bits"),
    (-1, 2**32 - 1, "4294967295 1 1"),
    (-1, 2**32, "plain: grid_0 exceeds 32 bits"),
]


def with_tests(text: str) -> str:
    """The launchers with the tests that the shipped patch puts into them."""
    (patch,) = [p for p in load_patches().launcher if p.name == "truncated_grids"]
    views = [launcher_view(launcher, frozenset()) for launcher in slice_wrapper(text, "example").launchers]
    return applied(text, [e for view in views for e in patch.rewrite(view) if isinstance(e, Edit)])


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_a_grid_is_launched_whole_or_not_at_all(tmp_path: Path) -> None:
    source, program = tmp_path / "launchers.cpp", tmp_path / "launchers"
    source.write_text(MAIN.replace("LAUNCHERS", with_tests(LAUNCHERS)), encoding="utf-8")
    subprocess.run(["g++", "-O1", source, "-o", program], check=True)
    sizes = [str(size) for y, x, _ in TRUE_GRIDS for size in (y, x)]
    printed = subprocess.run([program, *sizes], check=True, capture_output=True, text=True).stdout.splitlines()
    assert printed == [expected for *_, expected in TRUE_GRIDS]
