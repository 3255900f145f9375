"""`kernelscope.isolate`: the first stage whose outputs differ from eager's, its operator, and the kernels under suspicion."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from kernelscope.audit.results import Finding, ModelResult, Note, UnsafeFinding, Verdict, verdict_of
from kernelscope.audit.run import audit
from kernelscope.errors import KernelscopeError
from kernelscope.isolation.processes import Outcome, Request, run_child
from kernelscope.isolation.results import (
    Difference,
    Isolation,
    Operator,
    Stage,
    StageResult,
    StageState,
    SuspectKernel,
)
from kernelscope.paths import StrPath

DEFAULT_TIME_LIMIT = 300.0
Progress = Callable[[int, int, str], None]

_STAGES = (Stage.EAGER, Stage.DYNAMO, Stage.AOT_EAGER, Stage.INDUCTOR)


def isolate(
    path: StrPath,
    *,
    package: StrPath | None = None,
    sizes: Mapping[str, int] | None = None,
    device: str | None = None,
    time_limit: float = DEFAULT_TIME_LIMIT,
    find_operator: bool = True,
    progress: Progress | None = None,
) -> Isolation:
    """Runs a model through every stage and compares each with eager.

    `path`: a script with `get_model_and_inputs()`, or what `torch.export.save` wrote; it is executed, as is `package`.
    `package`: the AOTInductor package to try (None: one is compiled). `sizes`: of an exported program's inputs, by symbol
    or `input0[0]`. `time_limit`: seconds a stage. KernelscopeError when eager itself cannot run, or torch is missing."""
    path, package = os.fspath(path), None if package is None else os.fspath(package)
    for given in (path, *filter(None, [package])):
        if not Path(given).is_file():
            raise KernelscopeError("no such file", where=given, try_this="give a script or an exported program")
    if importlib.util.find_spec("torch") is None:
        raise KernelscopeError(
            "torch is not installed, and stages run in it", try_this="pip install 'kernelscope[build]'"
        )
    with tempfile.TemporaryDirectory() as folder:
        run = _Run(path, package, dict(sizes or {}), device, time_limit, Path(folder), progress or (lambda *_: None))
        return run.run(find_operator)


class _Run:
    def __init__(
        self, path: str, package: str | None, sizes: Mapping[str, int], device: str | None, time_limit: float,
        folder: Path, progress: Progress,
    ) -> None:  # fmt: skip
        self.path = path
        self.package = package
        self.sizes = sizes
        self.device = device
        self.time_limit = time_limit
        self.folder = folder
        self.progress = progress
        self.torch_version = ""

    def run(self, find_operator: bool) -> Isolation:
        stages = self._stages()
        first = next((s for s in stages if s.state.is_fault), None)
        operator, script = None, None
        if find_operator and first is not None and first.stage.backend is not None:
            operator, script = self._operator(first)
        kernels = self._kernels() if first is not None and first.stage is Stage.PACKAGE else ()
        return Isolation(
            self.path, self.package, self.sizes, tuple(stages), first, operator, kernels,
            _conclusion(stages, first, operator, kernels), script, self.torch_version,
        )  # fmt: skip

    def _stages(self) -> list[StageResult]:
        """Every stage is run, also after a difference: which later ones agree again is a clue. Only a package is not
        compiled for a fault that began before."""
        last = Stage.PACKAGE if self.package is not None else Stage.FRESH_PACKAGE
        order = (*_STAGES, last)
        results: list[StageResult] = []
        for number, stage in enumerate(order):
            self.progress(number, len(order), stage.words)
            if stage is Stage.FRESH_PACKAGE and any(r.state.is_fault for r in results):
                results.append(StageResult(stage, StageState.NOT_RUN, "the fault begins before"))
                continue
            results.append(self._stage(stage))
            if stage is Stage.EAGER and results[0].state is not StageState.SAME:
                where = f"{results[0].state.value}: {results[0].detail}"
                raise KernelscopeError(
                    f"eager itself {where}", where=self.path, try_this="mend the model or its inputs"
                )
        if results[-1].stage is Stage.PACKAGE and results[-1].state.is_fault:
            self.progress(len(order), len(order) + 1, Stage.FRESH_PACKAGE.words)
            results.append(self._stage(Stage.FRESH_PACKAGE))
        return results

    def _stage(self, stage: Stage) -> StageResult:
        outcome = self._child(stage, None)
        if outcome.state is not None:
            return StageResult(stage, outcome.state, outcome.detail, (), outcome.seconds)
        match outcome.answer["state"]:
            case "subject":
                raise KernelscopeError(outcome.answer["detail"], where=self.path)
            case "raised":
                return StageResult(stage, StageState.RAISED, outcome.answer["detail"], (), outcome.seconds)
        found = _differences(outcome)
        state = StageState.DIFFERS if found else StageState.SAME
        return StageResult(stage, state, found[0].detail if found else "", found, outcome.seconds)

    def _child(self, stage: Stage, prefix: tuple[int | None, bool] | None) -> Outcome:
        package = self.package if stage is Stage.PACKAGE else None
        request = Request(self.path, self.sizes, stage, package, self.device, prefix)
        outcome = run_child(request, self.folder, self.time_limit)
        self.torch_version = str(outcome.answer.get("torch", self.torch_version))
        return outcome

    # -- the operator -----------------------------------------------------------------------------------------------

    def _operator(self, first: StageResult) -> tuple[Operator | None, str | None]:
        """Bisects the exported graph: what is compiled of it ends with one operator earlier or later."""
        self.progress(0, 1, "looking for the operator")
        whole = self._child(first.stage, (None, False))
        if not _faulty(whole):
            return None, None
        total = whole.answer.get("total")
        if not isinstance(total, int):
            return None, None  # the graph as a whole crashes: nothing tells how long it is
        good, bad, found = 0, total, whole
        while bad - good > 1:
            middle = (good + bad) // 2
            self.progress(total - (bad - good), total, "looking for the operator")
            outcome = self._child(first.stage, (middle, False))
            if _faulty(outcome):
                bad, found = middle, outcome
            else:
                good = middle
        if "operator" not in found.answer:
            return None, None
        alone = self._child(first.stage, (bad, True))
        is_alone = _faulty(alone) and "operator" in alone.answer
        script = (alone if is_alone else found).answer.get("script")
        named = found.answer
        operator = Operator(named["operator"], bad, total, named["source"], is_alone)
        return operator, script if isinstance(script, str) else None

    # -- the kernels ------------------------------------------------------------------------------------------------

    def _kernels(self) -> tuple[SuspectKernel, ...]:
        """Kernels of the package that are not proved safe at these very sizes (all sizes, when none are given)."""
        assert self.package is not None
        ranges = {name: (value, value) for name, value in self.sizes.items()}
        result = audit([self.package], ranges=ranges)
        models = [m for a in result.artifacts for m in a.models]
        return tuple(suspect for model in models for suspect in _suspects(model))


def _suspects(model: ModelResult) -> list[SuspectKernel]:
    found = []
    for kernel in model.kernels:
        findings = [f for f in kernel.findings if not isinstance(f, Note)]
        if kernel.verdict is not Verdict.SAFE and findings:
            worst = min(findings, key=verdict_of)
            found.append(SuspectKernel(kernel.name, kernel.verdict, worst.code, _sentence(worst)))
    return found


def _sentence(finding: Finding) -> str:
    return finding.explanation if isinstance(finding, UnsafeFinding) else finding.detail


def _differences(outcome: Outcome) -> tuple[Difference, ...]:
    return tuple(
        Difference(d["index"], d["kind"], d["dtype"], d["detail"], tuple(d["at"]))
        for d in outcome.answer["differences"]
    )


def _faulty(outcome: Outcome) -> bool:
    if outcome.state is not None:
        return True
    return outcome.answer["state"] == "raised" or bool(outcome.answer.get("differences"))


def _conclusion(
    stages: list[StageResult], first: StageResult | None, operator: Operator | None, kernels: tuple[SuspectKernel, ...]
) -> str:
    if first is None:
        return "every stage agrees with eager on these inputs"
    at = f", at {operator.name}" if operator is not None else ""
    text = f"{first.stage.words} {first.state.value} first{at}: suspect {first.stage.adds}"
    if first.stage is not Stage.PACKAGE:
        return text
    fresh = next((s for s in stages if s.stage is Stage.FRESH_PACKAGE), None)
    if kernels:
        return f"{text}; {len(kernels)} of its kernels are not proved safe at these sizes"
    if fresh is not None and fresh.state is StageState.SAME:
        others = "other weights, another program or another torch"
        return f"{text}; a package compiled anew agrees, so this one was built from {others}"
    return f"{text}; a package compiled anew has the fault too" if fresh is not None else text
