"""Launches and the symbols that their sizes are made of: the facts that a wrapper gives about its kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from kernelscope.frozen import frozen_dataclass
from kernelscope.launches.host_expression import HostExpression, HostType
from kernelscope.launches.kernel_layout import KernelLayout

#: A compile-time argument: a number, a string, a dtype by name (`tl.int64`) or None.
ConstexprValue = int | float | str | None


class BoundOrigin(Enum):
    """Where a bound on a size comes from, as every report tells."""

    DECLARED = "declared by the user"
    ASSUMED_BY_INDUCTOR = "assumed by Inductor"
    COMMAND_LINE = "given on the command line"
    GUARD = "guarded by torch.compile"
    LAUNCH_FILE = "given in the launch file"
    WRAPPER = "checked by the wrapper"
    MEMORY = "implied by device memory"
    TYPE = "implied by its type"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A size symbol. `minimum` and `maximum` are inclusive (None: no bound); `step` is the spacing of its values from
    `minimum` on. `assumed_by_inductor` is an upper bound that Inductor made up (2147483647), never trusted."""

    name: str
    source: str  # `input0[0]`, `data-dependent`, `launch file`
    minimum: int | None
    maximum: int | None
    assumed_by_inductor: int | None = None
    origin: BoundOrigin = BoundOrigin.DECLARED
    step: int = 1


@frozen_dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor that a launch is given: sizes and strides in elements, `dtype` a signature name (`fp32`, `i64`).

    `name` is the host variable; two arguments with one `storage` share memory. `values` is the range of the elements
    when known (index tensors). `sizes` None: the layout is not known, as where it is given in two ranks."""

    name: str
    storage: str
    dtype: str | None
    sizes: tuple[HostExpression, ...] | None
    strides: tuple[HostExpression, ...] | None
    offset: HostExpression | None = None
    values: tuple[HostExpression, HostExpression] | None = None

    def __post_init__(self) -> None:
        if self.sizes is not None and self.strides is not None and len(self.sizes) != len(self.strides):
            object.__setattr__(self, "sizes", None)
            object.__setattr__(self, "strides", None)


@frozen_dataclass(frozen=True, slots=True)
class ScalarArgument:
    """An integer (or other scalar) kernel argument: its value in sizes and the C type that carries it to the kernel.
    `c_type` None: not an integer, or not known."""

    name: str
    value: HostExpression
    c_type: HostType | None


@frozen_dataclass(frozen=True, slots=True)
class TensorArgument:
    name: str
    tensor: Tensor


KernelArgument = ScalarArgument | TensorArgument


class Launcher(Enum):
    """What sends the kernel off, since each tests the grid in its own way.

    AOTI: the C++ wrapper returns without a launch when any `uint32_t` dimension is 0, else the driver checks each.
    TRITON: triton's Python launcher multiplies the three dimensions as C int and skips the launch unless positive
    (triton 3.8, backends/nvidia/driver.c)."""

    AOTI = "AOTInductor's C++ wrapper"
    TRITON = "triton's Python launcher"


@frozen_dataclass(frozen=True, slots=True)
class SourcePosition:
    file: str
    line: int  # from 1
    column: int = 0


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel launch: `index` is its place in program order."""

    index: int
    kernel: str  # name of the Triton function
    launcher_name: str  # `call_…` without `call_`, or the kernel's name
    grid: tuple[HostExpression, HostExpression, HostExpression]
    arguments: tuple[KernelArgument, ...]
    constexprs: Mapping[str, ConstexprValue]  # block sizes and others read off the wrapper or launch file
    num_warps: int | None
    shared_bytes: int | None
    cubin: str | None  # member name's last part, `….cubin`
    source_nodes: tuple[str, ...]  # model operations, from the comment above the call
    original_aten: tuple[str, ...]
    launcher: Launcher
    position: SourcePosition
    #: Conditions under which the launch happens at all, in sizes (`if (s0 > 4)` around it).
    conditions: tuple[HostExpression, ...] = ()
    #: Signature types of the kernel's parameters where the wrapper or launch file tells them (`{"xnumel": "i32"}`).
    types: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EmbeddedKernel:
    """A Triton source found in a wrapper, dedented. `first_line` is the file's line of the text's line 1, `indent` the
    number of columns taken off. `layout`: the source's parts where they were read already."""

    name: str  # as in async_compile.triton('NAME', …)
    launcher_name: str
    source: str
    file: str
    first_line: int
    indent: int
    layout: KernelLayout | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class DamagedPart:
    """A part of a wrapper or kernel that could not be read: it is reported as unknown (KS9xx)."""

    what: str
    position: SourcePosition


@dataclass(frozen=True, slots=True)
class WrapperFacts:
    """Everything read from one wrapper (or launch file)."""

    file: str
    symbols: tuple[Symbol, ...]
    launches: tuple[Launch, ...]
    kernels: tuple[EmbeddedKernel, ...]
    damaged: tuple[DamagedPart, ...]
    device: str | None = None  # `cuda`, `cpu`
    #: Free text for a model without Triton kernels (a CPU model: the width of its loop counters).
    notes: tuple[str, ...] = ()
