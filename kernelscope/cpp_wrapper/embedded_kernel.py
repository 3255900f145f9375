"""Triton sources quoted in a launcher's comment."""

from __future__ import annotations

import re

from kernelscope.cpp_wrapper.syntax import FunctionSlice
from kernelscope.launches.launch import EmbeddedKernel

_OPENING = re.compile(r"^[ \t]*async_compile\.triton\((['\"])(?P<name>[^'\"]*)\1, '''[ \t]*\n", re.MULTILINE)
_CLOSING = re.compile(r"^[ \t]*'''(?:, device_str=|\))", re.MULTILINE)
_INDENT = re.compile(r"^( *)\S", re.MULTILINE)
_USUAL_INDENT = 4
_AS_USUAL = re.compile(r"    \S.*(?:\n(?:    .*)?)*\Z")
_COMMENT = re.compile(r"^    /\*\n.*?^    \*/\n", re.MULTILINE | re.DOTALL)


def without_comment(launcher: FunctionSlice) -> FunctionSlice:
    """The launcher with empty lines in place of the quoted kernel, which the C++ parser need not see."""
    comment = _COMMENT.search(launcher.text)
    if comment is None:
        return launcher
    start, end = comment.span()
    lines = "\n" * launcher.text.count("\n", start, end)
    return FunctionSlice(
        launcher.name, launcher.file, launcher.text[:start] + lines + launcher.text[end:], launcher.first_line
    )


def embedded_kernel(launcher: FunctionSlice) -> EmbeddedKernel | None:
    """The kernel in a launcher's leading comment, or None when there is none (or it is cut off)."""
    opening = _OPENING.search(launcher.text)
    if opening is None:
        return None
    closing = _CLOSING.search(launcher.text, opening.end())
    if closing is None:
        return None
    text = launcher.text[opening.end() : closing.start()].rstrip()
    indent = _USUAL_INDENT if _AS_USUAL.match(text) else min(map(len, _INDENT.findall(text)), default=0)
    source = ("\n" + text).replace("\n" + " " * indent, "\n")[1:] + "\n"
    return EmbeddedKernel(
        name=opening.group("name"),
        launcher_name=launcher.name.removeprefix("call_"),
        source=_unescaped(source),
        file=launcher.file,
        first_line=launcher.first_line + launcher.text.count("\n", 0, opening.end()),
        indent=indent,
    )


def _unescaped(source: str) -> str:
    """The text that Python would see: Inductor escapes only triple quotes inside the literal."""
    return source.replace("\\'\\'\\'", "'''") if "\\'" in source else source
