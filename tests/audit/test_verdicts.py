"""Verdicts of real packages under the default assumptions, as they were captured."""

from __future__ import annotations

from functools import cache

import pytest

from kernelscope.audit import audit
from kernelscope.audit.results import ArtifactResult, Consequence, Verdict
from tests.audit.packages import EXPECTED, only_model, package, unknown_findings, unsafe_findings

UNSAFE = [
    "layernorm.unbounded", "i64bound.unbounded", "resnet18.unbounded", "vit.unbounded", "embedding.unbounded",
    "conv.unbounded", "cat.unbounded", "cumsum.unbounded", "upsample.unbounded", "softmax2d.unbounded", "softmax2d.huge",
    "transpose.unbounded", "transpose.huge", "userkernel.unbounded", "userkernel.huge", "ext",
    "torch28/cumsum.huge", "torch28/cumsum.unbounded", "torch28/ext", "torch28/i64bound.huge", "torch28/i64bound.unbounded",
    "torch28/layernorm.unbounded", "torch28/transpose.huge", "torch28/userkernel.unbounded",
    "torch211/layernorm.unbounded", "torch211/upsample.huge", "torch211/userkernel.unbounded",
]  # fmt: skip
SAFE = [
    "i64bound.huge", "cat.huge", "layernorm.huge", "embedding.huge", "torch211/i64bound.huge", "torch28/lnbig",
    "layernorm.small", "softmax2d.small", "cat.small", "cumsum.small", "conv.small", "transpose.small",
]  # fmt: skip


@cache
def audited(name: str) -> ArtifactResult:
    (artifact,) = audit([package(name)]).artifacts
    assert artifact.error is None
    return artifact


def test_every_package_has_an_expected_verdict() -> None:
    assert sorted(UNSAFE + SAFE) == sorted(EXPECTED)


@pytest.mark.parametrize("name", UNSAFE)
def test_package_is_unsafe_with_a_witness(name: str) -> None:
    artifact = audited(name)
    assert artifact.verdict is Verdict.UNSAFE
    findings = unsafe_findings(artifact)
    assert findings
    for finding in findings:
        witness = finding.witness
        assert witness.symbols, finding.id
        assert witness.exact != witness.wrapped or finding.consequence is Consequence.FAILED_LAUNCH, finding.id
        over = [s for s, v in witness.symbols.items() if (finding.largest_safe.get(s) or v) < v]
        assert over, f"{finding.id}: a witness within the safe sizes {finding.largest_safe}: {witness.symbols}"
        assert finding.condition and finding.explanation


@pytest.mark.parametrize("name", SAFE)
def test_package_is_safe_with_a_proof(name: str) -> None:
    artifact = audited(name)
    assert artifact.verdict is Verdict.SAFE
    for kernel in only_model(artifact).kernels:
        assert kernel.proofs, kernel.name
        for proof in kernel.proofs:
            assert proof.bound and proof.largest_value <= proof.limit


@pytest.mark.parametrize("name", list(EXPECTED))
def test_nothing_is_unknown(name: str) -> None:
    assert unknown_findings(audited(name)) == []


@pytest.mark.parametrize(
    ("name", "symbol", "largest", "codes"),
    [
        ("layernorm.unbounded", "s10", 524288, {"KS101"}),
        ("resnet18.unbounded", "s31", 2674, {"KS101", "KS201", "KS301"}),
        ("i64bound.unbounded", "s10", 2147483647, {"KS201", "KS301"}),
        ("softmax2d.huge", "s10", 2147483647, {"KS302"}),
        ("userkernel.huge", "s10", 4194304, {"KS101"}),
        ("cumsum.unbounded", "s10", 16777216, {"KS101"}),
        ("vit.unbounded", "s31", 14193, {"KS101", "KS201", "KS301", "KS302"}),
    ],
)
def test_package_fails_for_the_known_reason(name: str, symbol: str, largest: int, codes: set[str]) -> None:
    artifact = audited(name)
    assert only_model(artifact).largest_safe[symbol] == largest
    assert {finding.code for finding in unsafe_findings(artifact)} == codes


def test_verdict_of_the_whole_is_the_least_of_its_parts() -> None:
    paths = [package(name) for name in ("layernorm.small", "userkernel.unbounded")]
    result = audit(paths)
    assert [artifact.verdict for artifact in result.artifacts] == [Verdict.SAFE, Verdict.UNSAFE]
    assert result.verdict is Verdict.UNSAFE


def test_huge_embedding_is_safe_only_because_of_the_memory() -> None:
    assert audited("embedding.huge").verdict is Verdict.SAFE
    (unlimited,) = audit([package("embedding.huge")], device_memory=None).artifacts
    assert unlimited.verdict is Verdict.UNSAFE
    assert only_model(unlimited).largest_safe == {"s10": 536870911}
    assert {"KS302"} <= {finding.code for finding in unsafe_findings(unlimited)}


def test_several_processes_find_what_one_does() -> None:
    paths = [package(name) for name in ("layernorm.small", "userkernel.unbounded", "embedding.huge")]
    assert audit(paths, jobs=2) == audit(paths)
