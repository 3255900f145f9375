"""`kernelscope.advise`: what to do about a package, cheapest first."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from kernelscope.advice.defects import evidence_of, is_user_kernel, known_defects
from kernelscope.advice.dim_code import declaration_code
from kernelscope.advice.exported_program import ExportedInputs, read_exported_inputs
from kernelscope.advice.index_tensors import narrow_index_tensors
from kernelscope.advice.joint_limits import JointLimits
from kernelscope.advice.options import (
    Advice,
    DeclareRanges,
    ModelAdvice,
    NarrowIndexTensor,
    NoRange,
    PatchCost,
    PatchPackage,
    SizeBound,
)
from kernelscope.advice.runtime_checks import runtime_checks
from kernelscope.artifact import open_artifact
from kernelscope.artifact.contents import ArtifactKind, SourceFile, SourceRole
from kernelscope.audit.launch_analysis import full_ranges
from kernelscope.audit.results import KernelResult, ModelResult, UnsafeFinding, Verdict
from kernelscope.audit.run import DEFAULT_DEVICE_MEMORY, ModelFacts, audit, read_model
from kernelscope.audit.size_limits import SizeLimits
from kernelscope.cpp_wrapper.input_signature import read_input_signature
from kernelscope.cpp_wrapper.producer import producer_of
from kernelscope.errors import KernelscopeError
from kernelscope.launches.input_signature import InputSignature
from kernelscope.launches.launch import Symbol
from kernelscope.paths import StrPath


def advise(
    path: StrPath,
    *,
    wanted: Mapping[str, int] | None = None,
    program: StrPath | None = None,
    cost: bool = False,
    device_memory: int | None = DEFAULT_DEVICE_MEMORY,
) -> Advice:
    """The options for every model of a package.

    `wanted`: the largest value needed of a size, by symbol or input dimension. `program`: what `torch.export.save` wrote
    for the model, for the names of its arguments. `cost`: compile the patched kernels and measure them, which needs torch and
    triton. `device_memory`: bytes (None: no assumption).
    Raises KernelscopeError for what cannot be read or is no package, for an unknown name in `wanted`, and where the cost
    cannot be measured."""
    path = os.fspath(path)
    artifact = open_artifact(path)
    if artifact.kind not in (ArtifactKind.PACKAGE, ArtifactKind.CPP_WRAPPER):
        raise KernelscopeError(
            f"{artifact.kind.value}s need no advice: torch.compile guards the sizes that it compiled for", where=path,
            try_this="give an AOTInductor package; `kernelscope audit` reads the rest",
        )  # fmt: skip
    inputs = read_exported_inputs(os.fspath(program)) if program is not None else None
    facts = {model.name: read_model(model, None) for model in artifact.models}
    result = audit([path], device_memory=device_memory)
    _refuse_unknown_names(path, wanted or {}, facts.values())
    adviser = _Adviser(path, dict(wanted or {}), inputs, device_memory)
    models = [adviser.model(facts[model.name], model) for model in result.artifacts[0].models if model.name in facts]
    if cost and any(model.patch is not None for model in models):
        from kernelscope.advice.patch_costs import patch_costs

        measured = patch_costs(path, device_memory)
        models = [_with_costs(model, measured) for model in models]
    return Advice(path, result, tuple(models))


def _with_costs(model: ModelAdvice, measured: Sequence[PatchCost]) -> ModelAdvice:
    if model.patch is None:
        return model
    of_model = tuple(one for one in measured if one.kernel in model.patch.kernels)
    return replace(model, patch=replace(model.patch, costs=of_model))


def _refuse_unknown_names(path: str, wanted: Mapping[str, int], facts: Iterable[ModelFacts]) -> None:
    symbols = [s for f in facts for w in f.wrappers for s in w.symbols]
    known = {s.name for s in symbols} | {s.source for s in symbols}
    for name in wanted:
        if name not in known:
            there = ", ".join(sorted(known)) or "none"
            raise KernelscopeError(f"no size is called {name}", where=path, try_this=f"there are {there}")


class _Adviser:
    def __init__(
        self, path: str, wanted: Mapping[str, int], program: ExportedInputs | None, device_memory: int | None
    ) -> None:
        self.path = path
        self.wanted = wanted
        self.program = program
        self.device_memory = device_memory

    def model(self, facts: ModelFacts, model: ModelResult) -> ModelAdvice:
        wrapper = next((s for s in facts.model.sources if s.role is SourceRole.CPP_WRAPPER), None)
        producer = producer_of(wrapper.text) if wrapper is not None else None
        defects = known_defects(evidence_of(model, producer))
        advice = ModelAdvice(model.name, model.verdict, producer, None, None, None, (), defects)
        if model.verdict is not Verdict.UNSAFE or wrapper is None:
            return replace(advice, index_tensors=self._index_tensors(facts, wrapper, ()))
        ranges = self._ranges(facts, model, wrapper)
        bounds = ranges.bounds if isinstance(ranges, DeclareRanges) else ()
        return replace(
            advice,
            ranges=ranges,
            patch=PatchPackage(_patch_command(self.path), tuple(k.name for k in _unsafe(model))),
            checks=runtime_checks(self.path, model, self.device_memory),
            index_tensors=self._index_tensors(facts, wrapper, bounds),
        )

    def _index_tensors(
        self, facts: ModelFacts, wrapper: SourceFile | None, bounds: Sequence[SizeBound]
    ) -> tuple[NarrowIndexTensor, ...]:
        """Within the ranges to declare; tensors that are inputs are called so."""
        found: list[NarrowIndexTensor] = []
        for part in facts.wrappers:
            declared = full_ranges(part.symbols, self.device_memory)
            ranges = {
                **declared,
                **{b.symbol.name: (b.minimum, b.maximum) for b in bounds if b.symbol.name in declared},
            }
            found.extend(narrow_index_tensors(part, facts.model, ranges, self.device_memory))
        if wrapper is None or not found:
            return tuple(found)
        inputs = {i.name: f"input{i.number}" for i in read_input_signature(wrapper.text, wrapper.path).inputs}
        return tuple(replace(tensor, tensor=inputs.get(tensor.tensor, tensor.tensor)) for tensor in found)

    def _ranges(self, facts: ModelFacts, model: ModelResult, wrapper: SourceFile) -> DeclareRanges | NoRange:
        limits = [SizeLimits(part, facts.model, self.device_memory) for part in facts.wrappers]
        joint = JointLimits(limits, self.wanted, self.device_memory)
        bounds = joint.recommended()
        if joint.unknown is not None:
            return NoRange(f"a launch cannot be judged: {joint.unknown}")
        if bounds is None:
            return NoRange("not even the least sizes are safe")
        if not bounds:
            return NoRange("no bound on one size alone helps")
        signature = read_input_signature(wrapper.text, wrapper.path)
        return DeclareRanges(
            bounds, self._code(bounds, model.symbols, signature), self._verdict(model, bounds),
            self._verdict(model, _one_more(bounds)), joint.trade_off(bounds),
            tuple(k.name for k in _unsafe(model) if not is_user_kernel(k)),
            tuple(k.name for k in _unsafe(model) if is_user_kernel(k)),
        )  # fmt: skip

    def _code(self, bounds: Sequence[SizeBound], symbols: Sequence[Symbol], signature: InputSignature) -> str:
        return declaration_code(bounds, symbols, signature, self.program)

    def _verdict(self, model: ModelResult, bounds: Sequence[SizeBound]) -> Verdict:
        """Of the package as it is, audited within the ranges."""
        ranges = {b.symbol.name: (b.minimum, b.maximum) for b in bounds}
        result = audit([self.path], ranges=ranges, device_memory=self.device_memory)
        return next(m.verdict for a in result.artifacts for m in a.models if m.name == model.name)


def _unsafe(model: ModelResult) -> list[KernelResult]:
    return [k for k in model.kernels if any(isinstance(f, UnsafeFinding) for f in k.findings)]


def _one_more(bounds: Sequence[SizeBound]) -> list[SizeBound]:
    first, *rest = bounds
    return [replace(first, maximum=first.maximum + first.symbol.step), *rest]


def _patch_command(path: str) -> str:
    name = PurePath(path)
    return shlex.join(["kernelscope", "patch", path, "-o", str(name.with_name(f"{name.stem}.patched.pt2"))])


__all__ = ["advise"]
