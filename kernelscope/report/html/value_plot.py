"""The largest value of an expression against a size, on logarithmic axes: where it crosses its limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kernelscope.audit.results import ModelResult, UnsafeFinding
from kernelscope.launches.host_arithmetic import evaluate, symbols_of
from kernelscope.launches.host_expression import HostExpression, HostSymbol, HostType
from kernelscope.launches.launch import Symbol
from kernelscope.launches.python_expression import PythonExpressions, UndefinedName

WIDTH, HEIGHT = 560, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 18, 42
_SAMPLES = 48
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_BEYOND = 8  # how many times the threshold the plot goes on where no range ends


@dataclass(frozen=True, slots=True)
class Line:
    """A vertical or horizontal line of the plot, in its units, with its label."""

    place: float
    label: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Tick:
    place: float
    label: str


@dataclass(frozen=True, slots=True)
class ValuePlot:
    """Points in units of the picture, `x,y` pairs; `summary` says in words what is drawn."""

    size: str
    expression: str
    safe_points: str
    unsafe_points: str
    limit: Line
    threshold: Line
    range_end: Line | None
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    summary: str


def value_plot(finding: UnsafeFinding, model: ModelResult) -> ValuePlot | None:
    """The plot of a finding's condition `EXPRESSION <= LIMIT`; None for a condition of another form."""
    read = _condition(finding.condition, {symbol.name for symbol in model.symbols})
    if read is None:
        return None
    expression, text, limit = read
    others = dict(finding.witness.symbols)
    for symbol in model.symbols:
        threshold = finding.largest_safe.get(symbol.name)
        if threshold is None or threshold < 1 or symbol.name not in symbols_of(expression):
            continue
        rest = {s.name: _least(s) for s in model.symbols} | {n: v for n, v in others.items() if n != symbol.name}
        if len(symbols_of(expression)) > 1:  # thresholds hold with the others at their minimum
            rest = {s.name: _least(s) for s in model.symbols}
        plot = _plot(expression, text, limit, symbol, threshold, rest)
        if plot is not None:
            return plot
    return None


def _condition(text: str, names: set[str]) -> tuple[HostExpression, str, int] | None:
    left, relation, right = text.rpartition(" <= ")
    if not relation or not right.isdigit() or " and " in left or " or " in left:
        return None
    reader = PythonExpressions(
        lambda name: HostSymbol(name) if name in names else None, HostType.PYTHON, true_division_floors=False
    )
    try:
        return reader.parse(left), left, int(right)
    except (SyntaxError, UndefinedName):
        return None


def _least(symbol: Symbol) -> int:
    return max(1, symbol.minimum or 1)


def _plot(
    expression: HostExpression, text: str, limit: int, symbol: Symbol, threshold: int, others: Mapping[str, int]
) -> ValuePlot | None:
    low = min(_least(symbol), threshold)
    declared = symbol.maximum
    high = max(threshold * _BEYOND, 2) if declared is None else max(declared, threshold + 1, low + 1)
    high = min(high, max(threshold, 1) * 4096)
    sizes = _spread(low, threshold, high)
    values = {size: evaluate(expression, {**others, symbol.name: size}) for size in sizes}
    known = {size: value for size, value in values.items() if value is not None and value > 0}
    if len(known) < 2 or max(known.values()) <= limit:
        return None
    across = _scale(min(known), max(known), _LEFT, WIDTH - _RIGHT)
    up = _scale(min(known.values()), max(max(known.values()), 2 * limit), HEIGHT - _BOTTOM, _TOP)
    points = {size: f"{across(size):.1f},{up(value):.1f}" for size, value in known.items()}
    ends = declared is not None and low <= declared <= high
    at = across(threshold)
    return ValuePlot(
        size=symbol.name,
        expression=text,
        safe_points=" ".join(p for size, p in points.items() if size <= threshold),
        unsafe_points=" ".join(p for size, p in points.items() if size >= threshold),
        limit=Line(up(limit), _power_text(limit), "start"),
        threshold=Line(at, f"{symbol.name} = {threshold}", "end" if at > WIDTH / 2 else "start"),
        range_end=Line(across(declared), f"range ends at {declared}", "end") if ends and declared is not None else None,
        x_ticks=tuple(Tick(across(10**n), _power_of_ten(n)) for n in _decades(min(known), max(known))),
        y_ticks=tuple(Tick(up(2**n), _power(2, n)) for n in _octaves(min(known.values()), max(known.values()))),
        summary=(
            f"{text} against {symbol.name}: it stays within {limit} up to {symbol.name} = {threshold} and is beyond it above"
        ),
    )


def _spread(low: int, threshold: int, high: int) -> list[int]:
    ratio = max(high / max(low, 1), 1.0)
    sizes = {round(low * ratio ** (n / _SAMPLES)) for n in range(_SAMPLES + 1)} | {low, threshold, threshold + 1, high}
    return sorted(size for size in sizes if low <= size <= high)


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    first, last = math.log(max(low, 1)), math.log(max(high, 2))
    span = (last - first) or 1.0
    return lambda value: start + (math.log(max(value, 1)) - first) / span * (end - start)


def _decades(low: int, high: int) -> list[int]:
    every = [n for n in range(len(str(high)) + 1) if low <= 10**n <= high]
    return every[:: 1 + len(every) // 7]


def _octaves(low: int, high: int) -> list[int]:
    every = [n for n in range(high.bit_length() + 1) if low <= 2**n <= high and n != 31]
    step = 1 + len(every) // 6
    return [n for n in every if n % step == 0 and abs(n - 31) >= step / 2]


def _power_of_ten(exponent: int) -> str:
    return str(10**exponent) if exponent < 4 else _power(10, exponent)


def _power(base: int, exponent: int) -> str:
    return f"{base}{str(exponent).translate(_SUPERSCRIPT)}"


def _power_text(limit: int) -> str:
    """`2³¹`, `2³¹ - 1`, or the number."""
    for offset, suffix in ((0, ""), (1, " - 1")):
        power = limit + offset
        if power & (power - 1) == 0:
            return f"{_power(2, power.bit_length() - 1)}{suffix}"
    return str(limit)
