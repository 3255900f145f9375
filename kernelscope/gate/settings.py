"""Settings in `[tool.kernelscope]` of the nearest pyproject.toml, or in kernelscope.toml beside or above the work."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from kernelscope.errors import KernelscopeError

tomllib = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

_OWN_FILE, _PROJECT_FILE = "kernelscope.toml", "pyproject.toml"
_KINDS: dict[str, type | tuple[type, ...]] = {
    "device-memory": (str, int), "strict": bool, "baseline": str, "suppress": list, "range": dict, "jobs": int,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settings:
    """Values are None (or empty) where the file does not give them."""

    path: str | None
    device_memory: str | None = None
    strict: bool | None = None
    baseline: str | None = None
    suppress: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()  # as `--range` is written
    jobs: int | None = None


def find_settings(start: Path) -> Settings:
    """The settings for work in the folder `start`: of it or the nearest folder above that has some."""
    for folder in (start, *start.parents):
        own = folder / _OWN_FILE
        if own.is_file():
            return read_settings(own)
        project = folder / _PROJECT_FILE
        if project.is_file() and _table(project) is not None:
            return read_settings(project)
    return Settings(None)


def read_settings(path: Path) -> Settings:
    """The settings in a file; KernelscopeError for a key or a value that there is not."""
    table = _table(path) or {}
    for key, value in table.items():
        kind = _KINDS.get(key)
        if kind is None:
            known = ", ".join(sorted(_KINDS))
            raise KernelscopeError(f"no setting is called {key}", where=str(path), try_this=f"there are {known}")
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise KernelscopeError(f"{key} has a value of the wrong type", where=str(path), try_this="see docs/ci.md")
    suppress = table.get("suppress", [])
    if not all(isinstance(entry, str) for entry in suppress):
        raise KernelscopeError("suppress is a list of texts", where=str(path), try_this='write ["KS302:KERNEL_NAME"]')
    baseline = table.get("baseline")
    return Settings(
        str(path),
        str(table["device-memory"]) if "device-memory" in table else None,
        table.get("strict"),
        str(path.parent / baseline) if baseline is not None else None,
        tuple(suppress),
        tuple(_range(name, ends, path) for name, ends in table.get("range", {}).items()),
        table.get("jobs"),
    )


def _table(path: Path) -> Mapping[str, Any] | None:  # the values are checked by their key
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise KernelscopeError((error.strerror or "unreadable").lower(), where=str(path)) from None
    except ValueError as error:  # TOMLDecodeError, UnicodeDecodeError
        raise KernelscopeError(f"not TOML: {error}", where=str(path)) from None
    if path.name == _OWN_FILE:
        return document  # type: ignore[no-any-return]
    tool = document.get("tool", {})
    table = tool.get("kernelscope") if isinstance(tool, dict) else None
    return table if isinstance(table, dict) else None


def _range(name: str, ends: object, path: Path) -> str:
    whole = isinstance(ends, list) and len(ends) == 2 and all(isinstance(e, int | str) for e in ends)
    if not whole:
        raise KernelscopeError(
            f"the range of {name} is not two ends",
            where=str(path),
            try_this='write [2, 2674], "" for an end without bound',
        )
    assert isinstance(ends, list)
    return f"{name}={ends[0]}:{ends[1]}"
