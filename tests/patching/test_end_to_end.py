"""Packages are patched, written and audited; what need not change does not."""

from __future__ import annotations

import json
import zipfile

import pytest

from kernelscope import KernelscopeError, audit, patch
from kernelscope.audit.results import Verdict
from kernelscope.patching import PatchDeclined, Patched, Strategy, WrapperChange
from kernelscope.patching.report import ProvenanceState
from tests.rewrite.subjects import FIXTURES


def package(name):
    return str(FIXTURES / f"{name}.pt2")


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def changed(before, after):
    old, new = members(before), members(after)
    return {name.rpartition(".")[2] for name in new if new[name] != old.get(name)}


@pytest.mark.torch
def test_layernorm_needs_only_another_cubin(tmp_path):
    out = str(tmp_path / "out.pt2")
    report = patch(package("layernorm.unbounded"), out)
    (kernel,) = report.kernels
    assert isinstance(kernel, Patched)
    assert (kernel.widened, kernel.provenance) == ((), ProvenanceState.PROVED)
    assert report.wrappers == {"model": WrapperChange.COMMENT}
    assert (report.verdict_before, report.verdict_after, report.ok) == (Verdict.UNSAFE, Verdict.SAFE, True)
    assert changed(package("layernorm.unbounded"), out) == {"cubin", "cpp", "json"}
    assert kernel.after.order <= min(c.cost.order for c in kernel.candidates)


@pytest.mark.torch
def test_the_record_tells_what_was_done_and_the_patched_package_is_known(tmp_path):
    out, again = str(tmp_path / "out.pt2"), str(tmp_path / "again.pt2")
    patch(package("userkernel.unbounded"), out, strategy=Strategy.MINIMAL)
    record = json.loads(members(out)["userkernel.unbounded/extra/kernelscope.json"])
    assert record["verdicts_before"] == {"scale_rows": "unsafe"}
    assert record["kernels"][0]["cubin_sha256"]["before"] != record["kernels"][0]["cubin_sha256"]["after"]
    assert [audit(path).artifacts[0].patched for path in (package("userkernel.unbounded"), out)] == [False, True]
    report = patch(out, again)
    assert report.summary.startswith("already patched")
    assert report.ok and report.output is None and not (tmp_path / "again.pt2").exists()


@pytest.mark.torch
@pytest.mark.slow
def test_i64bound_gets_a_new_library(tmp_path):
    out = str(tmp_path / "out.pt2")
    report = patch(package("i64bound.unbounded"), out)
    (kernel,) = report.kernels
    assert isinstance(kernel, Patched) and kernel.widened == ("xnumel",)
    assert report.wrappers == {"model": WrapperChange.REBUILT}
    assert report.verdict_after is Verdict.SAFE
    wrapper = next(text for name, text in members(out).items() if name.endswith(".wrapper.cpp")).decode()
    assert "int64_t var_3 = xnumel;" in wrapper and "int32_t var_3" not in wrapper
    assert changed(package("i64bound.unbounded"), out) == {"cubin", "cpp", "so", "json"}


@pytest.mark.torch
def test_a_source_that_does_not_give_the_binary_is_not_patched(tmp_path):
    tampered, out = str(tmp_path / "tampered.pt2"), str(tmp_path / "out.pt2")
    with zipfile.ZipFile(tampered, "w") as archive:
        for name, data in members(package("userkernel.unbounded")).items():
            archive.writestr(name, data.replace(b"v*2, mask=m", b"v*3, mask=m"))
    report = patch(tampered, out)
    (kernel,) = report.kernels
    assert isinstance(kernel, PatchDeclined) and kernel.code == "KS901"
    assert not report.ok and not (tmp_path / "out.pt2").exists()


@pytest.mark.torch
def test_another_version_s_binary_interface_is_never_mixed_up(tmp_path):
    out = str(tmp_path / "out.pt2")
    report = patch(package("torch28/layernorm.unbounded"), out, strategy=Strategy.MINIMAL)
    (kernel,) = report.kernels
    assert not report.ok and not (tmp_path / "out.pt2").exists()
    assert "parameters" in kernel.error


@pytest.mark.parametrize("name", ["layernorm.small", "cat.huge"])
def test_a_safe_package_is_left_alone(name, tmp_path):
    report = patch(package(name), str(tmp_path / "out.pt2"))
    assert report.summary == "already safe: there is nothing to patch"
    assert report.ok and not (tmp_path / "out.pt2").exists()


def test_only_packages_can_be_patched(tmp_path):
    kernel = tmp_path / "kernel.py"
    kernel.write_text("import triton\n\n@triton.jit\ndef f(x):\n    pass\n")
    with pytest.raises(KernelscopeError, match="can't be patched"):
        patch(str(kernel), str(tmp_path / "out.pt2"))


def test_an_unknown_kernel_is_named(tmp_path):
    with pytest.raises(KernelscopeError, match="no kernel is called nothing"):
        patch(package("layernorm.unbounded"), str(tmp_path / "out.pt2"), only=["nothing"])
