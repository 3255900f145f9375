"""From findings to what to do about them: `advise(path) -> Advice`."""

from kernelscope.advice.advise import advise

__all__ = ["advise"]
