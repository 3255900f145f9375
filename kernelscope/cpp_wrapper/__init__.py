"""Reads the C++ wrapper that AOTInductor generates: `read_wrapper(text, file) -> WrapperFacts`.

The wrapper is cut into functions; launchers (`call_…`), `run_impl` and the input checks that bound a size are parsed
with tree-sitter, and `run_impl` is executed symbolically. A function with any syntax error becomes a `DamagedPart`; an
expression that is not understood becomes a `HostUnknown` with its text.
"""

from kernelscope.cpp_wrapper.wrapper import read_wrapper

__all__ = ["read_wrapper"]
