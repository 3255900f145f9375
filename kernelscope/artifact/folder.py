"""Lists a folder: bounded, and never out of it through a symbolic link."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from kernelscope.artifact.contents import Damage
from kernelscope.artifact.limits import Limits
from kernelscope.artifact.local_file import kind_of, read_regular, reason_of
from kernelscope.artifact.members import Listing, Member, is_wanted
from kernelscope.errors import KernelscopeError


def list_folder(root: str, limits: Limits) -> Listing:
    """Every wanted file below `root`, in the order of their paths."""
    members: list[Member] = []
    damaged: list[Damage] = []
    real_root = os.path.realpath(root)
    try:
        os.scandir(root).close()
    except OSError as error:
        raise KernelscopeError(reason_of(error), where=root, try_this="give a folder that can be read") from None
    for entry in _walk(root, "", limits, damaged):
        path = os.path.relpath(entry.path, root).replace(os.sep, "/")
        what = _refusal(entry, real_root)
        if what:
            damaged.append(Damage(entry.path, what))
        else:
            members.append(_member(entry.path, path))
    members.sort(key=lambda member: member.path)
    return Listing(tuple(members), tuple(sorted(damaged, key=lambda damage: damage.path)))


def _member(full_path: str, path: str) -> Member:
    try:
        size = os.stat(full_path).st_size
    except OSError:
        size = 0
    return Member(path, full_path, size, lambda limit: read_regular(full_path, limit))


def _walk(root: str, start: str, limits: Limits, damaged: list[Damage]) -> Iterator[os.DirEntry[str]]:
    """Wanted entries that are no folders; folders behind symbolic links are left alone, so there are no loops."""
    pending = [(os.path.join(root, start) if start else root, 0)]
    seen = 0
    while pending:
        folder, depth = pending.pop()
        try:
            entries = os.scandir(folder)
        except OSError as error:
            damaged.append(Damage(folder, f"folder: {reason_of(error)}"))
            continue
        with entries:
            for entry in entries:
                seen += 1
                if seen > limits.entries:
                    damaged.append(Damage(root, f"more than {limits.entries:,} files; the rest was not looked at"))
                    return
                if not entry.is_dir(follow_symlinks=False):
                    if is_wanted(entry.name):
                        yield entry
                elif depth < limits.depth:
                    pending.append((entry.path, depth + 1))
                else:
                    damaged.append(Damage(entry.path, f"nested deeper than {limits.depth} folders; not looked at"))


def _refusal(entry: os.DirEntry[str], real_root: str) -> str | None:
    """Why a file is not read, None when it may be."""
    try:
        entry.name.encode("utf-8")
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    if entry.is_symlink():
        target = os.path.realpath(entry.path)
        if os.path.commonpath((real_root, target)) != real_root:
            return "a symbolic link out of the folder; not followed"
    try:
        mode = entry.stat().st_mode
    except OSError as error:
        return reason_of(error)
    return None if stat.S_ISREG(mode) else f"{kind_of(mode)}, not a regular file"
