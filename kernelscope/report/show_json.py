"""What `kernelscope show` tells, as JSON, schema 1."""

from __future__ import annotations

from collections.abc import Sequence

from kernelscope.audit.index_ranges import IndexRange
from kernelscope.audit.kernel_facts import FoundKernels, KernelFacts
from kernelscope.audit.kernel_text import KernelText
from kernelscope.audit.results import KernelSource
from kernelscope.audit.run import ModelFacts
from kernelscope.report.json_report import (
    SCHEMA,
    Json,
    assumptions_json,
    dumped,
    kernel_json,
    launch_json,
    symbol_json,
    tool_json,
)


def show_json(models: Sequence[ModelFacts], command: Sequence[str]) -> str:
    """Sizes and launches of every model."""
    return dumped({"schema": SCHEMA, "tool": tool_json(command), "models": [_model(model) for model in models]})


def kernel_facts_json(found: FoundKernels, command: Sequence[str]) -> str:
    """Kernels as in the report of an audit, with their source and `expressions`: the type and range of each, where it lies
    in the file (columns from 0), and of a comparison its two sides."""
    return dumped(
        {
            "schema": SCHEMA,
            "tool": tool_json(command),
            "assumptions": assumptions_json(found.audit.assumptions),
            "kernels": [_kernel(facts) for facts in found.kernels],
        }
    )


def _model(facts: ModelFacts) -> Json:
    return {
        "name": facts.model.name,
        "device": next((w.device for w in facts.wrappers if w.device), facts.model.device),
        "symbols": {s.name: symbol_json(s) for wrapper in facts.wrappers for s in wrapper.symbols},
        "launches": [
            {"kernel": launch.kernel, **launch_json(launch)} for wrapper in facts.wrappers for launch in wrapper.launches
        ],
        "damaged": [
            {"file": part.position.file, "line": part.position.line, "what": part.what} for part in facts.damaged
        ],
        "without_launches": [orphan.path for orphan in facts.orphans],
        "notes": [note for wrapper in facts.wrappers for note in wrapper.notes],
    }


def _kernel(facts: KernelFacts) -> Json:
    source = facts.kernel.source
    document = kernel_json(facts.kernel)
    if source is None:
        return {**document, "model": facts.model.name, "source": None, "expressions": []}
    text = KernelText.of(source)
    return {
        **document,
        "model": facts.model.name,
        "source": _source(source),
        "expressions": [{**_place(one, text), **_expression(one)} for one in facts.ranges],
    }


def _source(source: KernelSource) -> Json:
    return {"file": source.file, "first_line": source.first_line, "text": source.text}


def _place(one: IndexRange, text: KernelText) -> Json:
    location = text.location(one.span)
    return {
        "text": " ".join(text.slice(one.span).split()),
        "line": location.line,
        "column": location.column,
        "end_line": text.source.first_line + one.span.end_line - 1,
        "end_column": text.source.indent + one.span.end_column,
    }


def _expression(one: IndexRange) -> Json:
    if one.compared:
        return {"type": one.type, "operator": one.operator, "compared": [_expression(side) for side in one.compared]}
    return {"type": one.type, "minimum": one.minimum, "maximum": one.maximum, "fits": one.fits}
