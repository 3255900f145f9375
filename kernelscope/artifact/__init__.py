"""Opens what Inductor left behind, without executing any of it."""

from __future__ import annotations

from kernelscope.artifact.opening import open_artifact

__all__ = ["open_artifact"]
