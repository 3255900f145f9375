"""How much an audit is willing to read, whatever an artifact claims about itself."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what is read from one artifact, in bytes unless named otherwise."""

    source: int = 256 * MIB
    binary: int = 256 * MIB
    metadata: int = MIB
    total: int = 1024 * MIB
    ratio: int = 400  # decompressed to compressed size, for members above `ratio_from`
    ratio_from: int = 4 * MIB
    directory: int = 16 * MIB  # of a zip's central directory
    entries: int = 500_000  # of a folder
    depth: int = 64  # nested folders


DEFAULT_LIMITS = Limits()
