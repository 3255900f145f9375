"""Violations of launches as findings of a kernel: located, named, merged over launches, explained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kernelscope.audit.evaluation import Use
from kernelscope.audit.evidence import range_tree
from kernelscope.audit.float_notes import float_notes
from kernelscope.audit.identity import finding_id
from kernelscope.audit.kernel_text import KernelText, through_shapes
from kernelscope.audit.launch_analysis import LaunchAnalysis, Violation
from kernelscope.audit.results import (
    Consequence,
    Finding,
    Note,
    UnknownFinding,
    UnsafeFinding,
    Witness,
)
from kernelscope.bounds.polynomial import Polynomial
from kernelscope.bounds.proof import Claim
from kernelscope.triton_source.index_program import (
    Argument,
    Cast,
    LoopCounter,
    Span,
    UnknownReason,
)
from kernelscope.triton_source.scalar_types import ScalarType

_CODE_OF_USE = {Use.ADDRESS: "KS101", Use.VALUE: "KS103", Use.LOOP: "KS202", Use.CONDITION: "KS203", Use.MASK: "KS201"}
_USE_ORDER = list(Use)


@dataclass(frozen=True, slots=True)
class _Located:
    """A violation with its code and place, ready to be merged with the same one of other launches."""

    code: str
    span: Span
    expression: str
    type: str
    violation: Violation
    analysis: LaunchAnalysis


def findings_of(kernel: str, text: KernelText, analyses: Sequence[LaunchAnalysis]) -> tuple[Finding, ...]:
    """All findings of one kernel over its launches, most severe first, then by line."""
    located = [_locate(text, a, v) for a in analyses for v in a.violations]
    findings: list[Finding] = []
    certain = _certain(analyses)
    for group in _grouped(located):
        unsafe = [one for one in group if one.violation.trigger is not None]
        unsafe = [one for one in unsafe if one.analysis.launch.index in certain]
        findings.append(_unsafe(kernel, text, unsafe, group) if unsafe else _unknown(kernel, text, group))
    findings.extend(_structural(kernel, text, analyses))
    findings.extend(float_notes(kernel, text, analyses))
    ordered = sorted(findings, key=lambda f: (_severity(f), f.location.line, f.location.column, f.code))
    return tuple(_with_own_ids(ordered))


def _with_own_ids(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, those on equal lines told apart by a number."""
    times: dict[str, int] = {}
    for finding in findings:
        times[finding.id] = times.get(finding.id, 0) + 1
        yield finding if times[finding.id] == 1 else replace(finding, id=f"{finding.id}-{times[finding.id]}")


def _certain(analyses: Sequence[LaunchAnalysis]) -> set[int]:
    """Launches that fail whatever their block sizes. (Where one is not known, a launch has an analysis for each extreme.)"""
    failing: dict[int, bool] = {}
    for analysis in analyses:
        fails = any(v.trigger is not None for v in analysis.violations)
        index = analysis.launch.index
        failing[index] = failing.get(index, True) and fails
    return {index for index, fails in failing.items() if fails}


def _severity(finding: Finding) -> int:
    match finding:
        case UnsafeFinding():
            return 0
        case UnknownFinding():
            return 1
        case Note():
            return 2


def _grouped(located: Iterable[_Located]) -> list[list[_Located]]:
    groups: dict[tuple[object, ...], list[_Located]] = {}
    for one in located:
        if one.code == "KS301":
            groups.setdefault((one.code, one.expression), []).append(one)
            continue
        family = "index" if one.code in ("KS101", "KS201", "KS203") else one.code
        groups.setdefault((family, one.span), []).append(one)
    return list(groups.values())


