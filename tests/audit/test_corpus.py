"""Every captured package and Python wrapper is audited without a crash, and every unknown says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelscope.audit import audit
from kernelscope.audit.results import Verdict
from tests.audit.packages import FIXTURES, findings_of, unknown_findings, unsafe_findings

EXTRA = FIXTURES / "extra"
CORPUS = sorted([*EXTRA.glob("*.pt2"), *EXTRA.glob("*.py")])
#: Nothing but calls of libraries.
WITHOUT_KERNELS = {"adaptivepool.unbounded.pt2"}


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
    for name in ("addmm.small", "argsort.small", "catmany.huge", "combo.small", "mm.huge", "outer.small", "rmsnorm.huge"):
        assert check(EXTRA / f"{name}.pt2") is Verdict.SAFE, name
