"""Members of an artifact, whatever holds them: a path, a size, and a bounded way to read the bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kernelscope.artifact.contents import PATCH_RECORD, Damage


class MemberError(Exception):
    """A member that can't be read; the text says why, in one sentence."""


@dataclass(frozen=True, slots=True)
class Member:
    """`path` is relative to the artifact with forward slashes, `shown` is what a user would call it.

    `read` takes the most bytes that the caller accepts and raises MemberError."""

    path: str
    shown: str
    size: int
    read: Callable[[int], bytes]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Listing:
    members: tuple[Member, ...]
    damaged: tuple[Damage, ...]


def is_wanted(path: str) -> bool:
    """Whether an audit may have to look into a member: sources, metadata and cubins, never weights or libraries."""
    return path.endswith((".cpp", ".py", "_metadata.json", ".cubin", ".fatbin", f"/{PATCH_RECORD}"))


class SourceBudget:
    """Reads text members while the total stays within a limit."""

    def __init__(self, total: int) -> None:
        self._left = total

    def read_text(self, member: Member, limit: int) -> str:
        """The member's text, exactly as stored; MemberError when it is too large or no UTF-8 text."""
        data = member.read(min(limit, self._left))
        self._left -= len(data)
        if not data:
            raise MemberError("the file is empty")
        return decode(data)


def decode(data: bytes) -> str:
    """UTF-8 text without touching its line ends; MemberError where it is none."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MemberError(f"not UTF-8 text: byte {error.object[error.start]:#04x} at offset {error.start}") from None
    if "\0" in text:
        raise MemberError(f"not source text: a NUL byte at offset {text.index(chr(0))}")
    return text.removeprefix("\ufeff")


def check_size(size: int, limit: int) -> None:
    """MemberError when a size, declared or real, is above the limit."""
    if size > limit:
        raise MemberError(f"{size:,} bytes, more than the {limit:,} that an audit reads of it")
