"""A witness run in Triton's own interpreter: `replay(path, finding) -> Replay`."""

from kernelscope.replay.replaying import replay

__all__ = ["replay"]
