"""A comparison as a patch that `git apply` and `patch -p1` accept on the unpacked first artifact."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff

from kernelscope.diffing.results import ArtifactDiff

_NO_END = "\\ No newline at end of file\n"


def diff_patch(diff: ArtifactDiff) -> str:
    """Every text member that differs, as a unified diff; members on one side only are created or deleted."""
    changed = ((name, *texts) for name, texts in diff.files.items() if texts[0] != texts[1])
    return "".join(line for name, before, after in changed for line in _file(name, before, after))


def _file(name: str, before: str | None, after: str | None) -> Iterator[str]:
    yield f"diff --git {_quoted(f'a/{name}')} {_quoted(f'b/{name}')}\n"
    if before is None:
        yield "new file mode 100644\n"
    if after is None:
        yield "deleted file mode 100644\n"
    source = _quoted(f"a/{name}") if before is not None else "/dev/null"
    target = _quoted(f"b/{name}") if after is not None else "/dev/null"
    for line in unified_diff(_lines(before), _lines(after), source, target):
        yield line if line.endswith("\n") else f"{line}\n{_NO_END}"


def _lines(text: str | None) -> list[str]:
    """Lines as git counts them: only a line feed ends one."""
    if not text:
        return []
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _quoted(path: str) -> str:
    """As git quotes a path with characters that are not plain."""
    if all(c.isprintable() and c not in '"\\' for c in path) and path.isascii():
        return path
    escaped = "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:03o}" for b in path.encode())
    return f'"{escaped}"'
