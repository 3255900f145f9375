"""Strategy `narrow`: 32-bit indices where they are proved to be enough. The launch and the library stay as they are."""

from __future__ import annotations

from kernelscope.audit.overwide import TextChange, narrowing_changes, wide_arguments
from kernelscope.rewrite.candidates import Candidate
from kernelscope.rewrite.edits import Edit, Replacement
from kernelscope.rewrite.patch_file import Patches
from kernelscope.rewrite.rewriting import NotRewritten, RewriteResult, Rewriting, Strategy
from kernelscope.rewrite.subject import Subject, edited, standing
from kernelscope.triton_source.index_program import Span

_NAME = "narrow_indices"


def narrow(subject: Subject, patches: Patches) -> RewriteResult:
    """The kernel without its casts to int64, and its 64-bit arguments cast where they are read; `patches` are not used."""
    return _narrowed(subject, loaded=False)


def narrow_loaded(subject: Subject, patches: Patches) -> RewriteResult:
    """The same, and loaded indices are cast to 32 bits in the addresses that are made of them."""
    return _narrowed(subject, loaded=True)


def _narrowed(subject: Subject, *, loaded: bool) -> RewriteResult:
    start = standing(subject)
    if not start.is_proved or not start.programs:
        return NotRewritten(Strategy.NARROW, "the kernel is not proved as it is")
    kernel = subject.kernel
    changes = narrowing_changes(kernel.source, kernel.name, wide_arguments(start.programs[0]), loaded=loaded)
    if not changes:
        return NotRewritten(Strategy.NARROW, "it has no 64-bit program ids or aranges")
    edits = tuple(map(_edit, changes))
    after = edited(subject, edits)
    ended = standing(after)
    if not ended.is_proved:
        return NotRewritten(Strategy.NARROW, ended.broken or f"{len(ended.unproved)} expressions need 64 bits")
    casts = tuple(Candidate(_NAME, edit, _text(kernel.source, edit)) for edit in edits)
    return Rewriting(Strategy.NARROW, after.kernel.source, casts, edits, frozenset())


def _edit(change: TextChange) -> Edit:
    span = Span(change.line, change.column, change.line, change.end_column)
    return Edit((Replacement(span, change.text),), span)


def _text(source: str, edit: Edit) -> str:
    return source.split("\n")[edit.site.line - 1].strip()
