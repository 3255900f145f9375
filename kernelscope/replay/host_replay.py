"""Findings about the launch itself, seen by computing at the witness what the host does in its own C types."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from kernelscope.audit.host import GRID_LIMITS
from kernelscope.launches.host_arithmetic import evaluate, reduced
from kernelscope.launches.host_expression import HostType
from kernelscope.launches.launch import Launch, ScalarArgument
from kernelscope.replay.launch_values import exact_value

#: Codes that are about the host, not about a program of the kernel.
HOST_CODES = frozenset({"KS302", "KS303", "KS304", "KS305"})


def host_fault(code: str, launch: Launch, sizes: Mapping[str, int]) -> tuple[bool, str]:
    """Whether the launch goes wrong at these sizes as the code says, and what it does, in a sentence."""
    exact = [exact_value(dimension, sizes) for dimension in launch.grid]
    passed = [evaluate(dimension, sizes) for dimension in launch.grid]
    meant = [value for value in exact if value is not None]
    given = [value for value in passed if value is not None]
    if len(meant) < 3 or len(given) < 3:
        return False, "the grid is not known"
    match code:
        case "KS302":
            over = [axis for axis, size, limit in zip("xyz", meant, GRID_LIMITS, strict=True) if size > limit]
            return bool(over), f"the launch needs a grid of {_grid(meant)}, and CUDA allows {_grid(GRID_LIMITS)}: it fails"
        case "KS304":
            product = reduced(prod(given), HostType.INT32)
            detail = f"triton's launcher multiplies the grid {_grid(given)} to {product} in an int, and launches nothing"
            return product <= 0, detail
        case "KS303":
            return given != meant, f"the launch needs a grid of {_grid(meant)} and is given {_grid(given)}"
        case _:
            return _wrapped_arithmetic(launch, sizes, meant, given)


def _wrapped_arithmetic(
    launch: Launch, sizes: Mapping[str, int], meant: list[int], given: list[int]
) -> tuple[bool, str]:
    if given != meant:
        return True, f"the host computes the grid {_grid(given)} in place of {_grid(meant)}"
    for argument in launch.arguments:
        if isinstance(argument, ScalarArgument):
            exact, passed = exact_value(argument.value, sizes), evaluate(argument.value, sizes)
            if exact is not None and passed is not None and exact != passed:
                return True, f"the host computes {argument.name} = {passed} in place of {exact}"
    return False, "the host computes grid and arguments as it should"


def _grid(dimensions: tuple[int, ...] | list[int]) -> str:
    return f"({', '.join(map(str, dimensions))})"
