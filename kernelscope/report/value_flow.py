"""How a size gets to a faulty access: the size, the launch's argument, the index, what happens there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from kernelscope.audit.results import Consequence, KernelResult, Location, ModelResult, UnsafeFinding
from kernelscope.launches.expression_text import argument_text
from kernelscope.launches.host_arithmetic import symbols_of
from kernelscope.launches.launch import Launch, ScalarArgument


class StepKind(Enum):
    SIZE = "size"
    ARGUMENT = "argument"
    INDEX = "index"
    ACCESS = "access"


@dataclass(frozen=True, slots=True)
class FlowStep:
    """One step at the witness, and where in the sources it happens."""

    kind: StepKind
    location: Location
    text: str


def flow_steps(finding: UnsafeFinding, model: ModelResult | None, kernel: KernelResult | None) -> tuple[FlowStep, ...]:
    """The steps in order; `model` and `kernel` are those that the finding belongs to."""
    return (*_sizes(finding, model, kernel), *_arguments(finding, kernel), *_index(finding))


def _sizes(finding: UnsafeFinding, model: ModelResult | None, kernel: KernelResult | None) -> Iterator[FlowStep]:
    sources = {s.name: s.source for s in model.symbols} if model is not None else {}
    launches = _launches(finding, kernel)
    place = _at_launch(launches[0]) if launches else finding.location
    for name, value in finding.witness.symbols.items():
        source = f" ({sources[name]})" if name in sources else ""
        yield FlowStep(StepKind.SIZE, place, f"the size {name}{source} is {value}")


def _arguments(finding: UnsafeFinding, kernel: KernelResult | None) -> Iterator[FlowStep]:
    for launch in _launches(finding, kernel)[:1]:
        for argument in launch.arguments:
            sizes = symbols_of(argument.value) if isinstance(argument, ScalarArgument) else frozenset()
            if sizes & set(finding.witness.symbols):
                text = f"the argument {argument.name} is {argument_text(argument)}"
                yield FlowStep(StepKind.ARGUMENT, _at_launch(launch), text)


def _index(finding: UnsafeFinding) -> Iterator[FlowStep]:
    witness = finding.witness
    runs = finding.consequence is not Consequence.DOES_NOT_COMPILE
    text = finding.expression
    if runs and witness.exact != witness.wrapped:
        text = f"{text} is {witness.exact}, in {finding.type} {witness.wrapped}"
    yield FlowStep(StepKind.INDEX, finding.location, text)
    yield FlowStep(StepKind.ACCESS, finding.location, f"{finding.consequence.value}: {finding.explanation}")


def _launches(finding: UnsafeFinding, kernel: KernelResult | None) -> list[Launch]:
    wanted = set(finding.launch_indices)
    return [launch for launch in kernel.launches if launch.index in wanted] if kernel is not None else []


def _at_launch(launch: Launch) -> Location:
    return Location(launch.position.file, launch.position.line, launch.position.column, launch.position.column, "")
