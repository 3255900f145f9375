"""What `kernelscope doctor` found, in one screen."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from kernelscope.advice.doctor import Examination, ModelFacts, PackageFacts
from kernelscope.advice.environment import Environment
from kernelscope.artifact.contents import PATCH_RECORD, ArtifactKind
from kernelscope.report.answer_line import answer_lines
from kernelscope.report.console import TextStyle, render
from kernelscope.report.layout import bullet, heading, labelled
from kernelscope.report.quantities import counted, listed

_INSTALL = "not installed: pip install 'kernelscope[build]'"


def doctor_text(examination: Examination, style: TextStyle) -> str:
    """The package's verdict, the questions and obstacles, then the machine."""
    return render(_parts(examination), style)


def _parts(examination: Examination) -> Iterator[RenderableType]:
    if examination.package is not None:
        yield from _package(examination.package)
        yield Text("")
    yield heading("This machine")
    yield from _environment(examination.environment)
    if examination.defects:
        yield Text("")
        yield heading("Known defects of the torch installed here")
        yield from (bullet(f"{d.title} [{d.id}]: {d.cure}") for d in examination.defects)


def _package(package: PackageFacts) -> Iterator[RenderableType]:
    yield from answer_lines(package.audit)
    yield Text("")
    yield heading("Is it this bug?")
    for question in package.questions:
        yield bullet(f"{question.text} {question.answer.value.capitalize()}: {question.evidence}.")
    for model in package.models:
        yield Text("")
        yield heading(f"Model {model.name}" if len(package.models) > 1 else "The package")
        yield from _model(model, package.patched)
    if package.kind in (ArtifactKind.PACKAGE, ArtifactKind.CPP_WRAPPER) and any(m.kernels for m in package.models):
        yield labelled("next", f"kernelscope advise {package.path}")


def _model(model: ModelFacts, patched: bool) -> Iterator[RenderableType]:
    yield labelled("runs on", " ".join(part for part in (model.device or "not known", model.capability or "") if part))
    yield labelled("kernels", counted(model.kernels, "Triton kernel"))
    if model.producer is not None:
        yield labelled("written by", model.producer.words)
    if model.tools is not None and model.tools.ptx:
        yield labelled("compiled by", f"PTX {model.tools.ptx}, assembler {model.tools.assembler or 'not recorded'}")
    if patched:
        yield labelled("patched", f"by kernelscope: see {PATCH_RECORD} in it")
    yield labelled("patch here", "; ".join(model.obstacles) if model.obstacles else "yes")
    for defect in model.defects:
        fixed = "fixed in no version measured" if defect.fixed == "none" else f"fixed in torch {defect.fixed}"
        yield labelled("defect", f"{defect.id}: {defect.title}; {fixed} ({listed(defect.kernels, 2)})")


def _environment(environment: Environment) -> Iterator[RenderableType]:
    yield labelled("python", f"{environment.python} on {environment.system}")
    yield labelled("torch", environment.torch or _INSTALL)
    yield labelled("triton", environment.triton or _INSTALL)
    yield labelled("C++", environment.compiler or environment.toolchain_problem or "not found")
    yield labelled("CUDA", f"headers in {environment.cuda_headers}" if environment.cuda_headers else "no headers found")
    devices = [f"{d.name}, compute capability {d.capability}, driver {d.driver}" for d in environment.devices]
    yield labelled("GPU", "; ".join(devices) or "none found; an audit needs none, and patching neither")
