"""The stages and the first that differs, as JSON, schema 1."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from kernelscope import __version__
from kernelscope.isolation.results import Isolation, StageResult

SCHEMA = 1

Json = Mapping[str, object]


def isolation_json(isolation: Isolation, command: Sequence[str]) -> str:
    """Stages by their value (`aot_eager`), states by name (`timed_out`)."""
    document = {
        "schema": SCHEMA,
        "tool": {"name": "kernelscope", "version": __version__, "command": list(command)},
        "versions": {"torch": isolation.torch_version or None},
        "subject": isolation.subject,
        "package": isolation.package,
        "sizes": dict(isolation.sizes),
        "conclusion": isolation.conclusion,
        "first": isolation.first.stage.value if isolation.first is not None else None,
        "stages": [_stage(stage) for stage in isolation.stages],
        "operator": asdict(isolation.operator) if isolation.operator is not None else None,
        "kernels": [
            {"name": k.name, "verdict": k.verdict.word, "code": k.code, "sentence": k.sentence}
            for k in isolation.kernels
        ],
        "reproduction": isolation.reproduction,
    }
    return json.dumps(document, indent=2) + "\n"


def _stage(stage: StageResult) -> Json:
    return {
        "stage": stage.stage.value,
        "state": stage.state.name.lower(),
        "detail": stage.detail,
        "differences": [asdict(difference) for difference in stage.differences],
        "seconds": round(stage.seconds, 3),
    }
