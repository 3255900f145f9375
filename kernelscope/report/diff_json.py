"""A comparison as JSON, schema 1."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from kernelscope import __version__
from kernelscope.diffing.results import ArtifactDiff, KernelDiff

SCHEMA = 1


def diff_json(diff: ArtifactDiff, command: Sequence[str]) -> str:
    """Kernels with their hunks; a line's `marks` are the columns of its changed tokens."""
    document = {
        "schema": SCHEMA,
        "tool": {"name": "kernelscope", "version": __version__, "command": list(command)},
        "before": diff.before,
        "after": diff.after,
        "notes": list(diff.notes),
        "sizes": [
            {"name": s.name, "source": s.source, "before": list(s.before), "after": list(s.after)} for s in diff.sizes
        ],
        "kernels": [_kernel(kernel) for kernel in diff.kernels],
        "files": {name: "same" if a == b else "changed" for name, (a, b) in diff.files.items()},
    }
    return json.dumps(document, indent=2) + "\n"


def _kernel(kernel: KernelDiff) -> dict[str, object]:
    return {
        "kind": kernel.kind.name.lower(),
        "before": kernel.before,
        "after": kernel.after,
        "similarity": round(kernel.similarity, 4),
        "outcomes": {identity: outcome.name.lower() for identity, outcome in kernel.outcomes.items()},
        "cost": asdict(kernel.cost) if kernel.cost is not None else None,
        "texts": [
            {
                "title": text.title,
                "hunks": [
                    {
                        "findings": [finding.id for finding in hunk.findings],
                        "lines": [
                            {
                                "kind": line.kind.name.lower(), "text": line.text, "before": line.before,
                                "after": line.after, "marks": [list(mark) for mark in line.marks],
                            }
                            for line in hunk.lines
                        ],
                    }
                    for hunk in text.hunks
                ],
            }
            for text in kernel.texts
        ],
    }  # fmt: skip
