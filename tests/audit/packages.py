"""The real packages in fixtures/ and what is known about them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kernelscope.audit.results import ArtifactResult, Finding, ModelResult, UnknownFinding, UnsafeFinding

FIXTURES = Path(__file__).parents[2] / "fixtures"
EXPECTED: dict[str, dict[str, Any]] = json.loads((FIXTURES / "expected.json").read_text(encoding="utf-8"))


def package(name: str) -> str:
    return str(FIXTURES / f"{name}.pt2")


def expected_sizes() -> Iterator[tuple[str, str, int | None]]:
    """Package, size and its largest safe value while every other size is 64."""
    for name, entry in EXPECTED.items():
        for symbol, largest in entry["largest_safe"].items():
            yield name, symbol, largest


def others_fixed(name: str, symbol: str) -> dict[str, int]:
    value = EXPECTED[name]["fixed_others"]
    return {other: value for other in EXPECTED[name]["largest_safe"] if other != symbol}


def only_model(artifact: ArtifactResult) -> ModelResult:
    assert artifact.error is None
    (model,) = artifact.models
    return model


def findings_of(artifact: ArtifactResult) -> Iterator[Finding]:
    for model in artifact.models:
        yield from model.findings
        for kernel in model.kernels:
            yield from kernel.findings


def unsafe_findings(artifact: ArtifactResult) -> list[UnsafeFinding]:
    return [f for f in findings_of(artifact) if isinstance(f, UnsafeFinding)]


def unknown_findings(artifact: ArtifactResult) -> list[UnknownFinding]:
    return [f for f in findings_of(artifact) if isinstance(f, UnknownFinding)]
