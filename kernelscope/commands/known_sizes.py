"""The names of sizes that `--range` may give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from kernelscope.audit.results import AuditResult


def refuse_unknown_sizes(result: AuditResult, names: Sequence[str]) -> None:
    """A range that bounds nothing would make its user believe in a verdict that does not rest on it."""
    symbols = [symbol for artifact in result.artifacts for model in artifact.models for symbol in model.symbols]
    known = {symbol.name for symbol in symbols} | {symbol.source for symbol in symbols}
    readable = any(artifact.error is None for artifact in result.artifacts)
    for name in names:
        if readable and name not in known:
            sizes = ", ".join(sorted({f"{symbol.name} ({symbol.source})" for symbol in symbols})) or "none"
            raise click.UsageError(f"--range: no size is called {name}; the sizes are {sizes}")
