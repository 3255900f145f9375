"""Results as JSON, schema 1: `docs/schema/audit-1.json` and `bounds-1.json`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kernelscope import __version__
from kernelscope.audit.results import (
    ArtifactResult,
    Assumptions,
    BoundsResult,
    Consequence,
    Finding,
    KernelResult,
    Location,
    ModelResult,
    Note,
    Proof,
    RangedNode,
    UnknownFinding,
    UnsafeFinding,
)
from kernelscope.gate.gating import Disposition, GatedAudit
from kernelscope.launches.expression_text import argument_text, host_expression_text
from kernelscope.launches.launch import Launch, Symbol
from kernelscope.replay.results import Replayed
from kernelscope.report.totals import totals_of

SCHEMA = 1

Json = Mapping[str, object]


def audit_json(
    gated: GatedAudit, command: Sequence[str], patchable: frozenset[str] | None = None, replayed: Replayed | None = None
) -> str:
    """An audit's result as JSON text; `command` is how the program was called. `gate` is there when one was given.
    `patchable`: ids of the findings that a patch settles; `replayed`: what their witnesses did (None: not looked for)."""
    result = gated.audit
    document = {
        "schema": SCHEMA,
        "tool": tool_json(command),
        "assumptions": assumptions_json(result.assumptions),
        "totals": totals_of(result).by_word(),
        "artifacts": [_artifact(artifact, _Extras(artifact.path, patchable, replayed)) for artifact in result.artifacts],
    }
    return dumped({**document, "gate": _gate(gated)} if gated.is_gated else document)


@dataclass(frozen=True, slots=True)
class _Extras:
    """What was looked for beside the audit, of one artifact."""

    path: str
    patchable: frozenset[str] | None
    replayed: Replayed | None

    def patch_of(self, finding: UnsafeFinding) -> str | None:
        return None if self.patchable is None else "available" if finding.id in self.patchable else "none"

    def replay_of(self, finding: UnsafeFinding) -> str | None:
        one = None if self.replayed is None else self.replayed.get((self.path, finding.id))
        return None if one is None else one.state.name.lower()


def _gate(gated: GatedAudit) -> Json:
    passed = [f for f in gated.findings if f.disposition is not Disposition.COUNTS]
    return {
        "verdict": gated.verdict.word,
        "passed": [
            {"id": f.finding.id, "kernel": f.kernel, "by": f.disposition.name.lower(), "why": f.why} for f in passed
        ],
        "stale": [{"code": s.code, "kernel": s.kernel, "expression": s.expression} for s in gated.stale],
    }


def bounds_json(result: BoundsResult, command: Sequence[str]) -> str:
    """The result of `kernelscope bounds` as JSON text. A size without a proved limit is in `unknown` only."""
    largest = {name: value for name, value in result.largest_safe.items() if name not in result.unknown}
    return dumped(
        {
            "schema": SCHEMA,
            "tool": tool_json(command),
            "fixed": dict(sorted(result.fixed.items())),
            "largest_safe": dict(sorted(largest.items())),
            "unknown": dict(sorted(result.unknown.items())),
        }
    )


def dumped(document: Json) -> str:
    """A report's document as text."""
    return json.dumps(document, indent=2) + "\n"


def tool_json(command: Sequence[str]) -> Json:
    """What made a report, and how it was called."""
    return {"name": "kernelscope", "version": __version__, "command": list(command)}


def assumptions_json(assumptions: Assumptions) -> Json:
    """What verdicts and ranges rest on."""
    return {
        "device_memory_bytes": assumptions.device_memory_bytes,
        "bounds": [
            {"symbol": b.symbol, "minimum": b.minimum, "maximum": b.maximum, "origin": b.origin.value}
            for b in assumptions.bounds
        ],
        "rules": list(assumptions.rules),
    }


def _artifact(artifact: ArtifactResult, extras: _Extras) -> Json:
    return {
        "path": artifact.path,
        "verdict": artifact.verdict.word,
        "error": artifact.error,
        "patched": artifact.patched,
        "models": [_model(model, extras) for model in artifact.models],
    }


def _model(model: ModelResult, extras: _Extras) -> Json:
    return {
        "name": model.name,
        "verdict": model.verdict.word,
        "device": model.device,
        "symbols": {symbol.name: symbol_json(symbol) for symbol in model.symbols},
        "largest_safe": dict(model.largest_safe),
        "kernels": [_kernel(kernel, extras) for kernel in model.kernels],
        "findings": _findings(model.findings, extras),
        "notes": list(model.notes),
    }


