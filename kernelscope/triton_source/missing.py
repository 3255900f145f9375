"""The error for a kernel parameter whose compile-time value is not known."""

from __future__ import annotations

from kernelscope.errors import KernelscopeError


class MissingConstexpr(KernelscopeError):
    """A compile-time parameter has no value."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the compile-time parameter {name} has no value", try_this=f"give it one under [constexpr] ({name} = …)"
        )
        self.name = name
