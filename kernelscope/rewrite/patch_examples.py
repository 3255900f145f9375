"""Runs the examples of a patch: the tests of the shipped ones, and `kernelscope test PATCH.py` for a user's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import dedent

from kernelscope.cpp_wrapper.function_slices import slice_wrapper
from kernelscope.errors import KernelscopeError
from kernelscope.rewrite.edits import Declined, Edit, Example, OverlappingEdits, applied
from kernelscope.rewrite.kernel_view import KernelView
from kernelscope.rewrite.launcher_view import launcher_view
from kernelscope.rewrite.patch_file import KernelPatch, LauncherPatch, Patch
from kernelscope.triton_source import build_index_program, read_declarations
from kernelscope.triton_source.index_program import IndexProgram
from kernelscope.triton_source.scalar_types import ValueType, from_signature

_BLOCK = 64


@dataclass(frozen=True, slots=True)
class ExampleResult:
    """One example: `found` is what the patch made of it; it passed when that is `expected`."""

    kind: str  # "example" or "decline"
    number: int
    expected: str
    found: str
    passed: bool


def run_examples(patch: Patch) -> tuple[ExampleResult, ...]:
    """Every example of a patch and every decline, run."""
    results = [_example(patch, example, number) for number, example in enumerate(patch.examples, 1)]
    results += [_decline(patch, example, number) for number, example in enumerate(patch.declines, 1)]
    return tuple(results)


def _example(patch: Patch, example: Example, number: int) -> ExampleResult:
    before, expected = dedent(example.before).strip("\n"), dedent(example.after).strip("\n")
    try:
        edits = [r for r in _results(patch, before, example) if isinstance(r, Edit)]
        found = applied(before, edits)
    except (KernelscopeError, OverlappingEdits) as error:
        found = f"{type(error).__name__}: {error}"
    return ExampleResult("example", number, expected, found, found == expected)


def _decline(patch: Patch, example: Example, number: int) -> ExampleResult:
    before = dedent(example.before).strip("\n")
    try:
        results = list(_results(patch, before, example))
    except KernelscopeError as error:
        return ExampleResult("decline", number, example.after, f"{type(error).__name__}: {error}", False)
    reasons = "; ".join(r.reason for r in results if isinstance(r, Declined))
    return ExampleResult("decline", number, example.after, reasons or "nothing declined", example.after in reasons)


def _results(patch: Patch, text: str, example: Example) -> Sequence[Edit | Declined]:
    match patch:
        case KernelPatch():
            return [result for _, result in patch.results(_view(text, example))]
        case LauncherPatch():
            launchers = slice_wrapper(text, "example").launchers
            if not launchers:
                raise KernelscopeError("no launcher in the example", try_this="name it call_…")
            widened = frozenset(name for name, kind in example.types.items() if kind == "i64")
            return list(patch.rewrite(launcher_view(launchers[0], widened)))


def _view(text: str, example: Example) -> KernelView:
    return KernelView(text, list(_programs(text, example)))


def _programs(text: str, example: Example) -> Iterable[IndexProgram]:
    for declaration in read_declarations(text):
        types: dict[str, ValueType] = {}
        for name in declaration.parameters:
            default = declaration.signature.get(name) or ("*fp32" if name.endswith(("ptr", "desc")) else "i32")
            kind = from_signature(example.types.get(name, default))
            if kind is not None and name not in declaration.constexpr_parameters:
                types[name] = kind
        constexprs = dict.fromkeys(declaration.constexpr_parameters, _BLOCK)
        yield build_index_program(declaration, types, constexprs)
