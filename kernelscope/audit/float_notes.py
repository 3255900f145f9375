"""Notes on index arithmetic that goes through floats: exact to the float's precision only."""

from __future__ import annotations

from collections.abc import Sequence

from kernelscope.audit.identity import finding_id
from kernelscope.audit.kernel_text import KernelText
from kernelscope.audit.launch_analysis import LaunchAnalysis
from kernelscope.audit.results import Finding, Note
from kernelscope.triton_source.index_program import Cast, Node
from kernelscope.triton_source.operands import operands
from kernelscope.triton_source.scalar_types import ScalarType


def float_notes(kernel: str, text: KernelText, analyses: Sequence[LaunchAnalysis]) -> list[Finding]:
    """One note for each conversion of an integer to a float whose value comes back as an index (KS401)."""
    notes: dict[str, Finding] = {}
    for analysis in analyses:
        for node, _ in analysis.collected.float_indices:
            conversion = _integer_made_float(node)
            if conversion is None:
                continue
            location = text.location(conversion.span)
            expression = text.slice(conversion.span)
            identity = finding_id(kernel, "KS401", expression, location.text)
            exact_bits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}.get(conversion.type.name, 24)
            notes[identity] = Note(
                identity, "KS401", location, expression,
                f"index arithmetic through {conversion.type.name} is exact only up to 2**{exact_bits}; eager mode computes "
                "the same",
                tuple(sorted({a.launch.index for a in analyses})),
            )  # fmt: skip
    return list(notes.values())


def _made_float(node: Cast) -> bool:
    source, target = node.operand.type, node.type
    if not isinstance(source, ScalarType) or not isinstance(target, ScalarType):
        return False
    return source.is_integer and not target.is_integer and target.bits < 64


def _integer_made_float(node: Node, depth: int = 0) -> Cast | None:
    """The conversion of an integer to a float below a float-to-integer conversion."""
    if depth > 60:
        return None
    if isinstance(node, Cast) and _made_float(node):
        return node
    for child in operands(node):
        found = _integer_made_float(child, depth + 1)
        if found is not None:
            return found
    return None
