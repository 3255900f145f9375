"""What a cubin costs: registers, spills, shared memory, instructions, and how many warps fit on a multiprocessor."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kernelscope.artifact.cubin import CubinError
from kernelscope.build.cubin_sections import section_sizes
from kernelscope.build.programs import ToolCall, run_programs
from kernelscope.build.scratch import Scratch
from kernelscope.errors import KernelscopeError

_USAGE = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")
_INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)")
_INSTRUCTION_BYTES = 16
_WARP = 32
_TRITON_TOOLS = "backends/nvidia/bin"


@dataclass(frozen=True, slots=True)
class KernelCost:
    """Measured on the cubin. `spill_stores` and `spill_loads` count instructions on local memory, which Triton's
    kernels use for spilled registers only; `stack_bytes` is what a thread needs for them. `instructions` counts SASS
    lines. `warps` is how many fit on a multiprocessor, `occupancy` that number as a share of the most it can hold."""

    registers: int
    stack_bytes: int
    spill_stores: int
    spill_loads: int
    shared_bytes: int
    instructions: int
    warps: int | None
    occupancy: float | None

    @property
    def spills(self) -> int:
        return self.spill_stores + self.spill_loads

    @property
    def order(self) -> tuple[int, float, int]:
        """Smaller is better: spills, then occupancy, then instructions."""
        return (self.spills, -(self.occupancy or 0.0), self.instructions)


@dataclass(frozen=True, slots=True)
class _Multiprocessor:
    warps: int
    blocks: int
    shared_bytes: int


#: Limits of a multiprocessor by compute capability: "CUDA C++ Programming Guide", table "Technical specifications per
#: compute capability".
_MULTIPROCESSORS: Mapping[int, _Multiprocessor] = {
    70: _Multiprocessor(64, 32, 96 << 10), 75: _Multiprocessor(32, 16, 64 << 10),
    80: _Multiprocessor(64, 32, 164 << 10),
    86: _Multiprocessor(48, 16, 100 << 10), 87: _Multiprocessor(48, 16, 164 << 10),
    89: _Multiprocessor(48, 24, 100 << 10), 90: _Multiprocessor(64, 32, 228 << 10),
    100: _Multiprocessor(64, 32, 228 << 10), 103: _Multiprocessor(64, 32, 228 << 10),
    120: _Multiprocessor(48, 24, 100 << 10), 121: _Multiprocessor(48, 24, 100 << 10),
}  # fmt: skip
_REGISTERS = 65536
_REGISTER_UNIT = 256  # registers are given to a warp in units of this many,
_PARTITIONS = 4  # from one of four equal files,
_SHARED_UNIT = 128  # and shared memory to a block in units of this,
_SHARED_RESERVED = 1024  # after what the system keeps of it for each block (compute capability 8.0 and later)


def measure(cubin: bytes, architecture: int, num_warps: int, shared_bytes: int) -> KernelCost:
    """The cost of a cubin whose launch has `num_warps` warps and `shared_bytes` of dynamic shared memory."""
    registers, stack, counted = _looked_at(cubin)
    warps = resident_warps(architecture, registers, num_warps, shared_bytes)
    most = _MULTIPROCESSORS[architecture].warps if architecture in _MULTIPROCESSORS else None
    return KernelCost(
        registers, stack, _starting(counted, "STL"), _starting(counted, "LDL"), shared_bytes, counted.total(), warps,
        None if warps is None or most is None else warps / most,
    )  # fmt: skip


def look_at(cubins: Iterable[bytes], jobs: int) -> None:
    """Disassembles cubins side by side, so that `measure` has them at once; what fails there fails here silently."""

    def looked(cubin: bytes) -> None:
        with suppress(KernelscopeError):
            _looked_at(cubin)

    pool = ThreadPoolExecutor(jobs)
    try:
        list(pool.map(looked, dict.fromkeys(cubins)))
    finally:
        pool.shutdown(cancel_futures=True)


@lru_cache(maxsize=1024)
def _looked_at(cubin: bytes) -> tuple[int, int, Counter[str]]:
    """Registers, bytes of stack, and how often each instruction occurs (under "" where nothing can be spilled)."""
    with Scratch() as folder:
        path = folder / "kernel.cubin"
        path.write_bytes(cubin)
        usage = _USAGE.findall(run_cuda_tool("cuobjdump", "-res-usage", str(path)))
        if not usage:
            raise KernelscopeError("cuobjdump tells nothing of the cubin's registers")
        registers, stack = max(int(u[0]) for u in usage), max(int(u[1]) for u in usage)
        if stack == 0:  # nothing is spilled: there is no need to disassemble, which takes half a second
            return registers, stack, Counter({"": _instructions(cubin)})
        return registers, stack, Counter(instruction_names(run_cuda_tool("nvdisasm", "-c", str(path))))


def _instructions(cubin: bytes) -> int:
    """How many instructions the code sections hold: each is 16 bytes since compute capability 7.0, Triton's least."""
    try:
        sizes = section_sizes(cubin)
    except CubinError as error:
        raise KernelscopeError(f"the cubin can't be measured: {error}") from None
    return sum(size for name, size in sizes.items() if name.startswith(".text")) // _INSTRUCTION_BYTES


