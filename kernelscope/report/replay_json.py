"""Replayed witnesses as JSON, schema 1."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kernelscope import __version__
from kernelscope.replay.results import Replay, ReplayedAccess

SCHEMA = 1


def replays_json(replays: Sequence[Replay], command: Sequence[str]) -> str:
    """Offsets in elements; null where the lane is masked off."""
    document = {
        "schema": SCHEMA,
        "tool": {"name": "kernelscope", "version": __version__, "command": list(command)},
        "replays": [_replay(replay) for replay in replays],
    }
    return json.dumps(document, indent=2) + "\n"


def _replay(replay: Replay) -> dict[str, object]:
    witness = replay.finding.witness
    return {
        "path": replay.path,
        "kernel": replay.kernel,
        "finding": replay.finding.id,
        "state": replay.state.name.lower(),
        "detail": replay.detail,
        "witness": {
            "symbols": dict(witness.symbols), "program_id": list(witness.program_id), "lane": list(witness.lane),
            "loop": dict(witness.loop), "loaded": dict(witness.loaded),
        },
        "grid": list(replay.grid) if replay.grid is not None else None,
        "arguments": {name: {"exact": exact, "passed": passed} for name, (exact, passed) in replay.arguments.items()},
        "accesses": _accesses(replay.accesses),
        "patched": None if replay.patched is None else {
            "state": replay.patched.state.name.lower(), "detail": replay.patched.detail,
            "accesses": _accesses(replay.patched.accesses),
        },
    }  # fmt: skip


def _accesses(accesses: Sequence[ReplayedAccess]) -> list[dict[str, object]]:
    return [
        {
            "line": a.line, "kind": a.kind, "buffer": a.buffer, "exact": a.exact, "hardware": a.hardware,
            "elements": a.elements, "beyond": a.beyond, "values": list(a.values),
        }
        for a in accesses
    ]  # fmt: skip