def _locate(text: KernelText, analysis: LaunchAnalysis, violation: Violation) -> _Located:
    if violation.grid is not None:
        return _locate_grid(text, analysis, violation)
    assert violation.requirement is not None
    obligation = violation.requirement.requirement.obligation
    trigger = violation.trigger
    node = trigger.failure.node if trigger is not None and trigger.failure is not None else obligation.node
    loop = violation.requirement.requirement.loop
    code = _CODE_OF_USE[obligation.use]
    if isinstance(node, Argument) and loop is None:
        code = "KS301"
        observer = obligation.observer if through_shapes(obligation.node) is node else obligation.node
        span = observer.span if observer is not None else node.span
        return _Located(code, span, node.name, node.type.name, violation, analysis)
    if isinstance(node, Cast) and not node.implicit and _narrows(node):
        code = "KS102"
    if loop is None and isinstance(node, LoopCounter):
        loop = analysis.program.loops[node.loop]
    if loop is not None:
        span = loop.span
        return _Located("KS202", span, text.slice(span), obligation.type.name, violation, analysis)
    node = through_shapes(node)
    return _Located(code, node.span, text.slice(node.span), node.type.name, violation, analysis)


def _narrows(node: Cast) -> bool:
    source, target = node.operand.type, node.type
    return isinstance(source, ScalarType) and isinstance(target, ScalarType) and target.bits < source.bits


def _locate_grid(text: KernelText, analysis: LaunchAnalysis, violation: Violation) -> _Located:
    grid = violation.grid
    assert grid is not None
    spans = analysis.program.program_id_spans
    span = spans.get(grid.axis if grid.axis is not None else 0) or _definition_span(text, analysis.program.name)
    expression = grid.argument if grid.argument is not None else analysis.model.space.text(grid.value)
    type_ = grid.type.value if grid.type is not None else "uint32_t" if grid.axis is not None else "int"
    return _Located(grid.code, span, expression, type_, violation, analysis)


def _definition_span(text: KernelText, name: str) -> Span:
    for number, line in enumerate(text.lines, 1):
        if line.lstrip().startswith(f"def {name}("):
            return Span(number, len(line) - len(line.lstrip()), number, len(line))
    return Span(1, 0, 1, len(text.lines[0]) if text.lines else 0)


# -- unsafe ---------------------------------------------------------------------------------------------------------


def _unsafe(kernel: str, text: KernelText, unsafe: list[_Located], group: list[_Located]) -> UnsafeFinding:
    unsafe = sorted(unsafe, key=lambda one: (one.span.line, one.span.column))
    best = min(unsafe, key=_first_trigger)
    code = min((o.code for o in unsafe), key=_code_order)
    violation, analysis = best.violation, best.analysis
    trigger = violation.trigger
    assert trigger is not None
    largest = _merged_safe([_safe_of(one) for one in group])
    witness, consequence = _witness(best)
    condition = _condition(best)
    return UnsafeFinding(
        id=finding_id(kernel, code, best.expression, text.location(best.span).text),
        code=code,
        location=text.location(best.span),
        expression=best.expression,
        type=best.type,
        condition=condition,
        largest_safe=largest,
        witness=witness,
        consequence=consequence,
        smallest_trigger_bytes=min(o.violation.trigger.bytes_used for o in unsafe if o.violation.trigger),
        launch_indices=tuple(sorted({o.analysis.launch.index for o in group})),
        tree=range_tree(text, violation.requirement, analysis),
        explanation=_explanation(best, code, witness, consequence),
    )


def _first_trigger(one: _Located) -> tuple[int, int]:
    trigger = one.violation.trigger
    assert trigger is not None
    return trigger.bytes_used, _USE_ORDER.index(_use_of(one))


def _use_of(one: _Located) -> Use:
    requirement = one.violation.requirement
    return requirement.requirement.obligation.use if requirement is not None else Use.ADDRESS


def _code_order(code: str) -> int:
    order = ("KS301", "KS102", "KS101", "KS103", "KS202", "KS203", "KS201")
    return order.index(code) if code in order else 0


def _safe_of(one: _Located) -> Mapping[str, int | None]:
    """What fails whatever the sizes are, or has no bound in them, is proved at none."""
    safe = one.violation.largest_safe
    return safe if safe else {symbol.name: symbol.minimum - 1 for symbol in _symbols(one.analysis)}


