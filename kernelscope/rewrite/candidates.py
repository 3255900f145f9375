"""Every edit that the patches would make in a kernel, and what they refused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kernelscope.rewrite.edits import Declined, Edit
from kernelscope.rewrite.kernel_view import KernelView
from kernelscope.rewrite.patch_file import KernelPatch
from kernelscope.triton_source.index_program import Span


@dataclass(frozen=True, slots=True)
class Candidate:
    """An edit, the patch that makes it, and the source text that it is about."""

    patch: str
    edit: Edit
    text: str

    @property
    def widens_signature(self) -> bool:
        return bool(self.edit.widened)


@dataclass(frozen=True, slots=True)
class Refused:
    """A place that a patch refused: why."""

    patch: str
    place: Span
    reason: str


def candidates_in(kernel: KernelView, patches: Iterable[KernelPatch]) -> tuple[list[Candidate], list[Refused]]:
    """All edits, without those that would change the text alike, and all refusals."""
    candidates: dict[object, Candidate] = {}
    refused: list[Refused] = []
    for patch in patches:
        for node, result in patch.results(kernel):
            match result:
                case Edit():
                    found = Candidate(patch.name, result, kernel.code(node))
                    candidates.setdefault((result.replacements, result.site), found)
                case Declined(reason):
                    refused.append(Refused(patch.name, kernel.span(node), reason))
    return list(candidates.values()), refused
