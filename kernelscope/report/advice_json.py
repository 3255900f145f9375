"""Advice as JSON, schema 1."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from kernelscope import __version__
from kernelscope.advice.options import (
    Advice,
    DeclareRanges,
    ModelAdvice,
    NoRange,
    RuntimeChecks,
    SizeBound,
    TradeOff,
)

SCHEMA = 1

Json = Mapping[str, object]


def advice_json(advice: Advice, command: Sequence[str]) -> str:
    """The options as JSON text; an option that a model has no use for is null or empty."""
    document = {
        "schema": SCHEMA,
        "tool": {"name": "kernelscope", "version": __version__, "command": list(command)},
        "path": advice.path,
        "verdict": advice.audit.verdict.word,
        "models": [_model(model) for model in advice.models],
    }
    return json.dumps(document, indent=2) + "\n"


def _model(model: ModelAdvice) -> Json:
    return {
        "name": model.name,
        "verdict": model.verdict.word,
        "producer": model.producer.value if model.producer is not None else None,
        "declare_ranges": _ranges(model.ranges),
        "patch": asdict(model.patch) if model.patch is not None else None,
        "runtime_checks": _checks(model.checks),
        "int32_index_tensors": [asdict(tensor) for tensor in model.index_tensors],
        "known_defects": [asdict(defect) for defect in model.defects],
    }


def _ranges(option: DeclareRanges | NoRange | None) -> Json | None:
    match option:
        case DeclareRanges():
            return {
                "bounds": {b.symbol.name: _bound(b) for b in option.bounds},
                "code": option.code,
                "verdict": option.verdict.word,
                "verdict_with_one_more": option.one_more.word if option.one_more is not None else None,
                "trade_off": _trade_off(option.trade_off),
                "generated_kernels": list(option.generated),
                "handwritten_kernels": list(option.handwritten),
            }
        case NoRange(reason):
            return {"bounds": {}, "reason": reason}
        case None:
            return None


def _bound(bound: SizeBound) -> Json:
    return {"source": bound.symbol.source, "minimum": bound.minimum, "maximum": bound.maximum}


def _trade_off(trade: TradeOff | None) -> Json | None:
    if trade is None:
        return None
    return {
        "size": trade.first.name,
        "others": [symbol.name for symbol in trade.others],
        "rows": [{"others_up_to": row.others, "largest": row.largest} for row in trade.rows],
    }


def _checks(option: RuntimeChecks | None) -> Json | None:
    if option is None:
        return None
    return {
        "lets_pass": dict(option.limits),
        "findings": [
            {
                "id": f.finding.id,
                "kernel": f.kernel,
                "code": f.finding.code,
                "stopped": {"YES": True, "NO": False, "UNKNOWN": None}[f.caught.name],
                "passes": dict(f.passes) if f.passes is not None else None,
            }
            for f in option.findings
        ],
    }
