from __future__ import annotations

import pytest

from kernelscope.report.quantities import bytes_text, counted, listed, range_text, share_text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1023, "1023 bytes"),
        (1024, "1 KiB"),
        (3 << 29, "1.5 GiB"),
        (288 << 30, "288 GiB"),
    ],
)
def test_bytes_are_told_in_the_largest_unit(count: int, text: str) -> None:
    assert bytes_text(count) == text


def test_a_share_below_the_limit_is_never_called_all_of_it() -> None:
    assert share_text(2147483646, 2147483647) == "99 %"
    assert share_text(2147483647, 2147483647) == "100 %"
    assert share_text(1, 2147483647) == "< 1 %"


def test_lists_and_ranges() -> None:
    assert listed(["a", "b", "c"], 2) == "a, b and 1 more"
    assert listed(["a", "b"], 2) == "a, b"
    assert range_text(2, None) == "[2, no limit]"
    assert (counted(1, "kernel"), counted(2, "kernel")) == ("1 kernel", "2 kernels")
