"""Limits of the launch grid: CUDA's own, the wrapper's uint32_t, and the product that triton's launcher forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernelscope.audit.host import GRID_LIMITS, LaunchModel
from kernelscope.audit.reachable import arguments_used
from kernelscope.bounds.polynomial import Polynomial
from kernelscope.bounds.proof import Claim
from kernelscope.launches.host_expression import HostExpression, HostType
from kernelscope.launches.launch import Launcher, ScalarArgument
from kernelscope.triton_source.index_program import IndexProgram
from kernelscope.triton_source.scalar_types import ScalarType


@dataclass(frozen=True, slots=True)
class GridClaim:
    """A host value with a limit. `axis` None: not a grid dimension (a product, an argument, an intermediate)."""

    code: str
    axis: int | None
    value: Polynomial
    limit: int
    claims: tuple[Claim, ...]
    what: str
    expression: HostExpression | None
    model: LaunchModel
    argument: str | None = None
    type: HostType | None = None

    def fails_at(self, sizes: Mapping[int, int]) -> bool:
        """Does the value exceed its limit at these sizes? Its exact value is known at a point."""
        return self.model.is_known(self.value) and self.value_at(sizes) > self.limit

    def value_at(self, sizes: Mapping[int, int]) -> int:
        self.model.space.set_box({n: (v, v) for n, v in sizes.items()})
        return self.model.space.maximum(self.value)


def grid_claims(model: LaunchModel, program: IndexProgram) -> list[GridClaim]:
    """Claims about the grid and about host values that are narrowed on the way to the launch."""
    result: list[GridClaim] = []
    for axis, dimension in enumerate(model.grid):
        result += _claim(model, "KS302", axis, dimension, GRID_LIMITS[axis], f"grid dimension {'xyz'[axis]}")
    if model.launch.launcher is Launcher.TRITON:
        product = model.grid[0] * model.grid[1] * model.grid[2]
        result += _claim(model, "KS304", None, product, (1 << 31) - 1, "product of the grid dimensions")
    seen: set[Polynomial] = set(model.grid)
    for conversion in model.grid_conversions:
        if conversion.value not in seen:
            seen.add(conversion.value)
            result += _claim(
                model, "KS303", None, conversion.value, conversion.limits[1], "intermediate of the grid",
                expression=conversion.expression, type_=conversion.type,
            )  # fmt: skip
    for conversion in model.conversions:
        if conversion.type in (HostType.INT64, HostType.UINT64):
            result += _claim(
                model, "KS305", None, conversion.value, conversion.limits[1], "host arithmetic",
                expression=conversion.expression, type_=conversion.type,
            )  # fmt: skip
    result += _narrowed_before_kernel(model, program)
    return result


def launchable(model: LaunchModel) -> tuple[Polynomial, ...]:
    """Constraints under which CUDA launches the grid: limit - dimension >= 0, for a rounded-up quotient written without
    the rounding, so that it shares terms with other bounds."""
    result: list[Polynomial] = []
    for axis, dimension in enumerate(model.grid):
        if model.space.range_of(dimension)[1] <= GRID_LIMITS[axis]:
            continue
        constraint = Polynomial.constant(GRID_LIMITS[axis]) - dimension
        numbers = dimension.atoms()
        definition = model.space.atoms[next(iter(numbers))].quotient if len(numbers) == 1 else None
        divisor = definition[1].constant_value if definition is not None else None
        if definition is not None and isinstance(divisor, int) and dimension.terms == {tuple(numbers): 1}:
            constraint = Polynomial.constant((GRID_LIMITS[axis] + 1) * divisor - 1) - definition[0]
        result.append(constraint)
    return tuple(result)


def _narrowed_before_kernel(model: LaunchModel, program: IndexProgram) -> list[GridClaim]:
    """Arguments that the host carries in fewer bits than the kernel reads (`int var_5` behind a 64-bit parameter), or
    computes in fewer."""
    result: list[GridClaim] = []
    used = {n.name for n in arguments_used(program)}
    for name, conversion in model.argument_conversions:
        if name in used and conversion.type in (HostType.INT32, HostType.UINT32):
            result += _claim(
                model, "KS301", None, conversion.value, conversion.limits[1], f"argument {name}",
                expression=conversion.expression, argument=name, type_=conversion.type,
            )  # fmt: skip
    for argument in model.launch.arguments:
        if not isinstance(argument, ScalarArgument) or argument.c_type is None or argument.name not in used:
            continue
        type_ = program.types.get(argument.name)
        bits = argument.c_type.bits
        if isinstance(type_, ScalarType) and type_.is_integer and bits is not None and bits < type_.bits:
            limit = (1 << (bits - 1)) - 1 if argument.c_type.signed else (1 << bits) - 1
            result += _claim(
                model, "KS301", None, model.arguments[argument.name], limit, f"argument {argument.name}",
                expression=argument.value, argument=argument.name, type_=argument.c_type,
            )  # fmt: skip
    return result


def _claim(
    model: LaunchModel, code: str, axis: int | None, value: Polynomial, limit: int, what: str, *,
    expression: HostExpression | None = None, argument: str | None = None, type_: HostType | None = None,
) -> list[GridClaim]:  # fmt: skip
    if model.space.range_of(value)[1] <= limit:
        return []
    claim = Claim(model.space, (value,), limit)
    return [GridClaim(code, axis, value, limit, (claim,), what, expression, model, argument, type_)]
