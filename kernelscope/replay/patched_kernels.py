"""Kernels as `kernelscope patch` rewrites them, for a replay beside the original: nothing is compiled."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kernelscope.artifact.contents import Model
from kernelscope.audit.launch_analysis import full_ranges
from kernelscope.launches.launch import EmbeddedKernel, Launch, WrapperFacts
from kernelscope.patching.candidates import proposals
from kernelscope.rewrite.patch_file import Patches, load_patches
from kernelscope.rewrite.rewriting import Strategy
from kernelscope.rewrite.subject import Subject, edited


@dataclass(frozen=True, slots=True)
class PatchedKernel:
    """The rewritten source, and the launch that passes what it takes."""

    kernel: EmbeddedKernel
    launch: Launch


class PatchedKernels:
    """Rewrites each kernel once."""

    def __init__(self, device_memory: int | None) -> None:
        self._device_memory = device_memory
        self._patches: Patches | None = None
        self._known: dict[tuple[int, str], tuple[Subject | None, str]] = {}

    def of(self, model: Model, wrapper: WrapperFacts, kernel: EmbeddedKernel, launch: Launch) -> PatchedKernel | str:
        """The patched kernel for one of its launches, or why there is none."""
        key = id(wrapper), launch.launcher_name
        if key not in self._known:
            self._known[key] = self._rewritten(model, wrapper, kernel, launch)
        subject, reason = self._known[key]
        if subject is None:
            return reason
        fitting = next(one for one in subject.launches if one.index == launch.index)
        return PatchedKernel(subject.kernel, fitting)

    def _rewritten(
        self, model: Model, wrapper: WrapperFacts, kernel: EmbeddedKernel, launch: Launch
    ) -> tuple[Subject | None, str]:
        if self._patches is None:
            self._patches = load_patches(())
        launches = tuple(one for one in wrapper.launches if one.launcher_name == launch.launcher_name)
        ranges = full_ranges(wrapper.symbols)
        subject = Subject(kernel, launches, wrapper.symbols, ranges, self._device_memory, model.binaries)
        found = proposals(subject, Strategy.MINIMAL, self._patches, one=True)
        if not found.rewritings:
            return None, "; ".join(found.reasons) or "nothing of the kernel itself is to be patched"
        first = found.rewritings[0]
        return replace(edited(subject, first.edits), kernel=replace(kernel, source=first.text, layout=None)), ""
