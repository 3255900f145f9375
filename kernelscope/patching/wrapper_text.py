"""The wrapper of a model after its kernels were patched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernelscope.cpp_wrapper.function_slices import slice_wrapper
from kernelscope.cpp_wrapper.syntax import FunctionSlice
from kernelscope.errors import KernelscopeError
from kernelscope.patching.candidates import Built
from kernelscope.patching.targets import Target
from kernelscope.rewrite.edits import Declined, Edit, Replacement, with_replacements
from kernelscope.rewrite.launch_facts import with_launch_facts
from kernelscope.rewrite.launcher_view import launcher_view
from kernelscope.rewrite.patch_file import Patches
from kernelscope.rewrite.placement import placed

_GRIDS = "truncated_grids"


@dataclass(frozen=True, slots=True)
class LauncherEdits:
    """Edits of one launcher: of the quoted kernel, and of code, which needs a new library."""

    quoted: tuple[Replacement, ...]
    code: tuple[Replacement, ...]


def launcher_edits(text: str, target: Target, built: Built | None, patches: Patches) -> LauncherEdits:
    """What the launcher of a target needs; KernelscopeError where a part of it can't be edited."""
    function = _launcher(text, target)
    quoted: list[Replacement] = []
    edits: list[Edit] = []
    widened: frozenset[str] = frozenset()
    if built is not None and target.kernel is not None:
        quoted = placed(target.kernel, built.rewriting.edits, text)
        widened = built.rewriting.widened
        edits += with_launch_facts(function, built.compiled.num_warps, built.compiled.shared_bytes)
    view = launcher_view(function, widened)
    for patch in patches.launcher:
        if patch.name == _GRIDS and not target.truncates:
            continue
        for result in patch.rewrite(view):
            match result:
                case Declined(reason):
                    raise KernelscopeError(reason, where=f"{target.launcher}: {patch.name}")
                case Edit():
                    edits.append(result)
    return LauncherEdits(tuple(quoted), tuple(r for edit in edits for r in edit.replacements))


def _launcher(text: str, target: Target) -> FunctionSlice:
    for function in slice_wrapper(text, target.wrapper.file).launchers:
        if function.name.removeprefix("call_") == target.launcher:
            return function
    raise KernelscopeError(f"no launcher of {target.launcher}", where=target.wrapper.file)


def edited_wrapper(text: str, edits: Sequence[LauncherEdits]) -> str:
    """The wrapper's text after all edits."""
    return with_replacements(text, [r for one in edits for r in (*one.quoted, *one.code)])


def changes_code(edits: Mapping[str, LauncherEdits]) -> bool:
    """Whether anything but quoted sources changes."""
    return any(one.code for one in edits.values())
