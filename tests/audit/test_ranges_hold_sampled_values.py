"""Ranges of index expressions against the exact program itself, evaluated at random sizes, programs and lanes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kernelscope.artifact import open_artifact
from kernelscope.audit.fault import is_live
from kernelscope.audit.index_ranges import index_ranges
from kernelscope.audit.kernels import KernelReader, Readable
from kernelscope.audit.launch_analysis import LaunchAnalyser, full_ranges
from kernelscope.audit.point import NotEvaluable, Point, PointEvaluator, inner_lanes
from kernelscope.audit.run import read_model
from kernelscope.launches.launch import Launch, Symbol
from kernelscope.triton_source.index_program import (
    Broadcast,
    Carried,
    Cast,
    Constant,
    ExpandDims,
    Loaded,
    Node,
    Permute,
    Span,
    Where,
)
from kernelscope.triton_source.operands import operands
from kernelscope.triton_source.scalar_types import ScalarType

FIXTURES = Path(__file__).parents[2] / "fixtures"
LARGEST = 40
SAMPLES = 60


def analysers(name: str) -> Iterator[LaunchAnalyser]:
    """The launches of the first kernels of a package, over small sizes."""
    for model in open_artifact(str(FIXTURES / f"{name}.pt2")).models:
        reader = KernelReader(model.binaries)
        for wrapper in read_model(model, None).wrappers:
            symbols = tuple(bounded(s) for s in wrapper.symbols)
            kernels = {k.launcher_name: k for k in wrapper.kernels}
            for launch in wrapper.launches[:3]:
                yield from of_launch(reader, reader.read(kernels[launch.launcher_name]), launch, symbols)


def bounded(symbol: Symbol) -> Symbol:
    return replace(symbol, maximum=min(LARGEST, symbol.maximum or LARGEST))


def of_launch(
    reader: KernelReader, kernel: object, launch: Launch, symbols: tuple[Symbol, ...]
) -> Iterator[LaunchAnalyser]:
    assert isinstance(kernel, Readable)
    choice = reader.programs(kernel, launch)
    for program, blocked in zip(choice.programs, choice.launches, strict=True):
        yield LaunchAnalyser(program, blocked, symbols, full_ranges(symbols), 1 << 40)


def values_below(
    exact: PointEvaluator, node: Node, lanes: tuple[int, ...], within: Span | None = None
) -> Iterator[tuple[Node, int]]:
    """Every integer of the text that a node is computed from at one lane, with its value."""
    told = not isinstance(node, Constant | Broadcast) and not (isinstance(node, Cast) and node.implicit)
    if told and isinstance(node.type, ScalarType) and node.type.is_integer and node.type.bits > 1:
        if node.span != within:
            yield node, exact.value(node, lanes)
        within = node.span
    match node:
        case Loaded():
            return
        case ExpandDims() | Broadcast() | Permute():
            yield from values_below(exact, node.operand, inner_lanes(node, lanes), within)
        case Where(condition, if_true, if_false):
            yield from values_below(exact, if_true if exact.value(condition, lanes) else if_false, lanes, within)
        case Carried(_, _, initial, step):
            for part in (initial, step):
                yield from values_below(exact, part, lanes[: len(part.shape)], within)
        case _:
            for operand in operands(node):
                if operand.shape == node.shape:
                    yield from values_below(exact, operand, lanes, within)


def points(analyser: LaunchAnalyser, generator: random.Random) -> Iterator[Point]:
    model = analyser.model
    for _ in range(SAMPLES):
        sizes = {n: generator.choice([low, high, generator.randint(low, high)]) for n, (low, high) in analyser.box.items()}
        model.space.set_box({n: (v, v) for n, v in sizes.items()})
        grid = tuple(model.space.maximum(g) for g in model.grid)
        arguments = {name: model.space.maximum(p) for name, p in model.arguments.items() if model.is_known(p)}
        ids = tuple(generator.choice([0, max(0, g - 1), generator.randrange(max(1, g))]) for g in grid)
        iterations = {n: generator.choice([0, 0, 1]) for n in range(len(analyser.result.program.loops))}
        yield Point(ids, grid, arguments, arguments, iterations, {})


@pytest.mark.parametrize("name", ["transpose.huge", "cat.unbounded", "layernorm.unbounded", "resnet18.unbounded",
                                  "softmax2d.huge", "conv.unbounded", "extra/avgpool.unbounded"])  # fmt: skip
def test_no_value_of_a_live_lane_lies_outside_its_range(name: str) -> None:
    generator = random.Random(name)
    checked = 0
    for analyser in analysers(name):
        program = analyser.result.program
        ranges = {r.span: r for r in index_ranges([analyser]) if not r.compared}
        for point in points(analyser, generator):
            exact = PointEvaluator(program, point, wrapping=False)
            for access in program.accesses:
                shape = access.pointer.shape
                lanes = tuple(generator.choice([0, extent - 1, generator.randrange(extent)]) for extent in shape)
                try:
                    found = list(values_below(exact, access.pointer, lanes)) if is_live(exact, access, lanes) else []
                except NotEvaluable:
                    continue
                for node, value in found:
                    known = ranges.get(node.span)
                    if known is not None and known.type == getattr(node.type, "name", ""):
                        assert known.minimum is None or known.minimum <= value, (name, node.span, known, value)
                        assert known.maximum is None or known.maximum >= value, (name, node.span, known, value)
                        checked += 1
    assert checked > 300
