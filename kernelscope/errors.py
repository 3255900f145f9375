"""Errors that a user can act on, and the one that is our own fault."""

from __future__ import annotations


class KernelscopeError(Exception):
    """Something about the input or the request is wrong: what, where, and what to do about it."""

    def __init__(self, what: str, *, where: str = "", try_this: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.try_this = try_this

    def one_line(self) -> str:
        """The message as a single line: `where: what; try this`."""
        text = f"{self.where}: {self.what}" if self.where else self.what
        text = f"{text}; {self.try_this}" if self.try_this else text
        return " ".join(text.split())


class InternalError(Exception):
    """A defect of Kernelscope itself; the message asks for a report."""
