"""A wrapper of which only some launchers are read tells of these what it tells when it is read as a whole."""

from __future__ import annotations

import pytest

from kernelscope.cpp_wrapper import read_wrapper
from tests.cpp_wrapper.wrappers import FIXTURES, wrapper_text

PACKAGES = sorted(
    str(path.relative_to(FIXTURES)).removesuffix(".pt2")
    for folder in (".", "torch28", "torch211", "extra")
    for path in (FIXTURES / folder).glob("*.pt2")
)
BARE = sorted(f"cpp_wrappers/{path.name.removesuffix('.wrapper.cpp')}" for path in (FIXTURES / "cpp_wrappers").glob("*.cpp"))


@pytest.mark.parametrize("name", [*PACKAGES, *BARE])
def test_what_is_read_is_the_same_whether_others_are_read_or_not(name: str) -> None:
    text = wrapper_text(name)
    whole = read_wrapper(text, name)
    launchers = list(dict.fromkeys(launch.launcher_name for launch in whole.launches))
    for launcher in launchers[:3] + launchers[-1:]:
        part = read_wrapper(text, name, frozenset({launcher}))
        wanted = [launch for launch in whole.launches if launch.launcher_name == launcher]
        assert [launch for launch in part.launches if launch.launcher_name == launcher] == wanted
        assert [k for k in part.kernels if k.launcher_name == launcher] == [
            k for k in whole.kernels if k.launcher_name == launcher
        ]
        assert part.symbols == whole.symbols and part.device == whole.device
        assert not set(part.damaged) - set(whole.damaged)


def test_launchers_that_are_left_out_are_not_read() -> None:
    text = wrapper_text("resnet18.unbounded")
    whole = read_wrapper(text, "w")
    part = read_wrapper(text, "w", frozenset({whole.launches[-1].launcher_name}))
    assert len({launch.launcher_name for launch in part.launches}) == len(part.kernels) == 1
    assert part.launches[-1].index == whole.launches[-1].index > len(part.launches)
