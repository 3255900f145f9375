"""`kernelscope.replay`: a finding's witness, run in Triton's interpreter."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from kernelscope.artifact import open_artifact
from kernelscope.artifact.contents import Model
from kernelscope.audit.kernels import KernelReader, ProgramChoice, Readable
from kernelscope.audit.results import AuditResult, KernelResult, UnsafeFinding
from kernelscope.audit.run import DEFAULT_DEVICE_MEMORY, audit, read_model
from kernelscope.errors import KernelscopeError
from kernelscope.launches.host_arithmetic import evaluate, reduced
from kernelscope.launches.host_expression import (
    HostBinary,
    HostCast,
    HostConstant,
    HostExpression,
    HostSelect,
    HostType,
)
from kernelscope.launches.launch import Launch, ScalarArgument, TensorArgument, WrapperFacts
from kernelscope.paths import StrPath
from kernelscope.replay.results import Replay, ReplayedAccess, ReplayState
from kernelscope.triton_source.scalar_types import PointerType, ScalarType

_TIME_LIMIT = 120.0
_GRID_CODES = {
    "KS302": "the driver refuses the launch: no program runs",
    "KS303": "the launcher drops the grid's high bits: programs are missing, none is wrong",
    "KS304": "triton's launcher skips the launch: no program runs",
    "KS305": "the host's own arithmetic wraps before the launch",
    "KS106": "the kernel does not compile",
    "KS202": "the loop's counter steps past its bound after as many iterations as the size has",
}


def replay(
    path: StrPath,
    finding: str,
    *,
    device_memory: int | None = DEFAULT_DEVICE_MEMORY,
    launch_file: StrPath | None = None,
) -> Replay:
    """Runs the program and lane of a finding's witness. Needs triton, torch and numpy; no GPU.

    `finding`: its id, as `audit --format json` gives it, or the beginning of one. Buffers are addresses only: nothing of the
    sizes of the witness is allocated. KernelscopeError for an id that there is not, or when triton is missing."""
    path, launch_file = os.fspath(path), None if launch_file is None else os.fspath(launch_file)
    result = audit([path], device_memory=device_memory, launch_file=launch_file)
    chosen = [(k, f) for k, f in _unsafe(result) if f.id == finding] or [
        (k, f) for k, f in _unsafe(result) if f.id.startswith(finding)
    ]
    if not chosen:
        known = ", ".join(f.id for _, f in _unsafe(result)[:6]) or "none"
        raise KernelscopeError(f"no unsafe finding {finding}", where=path, try_this=f"there are {known}")
    with Interpreter() as interpreter:
        return _Replayer(path, launch_file, interpreter).run(*chosen[0])


def replay_all(
    path: str, result: AuditResult, *, launch_file: str | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> tuple[Replay, ...]:  # fmt: skip
    """Replays of every unsafe finding in an audit of `path`."""
    found = _unsafe(result)
    with Interpreter() as interpreter:
        replayer = _Replayer(path, launch_file, interpreter)
        replays = []
        for number, (kernel, finding) in enumerate(found):
            if progress is not None:
                progress(number, len(found), finding.id)
            replays.append(replayer.run(kernel, finding))
    return tuple(replays)


def _unsafe(result: AuditResult) -> list[tuple[KernelResult, UnsafeFinding]]:
    kernels = [k for a in result.artifacts for m in a.models for k in m.kernels]
    return [(k, f) for k in kernels for f in k.findings if isinstance(f, UnsafeFinding)]


class Interpreter:
    """The child in which Triton's interpreter runs."""

    def __init__(self) -> None:
        for name in ("triton", "torch", "numpy"):
            if importlib.util.find_spec(name) is None:
                raise KernelscopeError(
                    f"{name} is not installed, and replay needs it", try_this="pip install 'kernelscope[build]'"
                )
        root = str(Path(__file__).resolve().parents[2])
        paths = [root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        self._child = subprocess.Popen(
            [sys.executable, "-m", "kernelscope.replay.interpreted"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )  # fmt: skip

    def __enter__(self) -> Interpreter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.kill()
        self._child.wait()

    def run(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to one request: `hardware` and `exact`, or `failure`."""
        stdin, stdout = self._child.stdin, self._child.stdout
        assert stdin is not None and stdout is not None
        return _asked(stdin, stdout, request)


def _asked(stdin: IO[str], stdout: IO[str], request: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        stdin.write(json.dumps(request) + "\n")
        stdin.flush()
        line = stdout.readline()
    except OSError:
        line = ""
    if not line:
        return {"failure": "the interpreter's process ended"}
    answer: Mapping[str, Any] = json.loads(line)
    return answer


@dataclass(frozen=True, slots=True)
class _Found:
    model: Model
    wrapper: WrapperFacts
    launch: Launch
    choice: ProgramChoice
    source: str


class _Replayer:
    def __init__(self, path: str, launch_file: str | None, interpreter: Interpreter) -> None:
        self._path = path
        self._interpreter = interpreter
        self._facts = [(model, read_model(model, launch_file)) for model in open_artifact(path).models]
        self._readers = {id(model): KernelReader(model.binaries) for model, _ in self._facts}

    def run(self, kernel: KernelResult, finding: UnsafeFinding) -> Replay:
        if finding.code in _GRID_CODES:
            return self._not_replayable(kernel, finding, _GRID_CODES[finding.code])
        found = self._found(kernel, finding)
        if found is None:
            return self._not_replayable(kernel, finding, "its launch is not known")
        sizes = finding.witness.symbols
        grid = [evaluate(g, sizes) for g in found.launch.grid]
        if any(g is None for g in grid):
            return self._not_replayable(kernel, finding, "the grid is not known")
        arguments = _arguments(found, sizes)
        if isinstance(arguments, str):
            return self._not_replayable(kernel, finding, arguments)
        request = {
            "source": found.source, "function": found.launch.kernel, "arguments": arguments, "grid": grid,
            "program_id": list(finding.witness.program_id), "lane": list(finding.witness.lane),
            "loops": dict(finding.witness.loop), "loaded": dict(finding.witness.loaded),
        }  # fmt: skip
        answer = self._interpreter.run(request)
        if "failure" in answer:
            return self._not_replayable(kernel, finding, f"the interpreter cannot run it: {answer['failure']}")
        failure = answer["hardware"]["failure"] or answer["exact"]["failure"]
        sides = [answer[side]["accesses"] for side in ("hardware", "exact")]
        if failure is not None:
            sides = [side[: min(map(len, sides))] for side in sides]
        accesses = _paired(sides[0], sides[1], _elements(found.launch, sizes))
        wrong = [a for a in accesses if not a.agrees]
        if failure is not None and not wrong:
            return self._not_replayable(kernel, finding, f"the interpreter cannot run it: {failure}")
        passed = {a["name"]: (a["exact"], a["hardware"]) for a in arguments if a["kind"] == "scalar"}
        state = ReplayState.REPRODUCED if wrong else ReplayState.NOT_REPRODUCED
        detail = "" if wrong else "the lane does the same on both sides"
        if failure is not None:
            detail = f"the run ended early: {failure}"
        shape = (grid[0] or 0, grid[1] or 0, grid[2] or 0)
        return Replay(self._path, kernel.name, finding, state, detail, passed, shape, accesses)

    def _not_replayable(self, kernel: KernelResult, finding: UnsafeFinding, why: str) -> Replay:
        return Replay(self._path, kernel.name, finding, ReplayState.NOT_REPLAYABLE, why, {}, None, ())

    def _found(self, kernel: KernelResult, finding: UnsafeFinding) -> _Found | None:
        for model, facts in self._facts:
            for wrapper in facts.wrappers:
                for launch in wrapper.launches:
                    if launch.index not in finding.launch_indices or launch not in kernel.launches:
                        continue
                    embedded = next((k for k in wrapper.kernels if k.launcher_name == launch.launcher_name), None)
                    embedded = embedded or next((k for k in wrapper.kernels if k.name == launch.kernel), None)
                    if embedded is None:
                        return None
                    read = self._readers[id(model)].read(embedded)
                    if not isinstance(read, Readable):
                        return None
                    choice = self._readers[id(model)].programs(read, launch)
                    return _Found(model, wrapper, launch, choice, embedded.source)
        return None


def _arguments(found: _Found, sizes: Mapping[str, int]) -> list[dict[str, Any]] | str:
    """Every parameter with its type and value; a sentence where one is not known."""
    program = found.choice.programs[0]
    given = {a.name: a for a in found.launch.arguments}
    result: list[dict[str, Any]] = []
    for name in program.parameters:
        kind = program.types.get(name)
        argument = given.get(name)
        if name in program.constexprs:
            result.append({"name": name, "kind": "constexpr", "value": _plain(program.constexprs[name])})
        elif isinstance(kind, PointerType):
            result.append({"name": name, "kind": "pointer", "type": f"*{_signature(kind.element)}"})
        elif isinstance(kind, ScalarType) and isinstance(argument, ScalarArgument):
            value = _exact(argument.value, sizes)
            if value is None:
                return f"the argument {name} is not known"
            passed = evaluate(argument.value, sizes)
            passed = value if passed is None else passed
            if argument.c_type is not None and argument.c_type is not HostType.PYTHON:
                passed = reduced(passed, argument.c_type)
            result.append(
                {
                    "name": name,
                    "kind": "scalar",
                    "type": _signature(kind),
                    "exact": value,
                    "hardware": kind.wrap(passed),
                }
            )
        else:
            return f"the argument {name} is not known"
    return result


def _plain(value: object) -> object:
    return value if isinstance(value, int | float | str | type(None)) else str(value)


def _signature(kind: ScalarType) -> str:
    """The type as a kernel's signature names it: `i32`, `fp32`."""
    name = kind.name
    for long, short in (("uint", "u"), ("int", "i"), ("bfloat16", "bf16"), ("float", "fp")):
        if name.startswith(long):
            return short + name[len(long) :] if long != "bfloat16" else short
    return name


def _exact(expression: HostExpression, sizes: Mapping[str, int]) -> int | None:
    """The mathematical value: without the C types that the host computes in."""
    match expression:
        case HostCast(operand, _):
            return _exact(operand, sizes)
        case HostBinary(operator, left, right):
            a, b = _exact(left, sizes), _exact(right, sizes)
            if a is None or b is None:
                return None
            return evaluate(HostBinary(operator, HostConstant(a), HostConstant(b), HostType.PYTHON), sizes)
        case HostSelect(condition, if_true, if_false):
            test = _exact(condition, sizes)
            return None if test is None else _exact(if_true if test else if_false, sizes)
        case _:
            return evaluate(expression, sizes)


def _elements(launch: Launch, sizes: Mapping[str, int]) -> dict[str, int]:
    """Elements that each buffer spans, where its layout is known."""
    result: dict[str, int] = {}
    for argument in launch.arguments:
        if not isinstance(argument, TensorArgument):
            continue
        tensor = argument.tensor
        if tensor.sizes is None or tensor.strides is None:
            continue
        extents = [evaluate(s, sizes) for s in tensor.sizes]
        strides = [evaluate(s, sizes) for s in tensor.strides]
        if any(v is None for v in (*extents, *strides)):
            continue
        pairs = list(zip(extents, strides, strict=True))
        result[argument.name] = 1 + sum((e - 1) * s for e, s in pairs if e is not None and s is not None)
    return result


def _paired(
    hardware: Sequence[Mapping[str, Any]], exact: Sequence[Mapping[str, Any]], elements: Mapping[str, int]
) -> tuple[ReplayedAccess, ...]:
    """Accesses of both sides in order; where one side has more (a loop that only it enters), the other has none."""
    result = []
    for number in range(max(len(hardware), len(exact))):
        left = hardware[number] if number < len(hardware) else None
        right = exact[number] if number < len(exact) else None
        one = left or right
        assert one is not None
        buffer = one["buffer"] or "?"
        result.append(
            ReplayedAccess(
                one["line"],
                one["kind"],
                buffer,
                right["offset"] if right else None,
                left["offset"] if left else None,
                elements.get(buffer),
            )
        )
    return tuple(result)
