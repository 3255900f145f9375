"""Where a package or a graph breaks, and what to do, in a sentence each."""

from __future__ import annotations

from kernelscope.audit.results import ArtifactResult, AuditResult, UnsafeFinding

_MOST_FINDINGS = 4


def _unsafe(artifact: ArtifactResult) -> list[tuple[str, UnsafeFinding]]:
    return [
        (kernel.name, finding)
        for model in artifact.models for kernel in model.kernels for finding in kernel.findings
        if isinstance(finding, UnsafeFinding)
    ]  # fmt: skip


def what_breaks(result: AuditResult) -> str:
    """Where it breaks first: sizes, what happens, and in which kernels."""
    every = [found for artifact in result.artifacts for found in _unsafe(artifact)]
    found = sorted(every, key=lambda f: f[1].smallest_trigger_bytes or 0)
    kernel, finding = found[0]
    sizes = ", ".join(f"{name} = {value}" for name, value in finding.witness.symbols.items()) or "every size"
    kernels = list(dict.fromkeys(name for name, _ in found))
    more = f" and {len(kernels) - 1} more" if len(kernels) > 1 else ""
    return f"at {sizes}, {finding.consequence.value} in {kernel}{more} ({finding.code}: {finding.expression})"


def cure_of(result: AuditResult) -> str:
    """What to do about it."""
    limits = {
        name: limit
        for model in result.artifacts[0].models
        for name, limit in model.largest_safe.items() if limit is not None
    }  # fmt: skip
    sources = {s.name: s.source for m in result.artifacts[0].models for s in m.symbols}
    maxima = [
        f"max={limit} for {name} ({sources.get(name, name)})" for name, limit in list(limits.items())[:_MOST_FINDINGS]
    ]
    alone = " each with the others at their minimum" if len(maxima) > 1 else ""
    declare = f"declare {', '.join(maxima)}{alone}, or " if maxima else ""
    return f'{declare}package with int64="patch"; `kernelscope advise` says what else'
