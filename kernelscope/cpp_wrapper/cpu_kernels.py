"""C++ kernels of a CPU model: only the width of their loop counters is of interest."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernelscope.cpp_wrapper.syntax import FunctionSlice

_LOOP = re.compile(r"\bfor\s*\(\s*(int64_t|int32_t|int|long|long long|size_t|unsigned)\s+\w+\s*=")
_BITS = {"int64_t": 64, "long": 64, "long long": 64, "size_t": 64}


def loop_width_notes(kernels: Sequence[FunctionSlice]) -> tuple[str, ...]:
    """One sentence for each width of loop counter, with the number of kernels that use it."""
    if kernels and not any("{" in kernel.text for kernel in kernels):
        return (f"{len(kernels)} C++ kernels for the CPU, which the wrapper only declares",)
    counts: dict[int, int] = {}
    for kernel in kernels:
        for bits in {_BITS.get(match.group(1), 32) for match in _LOOP.finditer(kernel.text)}:
            counts[bits] = counts.get(bits, 0) + 1
    return tuple(
        f"{count} C++ {'kernel loops' if count == 1 else 'kernels loop'} with {bits}-bit counters on the CPU"
        for bits, count in sorted(counts.items())
    )
