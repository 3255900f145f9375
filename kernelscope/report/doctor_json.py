"""What `kernelscope doctor` found, as JSON, schema 1."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from kernelscope import __version__
from kernelscope.advice.doctor import Examination, ModelFacts, PackageFacts

SCHEMA = 1

Json = Mapping[str, object]


def doctor_json(examination: Examination, command: Sequence[str]) -> str:
    """The examination as JSON text; `package` is null without one."""
    document = {
        "schema": SCHEMA,
        "tool": {"name": "kernelscope", "version": __version__, "command": list(command)},
        "environment": asdict(examination.environment),
        "known_defects": [asdict(defect) for defect in examination.defects],
        "package": _package(examination.package) if examination.package is not None else None,
    }
    return json.dumps(document, indent=2) + "\n"


def _package(package: PackageFacts) -> Json:
    return {
        "path": package.path,
        "kind": package.kind.value,
        "verdict": package.audit.verdict.word,
        "patched": package.patched,
        "questions": [
            {"question": q.text, "answer": q.answer.name.lower(), "evidence": q.evidence} for q in package.questions
        ],
        "models": [_model(model) for model in package.models],
    }


def _model(model: ModelFacts) -> Json:
    return {
        "name": model.name,
        "device": model.device,
        "kernels": model.kernels,
        "producer": model.producer.value if model.producer is not None else None,
        "capability": model.capability,
        "tools": asdict(model.tools) if model.tools is not None else None,
        "obstacles": list(model.obstacles),
        "known_defects": [asdict(defect) for defect in model.defects],
    }
