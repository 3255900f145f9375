"""Guards of `torch.compile`: conditions on sizes outside of which the code is never run, but compiled anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kernelscope.audit.results import Finding, KernelResult, Note, UnsafeFinding
from kernelscope.launches.expression_text import host_expression_text
from kernelscope.launches.host_arithmetic import evaluate, first_unknown
from kernelscope.launches.host_expression import HostExpression, HostSymbol, HostType
from kernelscope.launches.launch import Symbol, WrapperFacts
from kernelscope.launches.python_expression import PythonExpressions, UndefinedName


def read_guards(texts: Iterable[str], symbols: Sequence[Symbol]) -> tuple[HostExpression, ...]:
    """Guards in Python's syntax over the names of sizes; one that is not understood, or is about other sizes, is left
    out: it protects from nothing."""
    names = {symbol.name for symbol in symbols}
    reader = PythonExpressions(
        lambda name: HostSymbol(name) if name in names else None, HostType.PYTHON, true_division_floors=False
    )
    guards: list[HostExpression] = []
    for text in texts:
        try:
            guard = reader.parse(text)
        except (SyntaxError, UndefinedName):
            continue
        if first_unknown(guard) is None:
            guards.append(guard)
    return tuple(guards)


def with_guards(wrapper: WrapperFacts, guards: tuple[HostExpression, ...]) -> WrapperFacts:
    """The wrapper with every launch under the guards."""
    launches = (replace(launch, conditions=(*launch.conditions, *guards)) for launch in wrapper.launches)
    return replace(wrapper, launches=tuple(launches))


def tell_guarded(plain: KernelResult, guarded: KernelResult, guards: Sequence[HostExpression]) -> KernelResult:
    """The result under the guards, with a note for each finding that they rule out; `plain` is the one without them."""
    left = {finding.id for finding in guarded.findings}
    notes = tuple(
        _note(finding, guards)
        for finding in plain.findings
        if isinstance(finding, UnsafeFinding) and finding.id not in left
    )
    return replace(guarded, findings=(*guarded.findings, *notes)) if notes else guarded


def _note(finding: UnsafeFinding, guards: Sequence[HostExpression]) -> Finding:
    """Which guards do not hold at the witness is told; a witness that each of them admits is ruled out by all together."""
    broken = [g for g in guards if evaluate(g, finding.witness.symbols) == 0] or list(guards)
    texts = tuple(dict.fromkeys(host_expression_text(guard) for guard in broken))
    protection = f"guarded by {' and '.join(texts)}: beyond it torch.compile compiles anew"
    detail = f"{protection}. Without the guard: {finding.explanation}"
    return Note(
        finding.id, finding.code, finding.location, finding.expression, detail, finding.launch_indices, guards=texts
    )
