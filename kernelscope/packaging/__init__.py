"""Packaging with the audit built in: `aoti_compile_and_package`, torch's own call and then the audit."""

from kernelscope.packaging.compilation_hook import hook
from kernelscope.packaging.compile_and_package import (
    Int64Policy,
    UnsafeIndexError,
    UnsafeIndexWarning,
    aoti_compile_and_package,
)

__all__ = ["Int64Policy", "UnsafeIndexError", "UnsafeIndexWarning", "aoti_compile_and_package", "hook"]
