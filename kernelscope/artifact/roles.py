"""What a source is, told from its text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kernelscope.artifact.contents import SourceFile, SourceRole

_JIT = re.compile(r"^[ \t]*@[\w.]*\bjit\b", re.MULTILINE)
_PYTHON_WRAPPER = re.compile(r"^[ \t]*(?:def call\(|async_compile\s*=|class Runner\b)", re.MULTILINE)
_CPP_FUNCTION = re.compile(r"^[ \t]*(?:extern\s+\"C\"|(?:static|void|template|inline|int|namespace)\b)", re.MULTILINE)
_GRAPH_COPY = "fx_graph_"  # torch_compile_debug: the graph before Inductor, with hand-written kernels in it
_EMBEDDED = re.compile(r"async_compile\.triton\(\s*(?:'[^'\n]*'|\"[^\"\n]*\")\s*,\s*[rR]?('''|\"\"\")")


def role_of(path: str, text: str) -> SourceRole | None:
    """The role of a source, None for a file that holds neither a wrapper nor a kernel."""
    if path.endswith(".py"):
        if path.rpartition("/")[2].startswith(_GRAPH_COPY):
            return None
        if "async_compile" in text and _PYTHON_WRAPPER.search(text):
            return SourceRole.PYTHON_WRAPPER
        return SourceRole.KERNEL if _JIT.search(text) else None
    if "run_impl" in text or "inductor_entry_impl" in text:
        return SourceRole.CPP_WRAPPER
    if path.endswith("wrapper.cpp"):
        return SourceRole.CPP_WRAPPER
    return SourceRole.CPP_KERNEL if _CPP_FUNCTION.search(text) else None


def without_embedded(sources: Iterable[SourceFile]) -> tuple[SourceFile, ...]:
    """The sources less the kernel files that one of the wrappers holds a copy of, and less repeated wrappers."""
    listed = tuple(sources)
    embedded: set[str] = set()
    has_kernels = any(source.role is SourceRole.KERNEL for source in listed)
    for source in listed if has_kernels else ():
        if source.role in (SourceRole.CPP_WRAPPER, SourceRole.PYTHON_WRAPPER):
            embedded.update(_fingerprint(text) for text in _embedded_texts(source.text))
    kept: list[SourceFile] = []
    wrappers: set[str] = set()
    for source in listed:
        if source.role is SourceRole.KERNEL and _fingerprint(source.text) in embedded:
            continue
        if source.role is SourceRole.PYTHON_WRAPPER:
            if source.text in wrappers:
                continue
            wrappers.add(source.text)
        kept.append(source)
    return tuple(kept)


def _embedded_texts(wrapper: str) -> Iterator[str]:
    position = 0
    while opening := _EMBEDDED.search(wrapper, position):
        end = wrapper.find(opening.group(1), opening.end())
        if end < 0:
            return
        yield wrapper[opening.end() : end]
        position = end + 3


def _fingerprint(text: str) -> str:
    """A kernel's text, less what may differ in a wrapper's copy of it: indentation, escaping, blank lines."""
    start = text.find("import triton")
    lines = (line.strip().replace("\\", "") for line in text[max(start, 0) :].splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("#"))
