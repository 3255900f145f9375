"""What a load gives on lanes that are masked off: `other`, or nothing that can be relied on."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelscope.audit.results import UnsafeFinding, Verdict
from tests.audit.test_hidden_ways import audited

_LOAD = "o = tl.program_id(0) * B + tl.arange(0, B)\nt = tl.load(i_ptr + o, mask=o < {limit}{other})\n"
_SMALL = "[0, 3]"


def kernel(use: str, limit: str = "n", other: str = "") -> str:
    return _LOAD.format(limit=limit, other=other) + use


SAFE = {
    "read under the load's own mask": kernel("tl.store(x_ptr + t * 500000000, 1.0, mask=o < n)"),
    "small other": kernel("tl.store(x_ptr + t * 500000000, 1.0)", other=", other=2"),
    "summed with other": kernel("tl.store(x_ptr + tl.sum(t, 0), 1.0)", "5", ", other=0"),
}
NOT_SAFE = {
    "read on more lanes": kernel("tl.store(x_ptr + t * 500000000, 1.0, mask=o < n)", "5"),
    "summed": kernel("tl.store(x_ptr + tl.sum(t, 0), 1.0)", "5"),
    "counted up": kernel("tl.store(x_ptr + tl.cumsum(t, 0), 1.0, mask=o < n)", "5"),
    "large other": kernel("tl.store(x_ptr + t * 500000000, 1.0)", other=", other=5"),
    "counted up with a large other": kernel("tl.store(x_ptr + tl.cumsum(t, 0), 1.0, mask=o < n)", other=", other=100000000"),
}


@pytest.mark.parametrize("body", SAFE.values(), ids=SAFE.keys())
def test_declared_values_hold_where_the_load_is_live(body: str, tmp_path: Path) -> None:
    assert audited(tmp_path, body, 2**20, values=_SMALL).verdict is Verdict.SAFE


@pytest.mark.parametrize("body", NOT_SAFE.values(), ids=NOT_SAFE.keys())
def test_a_masked_lane_without_other_is_anything(body: str, tmp_path: Path) -> None:
    result = audited(tmp_path, body, 2**20, values=_SMALL)
    assert result.verdict is not Verdict.SAFE
    for finding in (f for k in result.kernels for f in k.findings if isinstance(f, UnsafeFinding)):
        assert finding.witness.loaded.get("i_ptr", 0) in range(4), "no witness rests on what memory cannot hold"
