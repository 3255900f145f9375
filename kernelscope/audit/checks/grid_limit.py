"""A dimension of the launch grid exceeds what CUDA allows: 2**31 - 1 programs in x, 65535 in y and z.

The driver refuses such a launch. AOTInductor's wrapper throws then; other launchers may not test the result.

Cure: larger blocks, the large dimension on x, or a loop inside the kernel. Inductor splits a large y dimension over y
and z where it knows that it is large.
"""

from __future__ import annotations

from kernelscope.audit.checks.example import Example
from kernelscope.audit.results import Verdict

CODE = "KS302"
TITLE = "a grid dimension exceeds CUDA's limit"

_KERNEL = """
    @triton.jit
    def scale_rows(x_ptr, BLOCK: tl.constexpr):
        offsets = tl.program_id({axis}).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets)
        tl.store(x_ptr + offsets, x * 2.0)
"""

_LAUNCH = """
    grid = [{grid}]

    [symbols]
    rows = [1, 1048576]

    [constexpr]
    BLOCK = 4096

    [tensors]
    x_ptr = {{dtype = "fp32", shape = ["rows", "4096"], strides = ["4096", "1"]}}
"""

UNSAFE = (
    Example(
        about="a row a program, on y",
        kernel=_KERNEL.format(axis=1),
        launch=_LAUNCH.format(grid='"1", "rows", "1"'),
        verdict=Verdict.UNSAFE,
        largest_safe={"rows": 65535},
    ),
)

SAFE = (
    Example(
        about="a row a program, on x",
        kernel=_KERNEL.format(axis=0),
        launch=_LAUNCH.format(grid='"rows", "1", "1"'),
        verdict=Verdict.SAFE,
    ),
)

UNKNOWN: tuple[Example, ...] = ()
