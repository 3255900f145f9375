"""Every captured package and Python wrapper is audited without a crash, and every unknown says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelscope.audit import audit, largest_safe_sizes
from kernelscope.audit.results import Verdict
from tests.audit.packages import FIXTURES, findings_of, unknown_findings, unsafe_findings

EXTRA = FIXTURES / "extra"
CORPUS = sorted([*EXTRA.glob("*.pt2"), *EXTRA.glob("*.py")])
#: Nothing but calls of libraries.
WITHOUT_KERNELS = {"adaptivepool.unbounded.pt2"}

#: What is still not followed: block indices read from memory, and floats for which no witness is evaluated.
WITH_UNKNOWNS = ("flex", "bicubic")


def check(path: Path) -> Verdict:
    """Audit a path and check what holds for every result."""
    (artifact,) = audit([str(path)]).artifacts
    assert artifact.error is None
    assert artifact.models
    kernels = [kernel for model in artifact.models for kernel in model.kernels]
    assert bool(kernels) is (path.name not in WITHOUT_KERNELS)
    verdicts = [kernel.verdict for kernel in kernels] + [model.verdict for model in artifact.models]
    assert artifact.verdict is min(verdicts)
    for finding in findings_of(artifact):
        assert finding.location.line >= 1, finding.id
    for unknown in unknown_findings(artifact):
        assert unknown.detail and unknown.location.file, unknown.id
    if path.suffix == ".pt2" and not path.name.startswith(WITH_UNKNOWNS):
        assert [finding.id for finding in unknown_findings(artifact)] == []
    for unsafe in unsafe_findings(artifact):
        assert unsafe.condition and unsafe.explanation, unsafe.id
    if artifact.verdict is Verdict.UNSAFE:
        assert unsafe_findings(artifact)
    return artifact.verdict


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_every_package_and_python_wrapper_is_audited(path: Path) -> None:
    check(path)


def test_a_cache_folder_is_audited() -> None:
    assert check(EXTRA / "cache") is Verdict.UNSAFE


@pytest.mark.parametrize("path", sorted((FIXTURES / "cpp_wrappers").glob("*.cpp")), ids=lambda path: path.name)
def test_a_wrapper_alone_is_audited(path: Path) -> None:
    (artifact,) = audit([str(path)]).artifacts
    assert artifact.error is None
    assert artifact.verdict in tuple(Verdict)
    assert all(unknown.detail for unknown in unknown_findings(artifact))


@pytest.mark.parametrize(
    ("name", "symbol", "largest"),
    [
        ("mm.unbounded.pt2", "s33", 5592405),
        ("usertile.unbounded.pt2", "s33", 1073741824),
        ("cumsum2d.unbounded.py", "s33", 4194304),
        ("weights.unbounded.pt2", "s33", 33554432),
    ],
)
def test_inputs_of_other_kinds_have_their_thresholds(name: str, symbol: str, largest: int) -> None:
    (artifact,) = audit([str(EXTRA / name)]).artifacts
    assert artifact.models[0].largest_safe[symbol] == largest


def test_what_is_bounded_or_64_bit_wide_is_safe() -> None:
    for name in ("addmm.small", "argsort.small", "catmany.huge", "combo.small", "mm.huge", "outer.small", "rmsnorm.huge",
                 "attention.small", "bmmsmall.small", "gridsample.small", "gridsample32.small",
                 "declaredcount.small", "declaredcount.unbounded"):  # fmt: skip
        assert check(EXTRA / f"{name}.pt2") is Verdict.SAFE, name


@pytest.mark.parametrize(
    ("name", "symbol", "largest"),
    [
        ("adaptivemax.unbounded", "s33", 37282),
        ("argminmiddle.unbounded", "s50", 2147483584),
        ("attention.unbounded", "s21", 8388607),
        ("avgpool3d.unbounded", "s87", 16383),
        ("bmmsmall.small", "s7", 34359738336),
        ("catdynamic.unbounded", "s50", 16777183),
        ("conv3d.unbounded", "s69", 2418),
        ("convtranspose.unbounded", "s33", 16383),
        ("datadependent.unbounded", "u0", 8589934588),
        ("gatherchain.unbounded", "s21", 67108863),
        ("gridsample32.unbounded", "s81", 174762),
        ("im2col.unbounded", "s69", 7281),
        ("index2d.unbounded", "s33", 2147483647),
        ("instancenorm.unbounded", "s69", 33554400),
        ("maxunpool.unbounded", "s33", 262143),
        ("mixedranges.unbounded", "s6", 2147483647),
        ("nearestexact.unbounded", "s69", 77672),
        ("padcircular.unbounded", "s33", 4006499),
        ("padreplicate.unbounded", "s87", 62598),
        ("rollflip.unbounded", "s50", 524287),
        ("scatterreduce.unbounded", "s21", 2147483),
        ("usermatvec.unbounded", "s50", 34087042),
        ("userswizzle.unbounded", "s50", 33554432),
        ("bmm.unbounded", "s33", 524288),
        ("maxpool.unbounded", "s69", 131070),
        ("llama.unbounded", "s50", 2016),
        ("t5bias.unbounded", "s50", 16384),
        ("nestedpool.unbounded", "s87", 262143),
        ("interpto.unbounded", "s69", 108065),
        ("convdyn.unbounded", "s87", 16644),
    ],
)
def test_thresholds_are_exact(name: str, symbol: str, largest: int) -> None:
    """With every other size at 64: proved up to the threshold, refuted by a witness at the next size."""
    path = str(EXTRA / f"{name}.pt2")
    (artifact,) = audit([path]).artifacts
    others = {s.name: min(64, s.maximum or 64) for s in artifact.models[0].symbols if s.name != symbol}
    assert largest_safe_sizes(path, fixed=others).largest_safe == {symbol: largest}
    fixed = {name: (value, value) for name, value in others.items()}
    least = next(max(2, s.minimum or 0) for s in artifact.models[0].symbols if s.name == symbol)
    for last, verdict in ((largest, Verdict.SAFE), (largest + 1, Verdict.UNSAFE)):
        (artifact,) = audit([path], ranges={**fixed, symbol: (least, last)}, device_memory=None).artifacts
        assert artifact.verdict is verdict