def _merged_safe(parts: Sequence[Mapping[str, int | None]]) -> dict[str, int | None]:
    merged: dict[str, int | None] = {}
    for part in parts:
        for name, value in part.items():
            if name not in merged or merged[name] is None:
                merged[name] = value
            elif value is not None:
                merged[name] = min(value, merged[name] or 0)
    return dict(sorted(merged.items()))


def _witness(one: _Located) -> tuple[Witness, Consequence]:
    trigger, model = one.violation.trigger, one.analysis.model
    assert trigger is not None
    names = model.symbol_names
    symbols = {names[n]: v for n, v in sorted(trigger.sizes.items()) if n in names}
    failure = trigger.failure
    if failure is not None:
        return (
            Witness(
                symbols, failure.program_id, failure.lanes, failure.loops, failure.loaded, failure.exact, failure.wrapped
            ),
            failure.consequence,
        )
    grid = one.violation.grid
    assert grid is not None
    exact = grid.value_at(trigger.sizes)
    wrapped, consequence = _grid_effect(grid.code, exact)
    return Witness(symbols, (0, 0, 0), (), {}, {}, exact, wrapped), consequence


def _grid_effect(code: str, exact: int) -> tuple[int, Consequence]:
    if code == "KS304":
        wrapped = (exact + (1 << 31)) % (1 << 32) - (1 << 31)
        return wrapped, Consequence.WRONG_RESULT
    if code == "KS305":
        return (exact + (1 << 63)) % (1 << 64) - (1 << 63), Consequence.WRONG_RESULT
    if code == "KS301":
        return (exact + (1 << 31)) % (1 << 32) - (1 << 31), Consequence.WRONG_RESULT
    wrapped = exact % (1 << 32)
    silent = code == "KS303" or exact >= 1 << 32
    return wrapped, Consequence.WRONG_RESULT if silent else Consequence.FAILED_LAUNCH


def _failing_claim(one: _Located) -> tuple[Claim, Polynomial] | None:
    """The claim that fails at the trigger, with its least candidate there."""
    trigger = one.violation.trigger
    assert trigger is not None
    for claim in one.violation.claims:
        claim.space.set_box({n: (v, v) for n, v in trigger.sizes.items()})
        best = min(claim.candidates, key=lambda c: (claim.space.maximum(c), len(c.terms)))
        if claim.space.maximum(best) > claim.limit:
            return claim, best
    return None


def _condition(one: _Located) -> str:
    found = _failing_claim(one)
    if found is None:
        return ""
    claim, bound = found
    return condition_text(claim, bound)


def condition_text(claim: Claim, bound: Polynomial) -> str:
    """`bound <= limit` with the constant moved to the right: `4096*s10 <= 2147483648`."""
    constant = bound.constant_term
    return f"{claim.space.text(bound.plus(-constant))} <= {claim.limit - constant}"


def _explanation(one: _Located, code: str, witness: Witness, consequence: Consequence) -> str:
    sizes = ", ".join(f"{name} = {value}" for name, value in witness.symbols.items())
    match code:
        case "KS301":
            return (
                f"At {sizes} the argument {one.expression} is {witness.exact}, which the kernel receives as "
                f"{witness.wrapped} ({one.type}): {consequence.value}."
            )
        case "KS302":
            return f"At {sizes} the launch grid dimension is {witness.exact}, beyond CUDA's limit: {consequence.value}."
        case "KS303" | "KS304" | "KS305":
            return f"At {sizes} {one.expression} is {witness.exact} and becomes {witness.wrapped}: {consequence.value}."
        case "KS202" if consequence is Consequence.ENDLESS_LOOP:
            return (
                f"At {sizes} the loop counter steps to {witness.exact}, wraps to {witness.wrapped} and the loop never "
                "ends."
            )
        case _:
            return (
                f"At {sizes} {one.expression} is {witness.exact} but {one.type} arithmetic gives {witness.wrapped}: "
                f"{consequence.value}."
            )


