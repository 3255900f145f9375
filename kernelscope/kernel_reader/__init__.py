"""Reads Triton kernels as typed index programs, without executing them and without triton.

`read_declarations(text)` finds the kernels of a text; `build_index_program(declaration, types, constexprs)` gives what one
computes its addresses, masks, loop bounds and stored integers from.
"""

from __future__ import annotations

from kernelscope.kernel_reader.builder import MissingConstexpr, build_index_program
from kernelscope.kernel_reader.declaration import KernelDeclaration, read_declarations
from kernelscope.triton_source.index_program import IndexProgram

__all__ = ["IndexProgram", "KernelDeclaration", "MissingConstexpr", "build_index_program", "read_declarations"]