def symbol_json(symbol: Symbol) -> Json:
    """`declared` is what bounds the size apart from Inductor's own assumption; `origin` says who gave it."""
    return {
        "source": symbol.source,
        "declared": [symbol.minimum, symbol.maximum],
        "assumed_by_inductor": symbol.assumed_by_inductor,
        "origin": symbol.origin.value,
        "step": symbol.step,
    }


def kernel_json(kernel: KernelResult) -> Json:
    """A kernel of an audit, where nothing was looked for beside."""
    return _kernel(kernel, _Extras("", None, None))


def _kernel(kernel: KernelResult, extras: _Extras) -> Json:
    return {
        "name": kernel.name,
        "verdict": kernel.verdict.word,
        "index_width": kernel.index_width,
        "launches": [launch_json(launch) for launch in kernel.launches],
        "findings": _findings(kernel.findings, extras),
        "proofs": [_proof(proof) for proof in kernel.proofs],
        "notes": [_note(finding) for finding in kernel.findings if isinstance(finding, Note)],
    }


def launch_json(launch: Launch) -> Json:
    """A launch with its arguments in sizes."""
    return {
        "index": launch.index,
        "grid": [host_expression_text(dimension) for dimension in launch.grid],
        "arguments": {argument.name: argument_text(argument) for argument in launch.arguments},
        "constexprs": dict(launch.constexprs),
        "source_nodes": list(launch.source_nodes),
        "original_aten": list(launch.original_aten),
        "conditions": [host_expression_text(condition) for condition in launch.conditions],
        "file": launch.position.file,
        "line": launch.position.line,
    }


def _findings(findings: Iterable[Finding], extras: _Extras) -> list[Json]:
    documents: list[Json] = []
    for finding in findings:
        match finding:
            case UnsafeFinding():
                documents.append(_unsafe(finding, extras))
            case UnknownFinding():
                documents.append(_unknown(finding))
            case Note():
                pass
    return documents


def _unsafe(finding: UnsafeFinding, extras: _Extras) -> Json:
    return {
        "id": finding.id,
        "code": finding.code,
        "verdict": "unsafe",
        **_place(finding.location),
        "expression": finding.expression,
        "type": finding.type,
        "condition": finding.condition,
        "largest_safe": dict(finding.largest_safe),
        "witness": _witness(finding),
        "consequence": finding.consequence.value,
        "smallest_trigger_bytes": finding.smallest_trigger_bytes,
        "patch": extras.patch_of(finding),
        "replay": extras.replay_of(finding),
        "explanation": finding.explanation,
        "launches": list(finding.launch_indices),
        "tree": None if finding.tree is None else _tree(finding.tree),
    }


def _witness(finding: UnsafeFinding) -> Json:
    """A kernel that does not compile computes nothing, so there are no values to tell."""
    witness = finding.witness
    runs = finding.consequence is not Consequence.DOES_NOT_COMPILE
    return {
        "symbols": dict(witness.symbols),
        "program_id": list(witness.program_id),
        "lane": list(witness.lane),
        "loop": dict(witness.loop),
        "loaded": dict(witness.loaded),
        "exact": witness.exact if runs else None,
        "wrapped": witness.wrapped if runs else None,
    }


def _unknown(finding: UnknownFinding) -> Json:
    return {
        "id": finding.id,
        "code": finding.code,
        "verdict": "unknown",
        **_place(finding.location),
        "expression": finding.expression,
        "type": finding.type,
        "reason": finding.reason.value,
        "detail": finding.detail,
        "launches": list(finding.launch_indices),
    }


def _note(note: Note) -> Json:
    return {
        "id": note.id,
        "code": note.code,
        **_place(note.location),
        "expression": note.expression,
        "detail": note.detail,
        "guards": list(note.guards),
        "launches": list(note.launch_indices),
    }


def _place(location: Location) -> Json:
    return {
        "file": location.file,
        "line": location.line,
        "column": location.column,
        "end_column": location.end_column,
    }


def _tree(node: RangedNode) -> Json:
    return {
        "text": node.text,
        "type": node.type,
        "minimum": node.minimum,
        "maximum": node.maximum,
        "fits": node.fits,
        "children": [_tree(child) for child in node.children],
    }


def _proof(proof: Proof) -> Json:
    return {
        "expression": proof.expression,
        **_place(proof.location),
        "type": proof.type,
        "bound": proof.bound,
        "largest_value": proof.largest_value,
        "limit": proof.limit,
    }
