"""Kernels for several architectures and kernels inside the library: patched like those in files of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kernelscope.artifact import open_artifact
from kernelscope.audit.results import Verdict
from kernelscope.build import FoundKernel, KernelCompiler, Matched, provenance_of, shipped_kernels
from kernelscope.build.fat_binary import FatImage, ImageKind, read_fat_binary, write_fat_binary
from kernelscope.errors import KernelscopeError
from kernelscope.patching import PatchReport, WrapperChange, patch
from kernelscope.patching.embedded import EmbeddedBinaries
from kernelscope.patching.members import PackageMembers
from tests.recording import test_recorded_launches as recording

CAPTURE = recording.FIXTURES / "capture"
FORMS = ["embedded", "multiarch", "multiarchembedded"]
_NO_DRIVER = "needs g++ and the CUDA headers"

pytestmark = [
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("g++") is None or not (recording.CUDA_HOME / "include/cuda_runtime_api.h").is_file(), reason=_NO_DRIVER
    ),
    pytest.mark.skipif(shutil.which("fatbinary") is None, reason="needs fatbinary of the CUDA toolkit"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages of each form, with their libraries, as torch makes them here."""
    made = tmp_path_factory.mktemp("forms")
    command = [str(CAPTURE / "run"), sys.executable, str(CAPTURE / "capture.py"), str(made), *FORMS]
    environment = {**os.environ, "KEEP_SO": "1", "VIRTUAL_GPU_DIR": str(made / "gpu")}
    done = subprocess.run(command, cwd=made, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0 and "failed" not in done.stdout, (done.stdout + done.stderr)[-2000:]
    return made


@pytest.fixture(scope="module")
def reports(folder: Path) -> dict[str, PatchReport]:
    return {form: patch(original(folder, form), patched(folder, form)) for form in FORMS}


def original(folder: Path, form: str) -> str:
    return str(folder / f"{form}.unbounded.pt2")


def patched(folder: Path, form: str) -> str:
    return str(folder / f"{form}.patched.pt2")


def kernel_of(package: str) -> FoundKernel:
    (model,) = open_artifact(package).models
    reader = EmbeddedBinaries(PackageMembers(package)).reader(model)
    (kernel,) = shipped_kernels(model, [recording.facts_of(package)], reader)
    assert isinstance(kernel, FoundKernel)
    return kernel


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_patched_to_safe_and_its_binary_is_what_its_source_gives(
    form: str, folder: Path, reports: dict[str, PatchReport]
) -> None:
    report = reports[form]
    assert (report.verdict_before, report.verdict_after, report.ok) == (Verdict.UNSAFE, Verdict.SAFE, True)
    rebuilt = WrapperChange.COMMENT if form == "multiarch" else WrapperChange.REBUILT
    assert report.wrappers == {"model": rebuilt}
    before, after = kernel_of(original(folder, form)), kernel_of(patched(folder, form))
    assert before.kernel.cubin != after.kernel.cubin and (before.member is None) is (form != "multiarch")
    assert [(i.kind, i.architecture) for i in before.images] == [(i.kind, i.architecture) for i in after.images]
    with KernelCompiler() as compiler:
        assert isinstance(provenance_of([after.kernel], compiler)[0], Matched)


def test_the_ptx_for_newer_architectures_is_patched_too(folder: Path, reports: dict[str, PatchReport]) -> None:
    assert reports["multiarch"].ok
    before, after = (kernel_of(make(folder, "multiarch")).images for make in (original, patched))
    (old,), (new,) = ([i.data for i in images if i.kind is ImageKind.PTX] for images in (before, after))
    assert old != new and new.count(b".wide.s32") != old.count(b".wide.s32")


def test_a_patched_package_of_each_form_loads_and_launches_as_predicted(
    folder: Path, reports: dict[str, PatchReport]
) -> None:
    assert len(reports) == len(FORMS)
    requests = []
    widths: dict[str, tuple[int, ...]] = {}
    for form in FORMS:
        widths |= recording.parameter_bytes(patched(folder, form))
        beyond = recording.points(original(folder, form))[1]
        inputs = recording.inputs_of(original(folder, form), beyond)
        requests.append({"label": form, "package": patched(folder, form), "inputs": inputs})
    seen = recording.recorded(folder, requests, widths)
    for form in FORMS:
        beyond = recording.points(original(folder, form))[1]
        (expected,) = recording.predicted(patched(folder, form), beyond)
        (launch,) = seen[form]
        assert (launch.function, launch.grid) == (expected.function, expected.grid)
        assert all(a == b or b == -1 for a, b in zip(launch.arguments, expected.arguments, strict=False))


def test_other_architectures_are_assembled_from_the_new_ptx(folder: Path) -> None:
    kernel = kernel_of(original(folder, "multiarch"))
    with KernelCompiler() as compiler:
        (matched,) = provenance_of([kernel.kernel], compiler)
        assert isinstance(matched, Matched)
    ptx = next(i.data for i in kernel.images if i.kind is ImageKind.PTX).decode().replace("sm_90a", "sm_90").rstrip("\0")
    old = (
        FatImage(ImageKind.CUBIN, "90", kernel.kernel.cubin),
        FatImage(ImageKind.CUBIN, "100", b"another"),
        FatImage(ImageKind.PTX, "90", b"the old one"),
    )
    images = read_fat_binary(write_fat_binary(old, kernel.kernel.cubin, ptx))
    assert [i.kind for i in images].count(ImageKind.CUBIN) == 2 and len(images) == 3
    newer = next(i.data for i in images if i.architecture == "100")
    assert newer[:4] == b"\x7fELF" and newer != kernel.kernel.cubin


def test_without_fatbinary_the_kernel_is_left_and_the_reason_is_one_line(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernelscope.build.fat_binary.shutil.which", lambda *_, **__: None)
    report = patch(original(folder, "multiarch"), str(tmp_path / "out.pt2"))
    (kernel,) = report.kernels
    assert "fatbinary is not installed" in str(getattr(kernel, "error", "")) and not report.ok
    assert not (tmp_path / "out.pt2").exists()


def test_a_damaged_fat_binary_is_one_clear_reason(folder: Path, tmp_path: Path) -> None:
    damaged = str(tmp_path / "damaged.pt2")
    with zipfile.ZipFile(original(folder, "multiarch")) as whole, zipfile.ZipFile(damaged, "w") as archive:
        for info in whole.infolist():
            data = whole.read(info)
            archive.writestr(info.filename, data[:40] if info.filename.endswith(".fatbin") else data)
    report = patch(damaged, str(tmp_path / "out.pt2"))
    (kernel,) = report.kernels
    reason = str(getattr(kernel, "reason", ""))
    assert reason and "\n" not in reason and not (tmp_path / "out.pt2").exists()
    with pytest.raises(KernelscopeError):
        read_fat_binary(b"\x50\xed\x55\xba" + b"\0" * 36)