def instruction_names(listing: str) -> list[str]:
    """The mnemonics of a disassembly, in order."""
    return [found.group(1) for line in listing.splitlines() if (found := _INSTRUCTION.match(line))]


def disassembled(cubin: bytes) -> str:
    """The SASS of a cubin as `nvdisasm` prints it."""
    with Scratch() as folder:
        path = folder / "kernel.cubin"
        path.write_bytes(cubin)
        return run_cuda_tool("nvdisasm", "-c", str(path))


def resident_warps(architecture: int, registers: int, num_warps: int, shared_bytes: int) -> int | None:
    """Warps of one kernel that fit on a multiprocessor at a time; None for an architecture that is not in the table.

    The rules are those of NVIDIA's occupancy calculator (cuda_occupancy.h in the CUDA toolkit), without clusters."""
    limits = _MULTIPROCESSORS.get(architecture)
    if limits is None or num_warps <= 0:
        return None
    blocks = min(limits.blocks, limits.warps // num_warps)
    if registers:
        per_warp = _rounded(registers * _WARP, _REGISTER_UNIT)
        blocks = min(blocks, _REGISTERS // _PARTITIONS // per_warp * _PARTITIONS // num_warps)
    reserved = _SHARED_RESERVED if architecture >= 80 else 0
    if shared_bytes + reserved:
        blocks = min(blocks, limits.shared_bytes // _rounded(shared_bytes + reserved, _SHARED_UNIT))
    return blocks * num_warps


def _rounded(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def _starting(counted: Counter[str], prefix: str) -> int:
    return sum(count for name, count in counted.items() if name == prefix or name.startswith(f"{prefix}."))


def triton_tool(name: str) -> str:
    """A tool of the CUDA toolkit: the one in Triton's wheel, else the one on the path."""
    spec = importlib.util.find_spec("triton")
    for folder in spec.submodule_search_locations or () if spec is not None else ():
        path = os.path.join(folder, _TRITON_TOOLS, name)
        if os.access(path, os.X_OK):
            return path
    found = shutil.which(name)
    if found is None:
        raise KernelscopeError(f"{name} is not installed", try_this="pip install 'kernelscope[build]'")
    return found


def run_cuda_tool(name: str, *arguments: str, folder: Path | None = None) -> str:
    """What a tool prints about a binary; KernelscopeError when it fails or is missing."""
    command = [triton_tool(name), *arguments]
    (done,) = run_programs([ToolCall(command, folder, name)])
    if done.status != 0:
        lines = done.errors.strip().splitlines()
        raise KernelscopeError(f"{name} can't read the cubin: {lines[-1][:200] if lines else done.status}")
    return done.output
