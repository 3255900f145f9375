"""Where a wrapper loses bits or says something else than usual: one real wrapper whose kernel is made 64-bit, edited."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from kernelscope.audit import audit
from kernelscope.audit.results import ModelResult, Verdict
from tests.audit.packages import FIXTURES

_MADE_WIDE = (
    ("'xnumel': 'i32'", "'xnumel': 'i64'"),
    ("int32_t var_4 = xnumel", "int64_t var_4 = xnumel"),
    ("tl.program_id(0) * XBLOCK", "tl.program_id(0).to(tl.int64) * XBLOCK"),
)
_NUMEL = "int64_t triton_poi_fused_mul_unsqueeze_0_xnumel = s33*s6;"
_CALL = "call_triton_poi_fused_mul_unsqueeze_0(arg0_1, arg1_1, buf0, s6, triton"
#: `grid_0` has 1024 elements a block, and CUDA launches at most 2**31 - 1 of them.
_LAUNCHABLE = (2**31 - 1) * 1024 // 2


@pytest.fixture(scope="module")
def wrapper() -> str:
    with zipfile.ZipFile(FIXTURES / "extra" / "outer.unbounded.pt2") as package:
        name = next(name for name in package.namelist() if name.endswith(".wrapper.cpp"))
        text = package.read(name).decode()
    for old, new in _MADE_WIDE:
        assert old in text
        text = text.replace(old, new)
    return text


def edited(folder: Path, wrapper: str, old: str, new: str) -> ModelResult:
    assert old in wrapper
    path = folder / "edited.wrapper.cpp"
    path.write_text(wrapper.replace(old, new, 1))
    (artifact,) = audit([str(path)], device_memory=None).artifacts
    assert artifact.error is None
    return artifact.models[0]


#: The largest safe s33, then s6, with the other at 2.
LIMITS = {
    "nothing": (_NUMEL, _NUMEL, (_LAUNCHABLE, _LAUNCHABLE)),
    "variable": (_NUMEL, _NUMEL.replace("int64_t", "int32_t"), (2**30 - 1, 2**30 - 1)),
    "two steps": (_NUMEL, "int n = s33*s6; " + _NUMEL.replace("s33*s6", "n"), (2**30 - 1, 2**30 - 1)),
    "set again": (_NUMEL, _NUMEL + " triton_poi_fused_mul_unsqueeze_0_xnumel = (int)(s33*s6);", (2**30 - 1, 2**30 - 1)),
    "size of an input": ("int64_t s33 = arg0_1_size[0]", "int s33 = arg0_1_size[0]", (2**31 - 1, _LAUNCHABLE)),
    "cast in the call": (_CALL, _CALL.replace("s6", "(int)s6"), (_LAUNCHABLE, 2**31 - 1)),
    "parameter of the launcher": ("int64_t ks0,", "int32_t ks0,", (_LAUNCHABLE, 2**31 - 1)),
    "kernel argument": ("int64_t var_3 = ks0", "int32_t var_3 = ks0", (_LAUNCHABLE, 2**31 - 1)),
    "cast of a kernel argument": ("var_3 = ks0", "var_3 = static_cast<int32_t>(ks0)", (_LAUNCHABLE, 2**31 - 1)),
    "order of the grid": ("grid_0, grid_1, grid_2, 4", "grid_1, grid_0, grid_2, 4", (65535 * 512, 65535 * 512)),
}  # fmt: skip
NOT_FOLLOWED = {
    "call": (_NUMEL, _NUMEL.replace("s33*s6", "narrow(s33*s6)")),
    "lambda": (_NUMEL, _NUMEL.replace("s33*s6", "[&]{ return (int)(s33*s6); }()")),
    "float": (_NUMEL, "float n = s33*s6; " + _NUMEL.replace("s33*s6", "n")),
    "loop": (_CALL, "for (int i = 0; i < 3; i++) " + _CALL.replace(", triton", ", i*triton")),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "largest"), LIMITS.values(), ids=LIMITS.keys())
def test_largest_safe_sizes(tmp_path: Path, wrapper: str, old: str, new: str, largest: tuple[int, int]) -> None:
    model = edited(tmp_path, wrapper, old, new)
    assert (model.verdict, model.largest_safe) == (Verdict.UNSAFE, dict(zip(("s33", "s6"), largest, strict=True)))


@pytest.mark.parametrize(("old", "new"), NOT_FOLLOWED.values(), ids=NOT_FOLLOWED.keys())
def test_a_grid_that_is_not_followed_is_never_safe(tmp_path: Path, wrapper: str, old: str, new: str) -> None:
    assert edited(tmp_path, wrapper, old, new).verdict is not Verdict.SAFE


def test_kernel_arguments_go_by_position(tmp_path: Path, wrapper: str) -> None:
    """With xnumel passed as the divisor, ks0, the kernel reads s6 as its element count."""
    usual = edited(tmp_path, wrapper, _NUMEL, _NUMEL).kernels[0].launches[0]
    swapped = edited(tmp_path, wrapper, "&var_3, &var_4", "&var_4, &var_3").kernels[0].launches[0]
    values = [[getattr(argument, "value", None) for argument in launch.arguments[3:]] for launch in (usual, swapped)]
    assert values[0] == values[1][::-1]
    assert [a.name for a in usual.arguments] == [a.name for a in swapped.arguments]
