"""`kernelscope.replay`: a finding's witness, run in Triton's interpreter."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernelscope.artifact import open_artifact
from kernelscope.artifact.contents import Model
from kernelscope.audit.kernels import KernelReader, ProgramChoice, Readable
from kernelscope.audit.results import AuditResult, Consequence, KernelResult, UnsafeFinding
from kernelscope.audit.run import DEFAULT_DEVICE_MEMORY, audit, read_model
from kernelscope.errors import KernelscopeError
from kernelscope.launches.host_arithmetic import evaluate
from kernelscope.launches.launch import EmbeddedKernel, Launch, WrapperFacts
from kernelscope.paths import StrPath
from kernelscope.replay.host_replay import HOST_CODES, host_fault
from kernelscope.replay.interpreter_process import Interpreter
from kernelscope.replay.judging import Judged, judged
from kernelscope.replay.launch_values import arguments_of, elements_of
from kernelscope.replay.patched_kernels import PatchedKernels
from kernelscope.replay.results import PatchedReplay, PatchedState, Replay, Replayed, ReplayedAccess, ReplayState

Request = dict[str, Any]
_STATES = {True: ReplayState.REPRODUCED, False: ReplayState.NOT_REPRODUCED, None: ReplayState.NOT_REPLAYABLE}


def replay(
    path: StrPath,
    finding: str,
    *,
    device_memory: int | None = DEFAULT_DEVICE_MEMORY,
    launch_file: StrPath | None = None,
    patched: bool = True,
) -> Replay:
    """Runs the program and lane of a finding's witness, and with `patched` the same in the patched kernel. Needs triton,
    torch and numpy; no GPU.

    `finding`: its id, as `audit --format json` gives it, or the beginning of one. Buffers are addresses only: nothing of the
    sizes of the witness is allocated. KernelscopeError for an id that there is not, or when triton is missing."""
    path, launch_file = os.fspath(path), None if launch_file is None else os.fspath(launch_file)
    result = audit([path], device_memory=device_memory, launch_file=launch_file)
    kernel, found = chosen_finding(path, result, finding)
    with Interpreter() as interpreter:
        patches = PatchedKernels(device_memory) if patched else None
        return _Replayer(path, launch_file, interpreter, patches).run(kernel, found)


def chosen_finding(path: str, result: AuditResult, finding: str) -> tuple[KernelResult, UnsafeFinding]:
    """The unsafe finding with that id, or the first whose id begins so; KernelscopeError where there is none."""
    found = _unsafe(result)
    chosen = [(k, f) for k, f in found if f.id == finding] or [(k, f) for k, f in found if f.id.startswith(finding)]
    if not chosen:
        known = ", ".join(f.id for _, f in found[:6]) or "none"
        raise KernelscopeError(f"no unsafe finding {finding}", where=path, try_this=f"there are {known}")
    return chosen[0]


def replay_all(
    path: str, result: AuditResult, *, launch_file: str | None = None,
    device_memory: int | None = DEFAULT_DEVICE_MEMORY, patched: bool = True,
    progress: Callable[[int, int, str], None] | None = None, interpreter: Interpreter | None = None,
) -> tuple[Replay, ...]:  # fmt: skip
    """Replays of every unsafe finding in an audit of `path`; `interpreter`: one that runs already."""
    if interpreter is None:
        with Interpreter() as own:
            return replay_all(
                path, result, launch_file=launch_file, device_memory=device_memory, patched=patched, progress=progress,
                interpreter=own,
            )  # fmt: skip
    found = _unsafe(result)
    replayer = _Replayer(path, launch_file, interpreter, PatchedKernels(device_memory) if patched else None)
    replays = []
    for number, (kernel, finding) in enumerate(found):
        if progress is not None:
            progress(number, len(found), finding.id)
        replays.append(replayer.run(kernel, finding))
    return tuple(replays)


def replay_audit(
    result: AuditResult, *, launch_file: str | None = None, device_memory: int | None = DEFAULT_DEVICE_MEMORY,
    progress: Callable[[int, int, str], None] | None = None,
) -> Replayed:  # fmt: skip
    """What the witness of every unsafe finding did, of all artifacts; the patched kernels are left out."""
    replayed: dict[tuple[str, str], Replay] = {}
    unsafe = [artifact for artifact in result.artifacts if _unsafe(replace(result, artifacts=(artifact,)))]
    if not unsafe:
        return replayed
    with Interpreter() as interpreter:
        for artifact in unsafe:
            alone = replace(result, artifacts=(artifact,))
            for one in replay_all(
                artifact.path, alone, launch_file=launch_file, device_memory=device_memory, patched=False,
                progress=progress, interpreter=interpreter,
            ):  # fmt: skip
                replayed[artifact.path, one.finding.id] = one
    return replayed


def replay_request(
    path: str, result: AuditResult, finding: str, *, launch_file: str | None = None
) -> tuple[Request, Mapping[str, int]]:
    """What the interpreter is asked for a finding, and the elements of each buffer; KernelscopeError where it cannot be."""
    kernel, found = chosen_finding(path, result, finding)
    asked = _Replayer(path, launch_file, None, None).request(kernel, found)
    if isinstance(asked, str):
        raise KernelscopeError(f"{found.id} cannot be replayed: {asked}", where=path, try_this="choose another finding")
    return asked


def _unsafe(result: AuditResult) -> list[tuple[KernelResult, UnsafeFinding]]:
    kernels = [k for a in result.artifacts for m in a.models for k in m.kernels]
    return [(k, f) for k in kernels for f in k.findings if isinstance(f, UnsafeFinding)]


@dataclass(frozen=True, slots=True)
class _Found:
    model: Model
    wrapper: WrapperFacts
    launch: Launch
    kernel: EmbeddedKernel
    choice: ProgramChoice


class _Replayer:
    def __init__(
        self, path: str, launch_file: str | None, interpreter: Interpreter | None, patches: PatchedKernels | None
    ) -> None:
        self._path = path
        self._interpreter = interpreter
        self._patches = patches
        self._facts = [(model, read_model(model, launch_file)) for model in open_artifact(path).models]
        self._readers = {id(model): KernelReader(model.binaries) for model, _ in self._facts}

    def run(self, kernel: KernelResult, finding: UnsafeFinding) -> Replay:
        nothing = Replay(self._path, kernel.name, finding, ReplayState.NOT_REPLAYABLE, "", {}, None, ())
        if finding.consequence is Consequence.DOES_NOT_COMPILE:
            return replace(nothing, detail="the kernel does not compile, so that no program runs")
        found = self._found(kernel, finding)
        if found is None:
            return replace(nothing, detail="its launch is not known")
        sizes = finding.witness.symbols
        if finding.code in HOST_CODES:
            faults = [host_fault(finding.code, launch, sizes) for launch in found.choice.launches]
            wrong, detail = next((fault for fault in faults if fault[0]), faults[0])
            patched = PatchedReplay(PatchedState.NO_PATCH, "the launch is at fault, not the kernel") if self._patches else None
            return replace(nothing, state=_STATES[wrong], detail=detail, patched=patched)
        elements = elements_of(found.launch, sizes)
        requests = _requests(found.kernel.source, found.launch, found.choice, finding)
        if isinstance(requests, str):
            return replace(nothing, detail=requests)
        request, one = self._first_wrong(requests, finding, kernel, elements)
        passed = {a["name"]: (a["exact"], a["hardware"]) for a in request["arguments"] if a["kind"] == "scalar"}
        x, y, z = request["grid"]
        result = replace(
            nothing, state=_STATES[one.wrong], detail=one.detail, arguments=passed, grid=(x, y, z), accesses=one.accesses
        )
        if one.wrong and self._patches is not None:
            return replace(result, patched=self._patched(found, finding, kernel, elements, request, one))
        return result

    def request(self, kernel: KernelResult, finding: UnsafeFinding) -> tuple[Request, Mapping[str, int]] | str:
        if finding.code in HOST_CODES or finding.consequence is Consequence.DOES_NOT_COMPILE:
            return "no program of the kernel is at fault"
        found = self._found(kernel, finding)
        if found is None:
            return "its launch is not known"
        requests = _requests(found.kernel.source, found.launch, found.choice, finding)
        return requests if isinstance(requests, str) else (requests[0], elements_of(found.launch, finding.witness.symbols))

    def _first_wrong(
        self, requests: Sequence[Request], finding: UnsafeFinding, kernel: KernelResult, elements: Mapping[str, int]
    ) -> tuple[Request, Judged]:
        """The first that goes wrong, of the block sizes that the launch may have; else the first that runs."""
        answers = []
        for request in requests:
            answers.append((request, self._judged(request, finding, kernel, elements)))
            if answers[-1][1].wrong:
                return answers[-1]
        return next((answer for answer in answers if answer[1].wrong is False), answers[0])

    def _judged(
        self, request: Request, finding: UnsafeFinding, kernel: KernelResult, elements: Mapping[str, int]
    ) -> Judged:
        assert self._interpreter is not None
        first = kernel.source.first_line if kernel.source is not None else 1
        line = finding.location.line - first + 1
        return judged(self._interpreter.run(request), finding, line, elements)

    def _patched(
        self, found: _Found, finding: UnsafeFinding, kernel: KernelResult, elements: Mapping[str, int],
        request: Request, before: Judged,
    ) -> PatchedReplay:  # fmt: skip
        assert self._patches is not None
        patched = self._patches.of(found.model, found.wrapper, found.kernel, found.launch)
        if isinstance(patched, str):
            return PatchedReplay(PatchedState.NO_PATCH, patched)
        reader = self._readers[id(found.model)]
        read = reader.read(patched.kernel)
        if not isinstance(read, Readable):
            return PatchedReplay(PatchedState.NOT_REPLAYABLE, read.what)
        choice = reader.programs(read, patched.launch)
        requests = _requests(patched.kernel.source, patched.launch, choice, finding)
        if isinstance(requests, str):
            return PatchedReplay(PatchedState.NOT_REPLAYABLE, requests)
        alike = [r for r in requests if _blocks(r) == _blocks(request)] or requests
        _, after = self._first_wrong(alike, finding, kernel, elements)
        if after.wrong is None:
            return PatchedReplay(PatchedState.NOT_REPLAYABLE, after.detail)
        accesses = _meant_and_done(before.accesses, after.accesses)
        settled = not after.wrong and all(access.agrees for access in accesses)
        state = PatchedState.SETTLED if settled else PatchedState.NOT_SETTLED
        return PatchedReplay(state, "", accesses)

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
                    return _Found(model, wrapper, launch, embedded, choice)
        return None


def _meant_and_done(
    before: Sequence[ReplayedAccess], after: Sequence[ReplayedAccess]
) -> tuple[ReplayedAccess, ...]:
    """What the original means to do, beside what the patched kernel does; a loop that ran otherwise leaves no pairs."""
    meant = [access for access in before if access.exact is not None]
    done = [access for access in after if access.hardware is not None]
    if len(meant) != len(done):
        return tuple(after)
    return tuple(
        replace(a, exact=b.exact, values=(b.values[0], a.values[1])) for a, b in zip(done, meant, strict=True)
    )


def _blocks(request: Request) -> dict[str, object]:
    return {a["name"]: a["value"] for a in request["arguments"] if a["kind"] == "constexpr"}


def _requests(source: str, launch: Launch, choice: ProgramChoice, finding: UnsafeFinding) -> list[Request] | str:
    """What the interpreter is asked, for each of the block sizes that the launch may have; a sentence where something is
    not known."""
    witness = finding.witness
    requests: list[Request] = []
    for program, blocked in zip(choice.programs, choice.launches, strict=True):
        grid = [evaluate(dimension, witness.symbols) for dimension in blocked.grid]
        arguments = arguments_of(program, launch, witness.symbols)
        if isinstance(arguments, str):
            return arguments
        if any(dimension is None for dimension in grid):
            return "the grid is not known"
        requests.append(
            {
                "source": source, "function": launch.kernel, "arguments": arguments, "grid": grid,
                "program_id": list(witness.program_id), "lane": list(witness.lane), "loops": dict(witness.loop),
                "loaded": dict(witness.loaded),
            }
        )  # fmt: skip
    return requests