# -- unknown --------------------------------------------------------------------------------------------------------


def _unknown(kernel: str, text: KernelText, group: list[_Located]) -> UnknownFinding:
    one = group[0]
    safe = [o.violation.largest_safe for o in group]
    location = text.location(one.span)
    return UnknownFinding(
        id=finding_id(kernel, one.code, one.expression, location.text),
        code=one.code,
        location=location,
        expression=one.expression,
        type=one.type,
        reason=one.violation.reason or UnknownReason.MISSING_FACT,
        detail=one.violation.detail or "it depends on a block size that is not known",
        launch_indices=tuple(sorted({o.analysis.launch.index for o in group})),
        largest_safe=_merged_safe(safe) if all(safe) else None,
    )


def unknown_at(
    kernel: str, text: KernelText, span: Span, reason: UnknownReason, detail: str, indices: tuple[int, ...],
    code: str = "KS904",
) -> UnknownFinding:  # fmt: skip
    """An unknown about a place of a kernel."""
    location = text.location(span)
    expression = text.slice(span)
    return UnknownFinding(
        finding_id(kernel, code, expression + detail, location.text), code, location, expression, "", reason, detail,
        indices,
    )  # fmt: skip


def _structural(kernel: str, text: KernelText, analyses: Sequence[LaunchAnalysis]) -> list[Finding]:
    """Constructs that are not modelled, kernels that cannot compile, accesses with too many cases."""
    findings: dict[str, Finding] = {}
    for analysis in analyses:
        indices = tuple(a.launch.index for a in analyses)
        program = analysis.program
        for part in program.unmodelled:
            found = unknown_at(kernel, text, part.span, UnknownReason.NOT_MODELLED, part.detail, indices)
            findings[found.id] = found
        for access in analysis.collected.too_many_cases:
            detail = "the address depends on too many conditions"
            found = unknown_at(kernel, text, access.span, UnknownReason.WEAK_PROOF, detail, indices)
            findings[found.id] = found
        for value in analysis.collected.not_followed.values():
            found = unknown_at(kernel, text, value.node.span, value.reason, value.detail, indices)
            findings[found.id] = found
        if analysis.impossible:
            detail = "no size in the ranges considered is possible: a range is empty or its tensors exceed device memory"
            found = unknown_at(
                kernel, text, _definition_span(text, program.name), UnknownReason.MISSING_FACT, detail, indices
            )
            findings[found.id] = found
        for error in program.compile_errors:
            findings[error.detail] = _does_not_compile(kernel, text, analysis, error.span, error.detail, indices)
    return list(findings.values())


def _does_not_compile(
    kernel: str, text: KernelText, analysis: LaunchAnalysis, span: Span, detail: str, indices: tuple[int, ...]
) -> UnsafeFinding:
    location = text.location(span)
    names = analysis.model.symbol_names
    sizes = {names[n]: r[0] for n, r in sorted(analysis.box.items()) if n in names}
    largest: dict[str, int | None] = {s.name: (s.minimum or 0) - 1 for s in _symbols(analysis)}
    expression = text.slice(span)
    return UnsafeFinding(
        finding_id(kernel, "KS104", expression, location.text), "KS104", location, expression, "", "never", largest,
        Witness(sizes, (0, 0, 0), (), {}, {}, 0, 0), Consequence.DOES_NOT_COMPILE, None, indices, None,
        f"The kernel does not compile at any size: {detail}.",
    )  # fmt: skip


def _symbols(analysis: LaunchAnalysis) -> list[_SymbolRange]:
    names = analysis.model.symbol_names
    return [_SymbolRange(names[n], r[0]) for n, r in sorted(analysis.box.items()) if n in names]


@dataclass(frozen=True, slots=True)
class _SymbolRange:
    name: str
    minimum: int
