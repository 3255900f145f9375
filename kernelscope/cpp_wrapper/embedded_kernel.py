"""Triton sources quoted in a launcher's comment."""

from __future__ import annotations

import re

from kernelscope.cpp_wrapper.syntax import FunctionSlice
from kernelscope.launches.kernel_layout import kernel_layout
from kernelscope.launches.launch import EmbeddedKernel

#: After a line break, which a search finds faster than the start of a line.
_OPENING = re.compile(r"\n[ \t]*async_compile\.triton\((['\"])(?P<name>[^'\"]*)\1, '''[ \t]*(?=\n)")
_CLOSING = re.compile(r"\n[ \t]*'''(?:, device_str=|\))")
_INDENT = re.compile(r"^( *)\S", re.MULTILINE)
_USUAL_INDENT = 4
_AS_USUAL = re.compile(r"    \S.*(?:\n(?:    .*)?)*\Z")
_COMMENT_START, _COMMENT_END = "\n    /*\n", "\n    */\n"


def without_comment(launcher: FunctionSlice) -> FunctionSlice:
    """The launcher with empty lines in place of the quoted kernel, which the C++ parser need not see."""
    text = launcher.text
    start = text.find(_COMMENT_START)
    end = text.find(_COMMENT_END, start)
    if start < 0 or end < 0:
        return launcher
    end += len(_COMMENT_END)
    lines = "\n" * text.count("\n", start, end)
    return FunctionSlice(launcher.name, launcher.file, text[:start] + lines + text[end:], launcher.first_line)


def embedded_kernel(launcher: FunctionSlice, *, layout: bool = True) -> EmbeddedKernel | None:
    """The kernel in a launcher's leading comment, or None when there is none (or it is cut off). `layout`: read its parts
    as well."""
    opening = _OPENING.search(launcher.text)
    if opening is None:
        return None
    closing = _CLOSING.search(launcher.text, opening.end())
    if closing is None:
        return None
    first = opening.end() + 1
    text = launcher.text[first : closing.start()].rstrip()
    indent = _USUAL_INDENT if _AS_USUAL.match(text) else min(map(len, _INDENT.findall(text)), default=0)
    source = ("\n" + text).replace("\n" + " " * indent, "\n")[1:] + "\n"
    source = _unescaped(source)
    return EmbeddedKernel(
        name=opening.group("name"),
        launcher_name=launcher.name.removeprefix("call_"),
        source=source,
        file=launcher.file,
        first_line=launcher.first_line + launcher.text.count("\n", 0, first),
        indent=indent,
        layout=kernel_layout(source) if layout else None,
    )


def _unescaped(source: str) -> str:
    """The text that Python would see: Inductor escapes only triple quotes inside the literal."""
    return source.replace("\\'\\'\\'", "'''") if "\\'" in source else source
