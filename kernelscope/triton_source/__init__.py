"""Kernel text to typed index programs: what a Triton kernel computes its addresses, masks and loop bounds from.

`read_declarations` finds the kernels of a text, `build_index_program` gives one's program under argument types and
compile-time values. Nothing is executed, and neither triton nor torch is needed."""

from kernelscope.triton_source.builder import build_index_program
from kernelscope.triton_source.declaration import KernelDeclaration, read_declarations
from kernelscope.triton_source.index_program import IndexProgram
from kernelscope.triton_source.missing import MissingConstexpr

__all__ = ["IndexProgram", "KernelDeclaration", "MissingConstexpr", "build_index_program", "read_declarations"]
