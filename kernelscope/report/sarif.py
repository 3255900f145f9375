"""An audit as SARIF 2.1.0 (OASIS), for code scanning: results, rules, and the flow from a size to the faulty access."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from kernelscope import __version__
from kernelscope.audit.checks import Check, all_checks
from kernelscope.audit.results import (
    Finding,
    KernelResult,
    Location,
    ModelResult,
    Note,
    UnknownFinding,
    UnsafeFinding,
)
from kernelscope.gate.gating import Disposition, GatedAudit, GatedFinding
from kernelscope.replay.results import Replayed
from kernelscope.report.value_flow import flow_steps

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_FINGERPRINT = "kernelscopeFinding/v1"

Json = Mapping[str, object]


def sarif_text(gated: GatedAudit, command: Sequence[str], replayed: Replayed | None = None) -> str:
    """One run, one result for each finding; accepted and suppressed ones carry their suppression."""
    checks = {check.code: check for check in all_checks()}
    used = sorted({f.finding.code for f in gated.findings})
    artifacts = _Artifacts()
    results = [_result(f, used, gated, artifacts, replayed or {}) for f in gated.findings]
    run = {
        "tool": {
            "driver": {
                "name": "kernelscope",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_rule(code, checks.get(code)) for code in used],
            }
        },
        "invocations": [
            {
                "executionSuccessful": all(a.error is None for a in gated.audit.artifacts),
                "commandLine": " ".join(command),
                "toolExecutionNotifications": [
                    {"level": "error", "message": {"text": a.error}}
                    for a in gated.audit.artifacts
                    if a.error is not None
                ],
            }
        ],
        "artifacts": artifacts.documents,
        "results": results,
        "columnKind": "unicodeCodePoints",
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(code: str, check: Check | None) -> Json:
    title = check.title if check is not None else code
    rule: dict[str, object] = {"id": code, "name": code, "shortDescription": {"text": f"{title}."}}
    if check is not None:
        rule["fullDescription"] = {"text": " ".join(check.explanation.split())}
        rule["help"] = {"text": check.explanation, "markdown": check.explanation}
    return rule


class _Artifacts:
    """Packages and the files inside them; a file in a package is nested in it, as SARIF has it."""

    def __init__(self) -> None:
        self.documents: list[dict[str, object]] = []
        self._places: dict[tuple[str, str], int] = {}

    def place(self, package: str, file: str) -> Json:
        """The location of `file` in `package`; they are the same for a source that stands alone."""
        uri = quote(package.replace("\\", "/"))
        outer = self._add((package, ""), {"location": {"uri": uri}})
        if not file or file == package:
            return {"uri": uri, "index": outer}
        uri = "/" + quote(file.lstrip("/"))
        return {"uri": uri, "index": self._add((package, file), {"location": {"uri": uri}, "parentIndex": outer})}

    def _add(self, key: tuple[str, str], document: dict[str, object]) -> int:
        if key not in self._places:
            self._places[key] = len(self.documents)
            self.documents.append(document)
        return self._places[key]


def _result(
    gated: GatedFinding, used: Sequence[str], audit: GatedAudit, artifacts: _Artifacts, replayed: Replayed
) -> Json:
    finding = gated.finding
    model, kernel = _parts(audit, gated)
    result: dict[str, object] = {
        "ruleId": finding.code,
        "ruleIndex": used.index(finding.code),
        "level": _level(finding),
        "message": {"text": _message(gated)},
        "locations": [_location(gated, finding.location, artifacts)],
        "partialFingerprints": {_FINGERPRINT: gated.fingerprint},
        "properties": _properties(gated, replayed),
    }
    if isinstance(finding, UnsafeFinding):
        result["codeFlows"] = [_code_flow(gated, finding, model, kernel, artifacts)]
    if gated.disposition is not Disposition.COUNTS:
        kind = "external" if gated.disposition is Disposition.ACCEPTED else "inSource"
        result["suppressions"] = [{"kind": kind, "justification": gated.why}]
    if audit.is_gated:
        result["baselineState"] = "unchanged" if gated.disposition is Disposition.ACCEPTED else "new"
    return result


def _parts(audit: GatedAudit, gated: GatedFinding) -> tuple[ModelResult | None, KernelResult | None]:
    for artifact in audit.audit.artifacts:
        for model in artifact.models:
            if artifact.path == gated.artifact and model.name == gated.model:
                return model, next((k for k in model.kernels if k.name == gated.kernel), None)
    return None, None


def _level(finding: Finding) -> str:
    match finding:
        case UnsafeFinding():
            return "error"
        case UnknownFinding():
            return "warning"
        case Note():
            return "note"


def _message(gated: GatedFinding) -> str:
    finding = gated.finding
    where = f"{gated.kernel}: " if gated.kernel else ""
    if isinstance(finding, UnsafeFinding):
        safe = f" Safe when {finding.condition}." if finding.condition else ""
        return f"{where}{finding.explanation}{safe}"
    return f"{where}{finding.detail}"


def _properties(gated: GatedFinding, replayed: Replayed) -> Json:
    finding = gated.finding
    if not isinstance(finding, UnsafeFinding):
        return {"id": finding.id, "verdict": "unknown" if isinstance(finding, UnknownFinding) else "note"}
    one = replayed.get((gated.artifact, finding.id))
    return {
        "id": finding.id,
        "verdict": "unsafe",
        "consequence": finding.consequence.value,
        "condition": finding.condition,
        "largestSafe": dict(finding.largest_safe),
        "witness": dict(finding.witness.symbols),
        **({"replay": one.state.value} if one is not None else {}),
    }


def _location(gated: GatedFinding, location: Location, artifacts: _Artifacts, message: str | None = None) -> Json:
    physical: dict[str, object] = {"artifactLocation": artifacts.place(gated.artifact, location.file)}
    if location.line > 0:
        region: dict[str, object] = {"startLine": location.line, "startColumn": location.column + 1}
        if location.end_column > location.column:
            region["endColumn"] = location.end_column + 1
        if location.text:
            region["snippet"] = {"text": location.text}
        physical["region"] = region
    document: dict[str, object] = {"physicalLocation": physical}
    if gated.kernel:
        qualified = f"{gated.model}/{gated.kernel}"
        document["logicalLocations"] = [{"name": gated.kernel, "fullyQualifiedName": qualified, "kind": "function"}]
    if message is not None:
        document["message"] = {"text": message}
    return document


def _code_flow(
    gated: GatedFinding, finding: UnsafeFinding, model: ModelResult | None, kernel: KernelResult | None,
    artifacts: _Artifacts,
) -> Json:  # fmt: skip
    locations = [
        {"location": _location(gated, step.location, artifacts, step.text), "importance": "essential"}
        for step in flow_steps(finding, model, kernel)
    ]
    return {"message": {"text": "from the size to the access"}, "threadFlows": [{"locations": locations}]}
