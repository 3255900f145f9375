"""The configs that a shipped kernel may have been compiled with, likeliest first."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernelscope.artifact.cubin import CubinError, ptx_of, recovered_block
from kernelscope.artifact.loop_bounds import functions_of
from kernelscope.build.compile_requests import KernelConfig, Option
from kernelscope.build.cubin_sections import assertion_files, code_sections
from kernelscope.build.kernel_decorator import KernelDecorator, read_decorator
from kernelscope.errors import KernelscopeError

#: Powers of two in the order in which Inductor's reduction configs favour them (triton_heuristics.py, torch 2.14).
_LOOP_BLOCKS = (2048, 1024, 512, 256, 128, 64, 4096, 32, 16, 8, 8192, 16384, 4, 2, 1)
_STAGES = (1, 3, 2, 4, 5, 6, 7, 8)
_CONFIG_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "ir_override")
_HELPER_FOLDERS = ("triton/language/", "torch/_inductor/runtime/")
_USUAL_ELEMENTS = 64
_MOST_ELEMENTS = 512
_DEFAULT_WARPS = 4  # of triton.Config


@dataclass(frozen=True, slots=True)
class ShippedKernel:
    """A kernel of a package: its text, the Triton function, what its launch tells, and its cubin.

    `constexprs` and `num_warps` come from the launch (see `kernelscope.launches.launch.Launch`)."""

    source: str
    function: str
    constexprs: Mapping[str, object]
    num_warps: int | None
    cubin: bytes


def candidate_configs(kernel: ShippedKernel) -> Iterator[KernelConfig]:
    """Configs to try; KernelscopeError where the source or the cubin does not tell enough."""
    decorator = _decorator_of(kernel)
    try:
        ptx = ptx_of(kernel.cubin)
        files = assertion_files(code_sections(kernel.cubin))
    except CubinError as error:
        raise KernelscopeError(f"the cubin can't be compared: {error}", where=kernel.function) from None
    architecture = _architecture(ptx.target) or decorator.compute_capability
    if architecture is None:
        raise KernelscopeError("the cubin names no GPU architecture", where=kernel.function)
    warps = ptx.num_warps or kernel.num_warps
    return _configs(kernel, decorator, architecture, warps, files)


def likeliest_config(kernel: ShippedKernel) -> KernelConfig:
    """The first config to try; where the cubin is empty, of what the source and the launch tell."""
    if kernel.cubin:
        return next(candidate_configs(kernel))
    decorator = _decorator_of(kernel)
    if decorator.compute_capability is None:
        raise KernelscopeError("its decorator names no GPU architecture", where=kernel.function)
    return next(_configs(kernel, decorator, decorator.compute_capability, kernel.num_warps, ()))


def _decorator_of(kernel: ShippedKernel) -> KernelDecorator:
    decorator = read_decorator(kernel.source, kernel.function)
    if decorator is None:
        raise KernelscopeError(f"no function named {kernel.function} in the kernel's source")
    if not decorator.signature:
        raise KernelscopeError("the kernel's decorator gives no signature", where=kernel.function)
    return decorator


def _architecture(target: str | None) -> int | None:
    digits = "".join(character for character in (target or "") if character.isdigit())
    return int(digits) if digits else None


def _configs(
    kernel: ShippedKernel, decorator: KernelDecorator, architecture: int, warps: int | None, files: Sequence[str]
) -> Iterator[KernelConfig]:
    helpers = tuple(file for file in files if any(folder in file for folder in _HELPER_FOLDERS))
    own = next((file for file in files if file not in helpers), "kernel.py")
    seen: set[str] = set()
    for blocks, launch in _launch_choices(kernel, decorator, warps):
        given = {**decorator.constants, **kernel.constexprs, **blocks}
        constexprs = {name: value for name, value in given.items() if name in decorator.parameters}
        options = {**_fixed_options(decorator), **launch}
        for name in ("num_warps", "num_stages"):
            if name in decorator.constexprs and name not in constexprs:
                constexprs[name] = options[name]
        signature = _signature(decorator, constexprs)
        config = KernelConfig(
            signature, constexprs, decorator.attributes, options, architecture, own, helper_files=helpers
        )
        if repr(config) not in seen:
            seen.add(repr(config))
            yield config


def _launch_choices(
    kernel: ShippedKernel, decorator: KernelDecorator, warps: int | None
) -> Iterator[tuple[dict[str, object], dict[str, Option]]]:
    """Values of the unknown constexprs, and warps, stages and alike, in order of likelihood."""
    for values, options in _stated_configs(decorator, kernel, warps):
        known = {**decorator.constants, **kernel.constexprs, **values}
        missing = [name for name in decorator.parameters if _is_open(name, decorator, known)]
        choices = itertools.product(*(_block_choices(kernel, decorator, name) for name in missing))
        tiles = _plausible([dict(zip(missing, blocks, strict=True)) for blocks in choices], known, options)
        stages: Sequence[Option] = (options["num_stages"],) if "num_stages" in options else _stages(decorator)
        for stage, blocks in itertools.product(stages, tiles):
            yield {**values, **blocks}, {**options, "num_stages": stage}


def _plausible(
    tiles: list[dict[str, int]], known: Mapping[str, object], options: Mapping[str, Option]
) -> list[dict[str, int]]:
    """Tiles in their order, those with many elements a thread last, and without those that take minutes to compile."""
    fixed = math.prod(size for name, size in known.items() if name.endswith("BLOCK") and isinstance(size, int))
    threads = 32 * int(options.get("num_warps") or _DEFAULT_WARPS)
    elements = [fixed * math.prod(tile.values()) // threads for tile in tiles]
    usual = [tile for tile, count in zip(tiles, elements, strict=True) if count <= _USUAL_ELEMENTS]
    large = [tile for tile, count in zip(tiles, elements, strict=True) if _USUAL_ELEMENTS < count <= _MOST_ELEMENTS]
    return usual + large or tiles


def _is_open(name: str, decorator: KernelDecorator, known: Mapping[str, object]) -> bool:
    return decorator.signature.get(name) == "constexpr" and name not in known and name not in _CONFIG_OPTIONS


def _block_choices(kernel: ShippedKernel, decorator: KernelDecorator, name: str) -> Sequence[int]:
    if not name.endswith("BLOCK"):
        raise KernelscopeError(f"the value of the constexpr {name} is not known", where=kernel.function)
    recovered = recovered_block(kernel.cubin, functions_of(kernel.source), name)
    hints = decorator.arguments.get("size_hints")
    hint = hints.get(name.lower().removesuffix("block")) if isinstance(hints, dict) else None
    first = [block for block in (recovered, hint) if isinstance(block, int) and block in _LOOP_BLOCKS]
    return tuple(dict.fromkeys((*first, *_LOOP_BLOCKS)))


def _stages(decorator: KernelDecorator) -> Sequence[int]:
    first = 3 if decorator.heuristic == "user_autotune" else 1  # triton.Config's default, Inductor's own
    return (first, *(stage for stage in _STAGES if stage != first))


def _stated_configs(
    decorator: KernelDecorator, kernel: ShippedKernel, warps: int | None
) -> list[tuple[dict[str, object], dict[str, Option]]]:
    """The configs that the decorator lists and the launch allows; one without anything where it lists none."""
    no_config: dict[object, object] = {}
    listed: list[dict[object, object]] = []
    match decorator.heuristic, decorator.arguments:
        case "template", arguments:
            listed = [{name: arguments[name] for name in _CONFIG_OPTIONS if name in arguments}]
        case "fixed_config", {"config": dict(config)}:
            listed = [config]
        case "user_autotune", {"configs": list(configs)}:
            listed = [config for config in configs if isinstance(config, dict)]
        case _:
            pass
    found: list[tuple[dict[str, object], dict[str, Option]]] = []
    for config in listed or [no_config]:
        values = {str(k): v for k, v in config.items() if k not in _CONFIG_OPTIONS}
        options: dict[str, Option] = {
            str(k): v for k, v in config.items() if k in _CONFIG_OPTIONS and isinstance(v, (int, float, str, bool))
        }
        options.setdefault("num_warps", warps or kernel.num_warps or _DEFAULT_WARPS)
        if all(kernel.constexprs.get(name, value) == value for name, value in values.items()):
            found.append((values, options))
    agreeing = [entry for entry in found if warps is None or entry[1]["num_warps"] == warps]
    return agreeing or found


def _fixed_options(decorator: KernelDecorator) -> dict[str, Option]:
    """What torch passes to `triton.compile` whatever the config (CachingAutotuner, torch 2.8 to 2.14)."""
    meta = decorator.triton_meta
    options: dict[str, Option] = {
        "debug": bool(decorator.inductor_meta.get("assert_indirect_indexing", True)),
        "sanitize_overflow": False,
        "launch_cooperative_grid": bool(meta.get("launch_cooperative_grid", False)),
        "launch_pdl": bool(meta.get("launch_pdl", False)),
    }
    if isinstance(fusion := meta.get("enable_fp_fusion"), bool):
        options["enable_fp_fusion"] = fusion
    if meta.get("disable_ftz") is True:
        options["enable_reflect_ftz"] = False
    return options


def _signature(decorator: KernelDecorator, constexprs: Mapping[str, object]) -> dict[str, str]:
    """The signature with host-made tensor descriptors written out for the config's block sizes."""
    signature = decorator.signature
    described = decorator.inductor_meta.get("host_tma_descriptor_args")
    for name, facts in described.items() if isinstance(described, dict) else ():
        block = _dimensions(facts, constexprs)
        kind = signature.get(name, "")
        element = kind[1:] if kind.startswith("*") else kind.partition("<")[2].partition("[")[0]
        if block is not None and element:
            signature[name] = f"tensordesc<{element}{block}>"
    return signature


def _dimensions(facts: object, constexprs: Mapping[str, object]) -> list[int] | None:
    """The descriptor's block shape, whose entries are numbers or names of constexprs."""
    shape = facts.get("block_shape") if isinstance(facts, dict) else None
    if not isinstance(shape, (list, tuple)):
        return None
    values = [constexprs.get(str(entry), entry) for entry in shape]
    numbers = [int(str(value)) for value in values if str(value).isdigit()]
    return numbers if len(numbers) == len(values) else None
