"""The table of costs is what the compiler gives, and `auto` is never worse than either candidate."""

from __future__ import annotations

import re

import pytest

from kernelscope.build import KernelCompiler
from tests.write_patch_cost import ARCHITECTURES, PACKAGES, PAGE, line_of, rows

LINES = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ") and "/" in line]
CELL = re.compile(r"(\d+) / (\d+) / (\d+) / (\d+)%")


def order(cell: str) -> tuple[int, int, int] | None:
    """Spills, then occupancy, then instructions: smaller is better. None for a form that there is not."""
    found = CELL.match(cell)
    if found is None:
        return None
    _, spills, instructions, occupancy = map(int, found.groups())
    return spills, -occupancy, instructions


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_auto_is_never_worse_than_either_candidate() -> None:
    for line in LINES:
        _, kernel, _, minimal, inductor, _, auto = cells(line)
        best = min(o for o in (order(minimal), order(inductor)) if o is not None)
        assert order(auto) == best, kernel


def test_every_package_with_a_patch_is_in_the_table() -> None:
    assert {cells(line)[0] for line in LINES} == set(PACKAGES)


def test_every_way_compiles_for_every_architecture() -> None:
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(r"compiles for ([^:]+): (\d+) cubins, 0 failures", text)
    assert found is not None and found[1] == ", ".join(f"sm_{a}" for a in ARCHITECTURES)
    assert int(found[2]) >= 2 * len(LINES) * len(ARCHITECTURES)


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("name", ["layernorm.unbounded", "cumsum.unbounded"])
def test_the_table_is_what_the_compiler_gives(name: str) -> None:
    with KernelCompiler() as compiler:
        assert [line_of(row) for row in rows(name, compiler, (100,))] == [line for line in LINES if cells(line)[0] == name]
